import BelfryTesting
import Dispatch
import FoundationEssentials
import GRDB
import HTTPTypes
import Synchronization
import Testing

@testable import BelfryService

/// Gateways as they are opened and closed, by the admin API and at the dashboard.
@Suite struct TokenGatewayTests {
    @Test func `a gateway is opened for platforms of its application alone`() async throws {
        let server = try await TestAdminServer()
        let own = try await server.resources("own")
        let other = try await server.resources("other")
        let path = "apps/\(own.application.uuid.lowercased)/open-endpoints"
        func open(_ kind: String, _ platform: String?) async throws -> TestAnswer {
            let options = platform.map { #","options":{"org.example.app":"\#($0)"}"# } ?? ""
            return try await server.send(.post, path, #"{"kind":"\#(kind)"\#(options)}"#)
        }
        let made = try await open("matrix", own.platform.uuid.uuidString)
        #expect(made.status == 201 && made["key"]?.stringValue?.utf8.count == 32, "\(made)")
        #expect(made["options"]?["org.example.app"] == .string(own.platform.uuid.lowercased))
        for platform in [other.platform.uuid.lowercased, UUID().lowercased, "x"] {
            let answer = try await open("matrix", platform)
            #expect(answer.status == 400 && answer.text.contains("options.org.example.app"), "\(answer)")
        }
        // Without an app id no device would be told anything, and all would be rejected.
        #expect(try await open("matrix", nil).status == 400)
        for kind in ["mattermost", "rocket-chat", "gorush"] {
            #expect(try await open(kind, nil).status == 201)
        }
        let kinds = try await server.store.openEndpoints(of: own.application.key).map(\.kind)
        #expect(kinds.suffix(4) == [.matrix, .mattermost, .rocketChat, .gorush])
    }

    @Test func `the dashboard opens a gateway, shows its address, closes it`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "phones")
        let path = "/apps/\(contents.application.uuid.lowercased)/gateways"
        let names = "names_\(contents.platform.uuid.lowercased)"
        #expect(try await browser.get(path).contains("No gateway is open."))
        let empty = try await browser.post(path, [("kind", "matrix"), (names, "")])
        #expect(empty.status == .unprocessableContent && empty.contains("needs the UUID of its platform"))
        let unknown = try await browser.post(path, [("kind", "genero"), (names, "a")])
        #expect(unknown.status == .unprocessableContent)
        let second = try await dashboard.store.create(.test(.androidFCM, of: contents.application))
        let twice = try await browser.post(
            path, [("kind", "matrix"), (names, "im.app"), ("names_\(second.uuid.lowercased)", "im.app")])
        #expect(twice.status == .unprocessableContent && twice.contains("which another platform has too"))
        let opened = try await browser.post(
            path, [("kind", "matrix"), (names, "im.vector.app.ios, im.vector.app.dev")])
        #expect(opened.contains("Shown only once") && opened.contains("/_matrix/push/v1/notify?key="))
        let endpoint = try #require(try await dashboard.store.openEndpoints(of: contents.application.key).first)
        #expect(Set(endpoint.options.keys) == ["im.vector.app.ios", "im.vector.app.dev"])
        let listed = try await browser.get(path)
        #expect(listed.contains("im.vector.app.ios: phones") && !listed.contains("?key="))
        let close = "\(path)/\(endpoint.key)/close"
        #expect(try await browser.post(close).contains("Servers that send through it get a 404"))
        #expect(try await dashboard.store.openEndpoints(of: contents.application.key).count == 1)
        _ = try await browser.post(close, [("confirmed", "yes")])
        #expect(try await dashboard.store.openEndpoints(of: contents.application.key).isEmpty)
        #expect(try await browser.post(close, [("confirmed", "yes")]).status == .notFound)
        #expect(
            try await dashboard.store.auditLog().map(\.change.action).suffix(2) == [
                "open_endpoint.create", "open_endpoint.delete",
            ])
    }

    @Test func `someone who may not change sees no form`() async throws {
        let dashboard = try TestDashboard()
        let contents = try await TestContents(dashboard, text: "phones")
        let reader = try await dashboard.browser(
            "reader@a.example", .readOnly, .application(contents.application.key, of: contents.application.tenantKey))
        let path = "/apps/\(contents.application.uuid.lowercased)/gateways"
        #expect(try await !reader.get(path).contains("Open a gateway"))
        #expect(try await reader.post(path, [("kind", "gorush")]).status == .forbidden)
    }
}

/// The table of open endpoints takes kinds that came later, on both engines, and keeps what it had.
@Suite struct EndpointKindConformance {
    @Test(arguments: Engine.allCases)
    func `every kind of open endpoint can be stored`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, application) = (fixture.store, fixture.application.key)
            var made: [OpenEndpoint] = []
            for (index, kind) in OpenEndpoint.Kind.allCases.enumerated() {
                made.append(
                    try await store.create(
                        NewOpenEndpoint(
                            kind: kind, application: application, keyHash: [UInt8(index)],
                            options: kind.isForPublishers ? ["topic": "b"] : ["a": "b"])))
            }
            #expect(try await store.openEndpoints(of: application) == made)
            for endpoint in made {
                #expect(
                    try await store.openEndpoint(endpoint.kind, keyHash: [UInt8(made.firstIndex(of: endpoint) ?? 0)])
                        == endpoint)
            }
        }
    }

    @Test func `a token that comes back has no audience`() async throws {
        try await GatewayServer.with(.sip) { server in
            let platform = try #require(server.platforms[.androidFCM])
            let device = try await server.store.register(
                try Registration(
                    token: try DeviceToken(GatewayServer.googleToken, for: .androidFCM), about: Device.About(),
                    customUserID: .set("ada"), topics: .replace(["news"])), as: nil, on: platform)
            try await server.store.unregister(device.uuid, on: platform.key)
            server.clock.advance(by: TokenGateway.deadFor)
            let body = "pn-provider=fcm&pn-param=p&pn-prid=\(GatewayServer.googleToken)"
            #expect(try await server.post("/sip/\(GatewayServer.key)/wake", body).status == 200)
            let back = try #require(try await server.store.device(device.uuid, on: platform.key))
            #expect(back.isActive && back.topics.isEmpty && back.customUserID == nil)
        }
    }

    // MARK: Hostile callers

    @Test func `a tenant's applications share its places for verdicts`() async throws {
        let shares = ConcurrencyLimiter()
        try await GatewayServer.with(.gorush, wait: .seconds(600), shares: shares) { server in
            let sibling = ShareHolder(application: Key(99), tenant: server.application.tenantKey)
            let held = try (0..<64).map { _ in try shares.take(.verdicts, for: sibling) }
            let body = #"{"notifications":[{"tokens":["\#(GatewayServer.googleToken)"],"platform":2,"message":"Hi"}]}"#
            let start = ContinuousClock.now
            let answer = try await server.post("/gorush/\(GatewayServer.key)/api/push", body)
            #expect(answer.status == 200 && start.duration(to: .now) < .seconds(300), "it did not wait")
            for lease in held { lease.end() }
            #expect(shares.used(of: .verdicts) == 0)
        }
    }

    @Test func `new tokens leave the writer to others`() async throws {
        final class Longest: StoreObserver {
            private let count = Mutex(0)
            var value: Int { count.withLock { $0 } }
            func writesWaiting(_ count: Int) { self.count.withLock { $0 = max($0, count) } }
            func transactionEnded(after duration: Duration) {}
        }
        let (longest, clock) = (Longest(), ManualClock())
        try await withDirectory { directory in
            // Without upkeep, whose writes would wait beside them.
            let store = try SQLiteStore.open(
                at: directory + "/belfry.sqlite", clock: clock, logger: .strict, migrate: true, for: .copyingFrom,
                observer: longest)
            let application = try await store.create(.test(PlaintextVault()))
            let platform = try await store.create(.test(.androidFCM, of: application))
            let gateway = TokenGateway(Services(store, clock: clock))
            let tokens = try (0..<400).map { try DeviceToken("token\($0)", for: .androidFCM) }
            let gate = DispatchSemaphore(value: 0)
            store.pool.asyncWriteWithoutTransaction { _ in gate.wait() }
            async let answers = gateway.send(
                TokenGateway.Message(content: Push.Content(body: "Hi")), to: tokens, on: platform, waits: false)
            for _ in 0..<20_000 { await Task.yield() }
            gate.signal()
            #expect(try await answers.count == 400)
            #expect(longest.value <= 64)
            try await store.close()
        }
    }
}

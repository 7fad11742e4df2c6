import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

/// Endpoints and their messages in both databases.
@Suite struct WebPushEndpointConformance {
    private static func message(_ body: [UInt8] = [1, 2], topic: String? = nil, ttl: Int = 60) throws -> EndpointMessage
    {
        try EndpointMessage(WebPushRig.headers([.topic: topic, .ttl: "\(ttl)"]), body: body)
    }

    private static func hash(_ number: Int) -> [UInt8] { SecretHash.of("\(number)") }

    @Test(arguments: Engine.allCases)
    func `an endpoint lasts until it or its device goes`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, app) = (fixture.store, fixture.application.key)
            let (device, other) = (try await fixture.register("a"), try await fixture.register("b"))
            let key = [UInt8](repeating: 4, count: 65)
            let text = VAPIDCredentials.text(key)
            let new = try NewWebPushEndpoint(
                json: Array(#"{"vapid_public_key":"\#(text)","delivery":"fetch"}"#.utf8))
            let first = try await store.create(new, keyHash: Self.hash(1), for: device, of: app)
            let second = try await store.create(NewWebPushEndpoint(), keyHash: Self.hash(2), for: device, of: app)
            #expect(first.vapidKey == key && first.isFetched && first.device == device.ownUUID)
            #expect(try await store.webPushEndpoint(keyHash: Self.hash(1)) == first)
            #expect(try await store.webPushEndpoint(keyHash: Self.hash(2)) == second)
            #expect(try await store.webPushEndpoint(keyHash: Self.hash(3)) == nil)
            #expect(try await store.webPushEndpoints(of: device) == [first, second])
            #expect(try await store.webPushEndpoints(of: other).isEmpty)
            #expect(try await store.delete(first.key, of: other) == false)
            #expect(try await store.delete(first.key, of: device))
            #expect(try await store.webPushEndpoint(keyHash: Self.hash(1)) == nil)
            try await store.unregister(device.uuid, on: fixture.platform.key)
            #expect(try await store.webPushEndpoint(keyHash: Self.hash(2))?.isAlive == false)
            await #expect(throws: StoreError.self) {
                try await store.create(NewWebPushEndpoint(), keyHash: Self.hash(4), for: device, of: app)
            }
            try await fixture.register("a", as: device.uuid)
            #expect(try await store.webPushEndpoint(keyHash: Self.hash(2))?.isAlive == true)
            try await store.delete(device, on: fixture.platform)
            #expect(try await store.webPushEndpoint(keyHash: Self.hash(2)) == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a device has so many endpoints and no more`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let device = try await fixture.register("a")
            for number in 0..<WebPushEndpoint.perDeviceMax {
                _ = try await fixture.store.create(
                    NewWebPushEndpoint(), keyHash: Self.hash(number), for: device, of: fixture.application.key)
            }
            let fault = await #expect(throws: StoreError.self) {
                try await fixture.store.create(
                    NewWebPushEndpoint(), keyHash: Self.hash(-1), for: device, of: fixture.application.key)
            }
            #expect(fault.map { "\($0)".contains("32 endpoints") } == true)
        }
    }

    @Test(arguments: Engine.allCases)
    func `messages wait until they are fetched or over`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, clock) = (fixture.store, fixture.clock)
            let device = try await fixture.register("a")
            let endpoint = try await store.create(
                NewWebPushEndpoint(), keyHash: Self.hash(1), for: device, of: fixture.application.key
            ).key
            let other = try await store.create(
                NewWebPushEndpoint(), keyHash: Self.hash(2), for: device, of: fixture.application.key
            ).key
            let ids = (0..<4).map { _ in UUID() }
            #expect(try await store.keep(Self.message([0]), as: ids[0], for: endpoint))
            #expect(try await store.keep(Self.message([1], topic: "t"), as: ids[1], for: endpoint))
            #expect(try await store.keep(Self.message([2], topic: "t", ttl: 90), as: ids[2], for: endpoint))
            #expect(try await store.keep(Self.message([3], topic: "t"), as: ids[3], for: other))
            let waiting = try await store.messages(at: endpoint)
            #expect(waiting.map(\.id) == [ids[0], ids[2]] && waiting.map(\.ciphertext.body) == [[0], [2]])
            #expect(waiting.last?.topic == "t" && waiting.last?.expiresAt == clock.now + .seconds(90))
            clock.advance(by: .seconds(60))
            #expect(try await store.messages(at: endpoint).map(\.id) == [ids[2]])
            #expect(try await store.deleteMessage(ids[2], at: other) == false)
            #expect(try await store.deleteMessage(ids[2], at: endpoint))
            #expect(try await store.deleteMessage(ids[2], at: endpoint) == false)
            #expect(try await store.messages(at: endpoint).isEmpty)
            #expect(try await store.delete(endpoint, of: device), "its messages go with it")
            await #expect(throws: StoreError.self) { try await store.keep(Self.message(), as: UUID(), for: endpoint) }
        }
    }

    @Test(arguments: Engine.allCases)
    func `waiting messages are content until they go`(engine: Engine) async throws {
        try await TestStore.play(on: engine, quotas: Quotas([.content: 13_000])) { fixture in
            let (store, app, clock) = (fixture.store, fixture.application.key, fixture.clock)
            func use() async throws -> Int? { try await store.quotas(of: app).first { $0.quota == .content }?.use }
            func keep(_ topic: String? = nil, _ id: UUID = UUID(), for endpoint: Key<WebPushEndpoint>) async throws
                -> Bool
            {
                try await store.keep(
                    Self.message([UInt8](repeating: 1, count: 3_000), topic: topic), as: id, for: endpoint)
            }
            var endpoints: [Key<WebPushEndpoint>] = []
            for name in ["a", "b"] {
                let device = try await fixture.register(name)
                let new = try await store.create(
                    NewWebPushEndpoint(), keyHash: SecretHash.of(name), for: device, of: app)
                endpoints.append(new.key)
            }
            let id = UUID()
            #expect(try await keep(for: endpoints[1]))
            let bytes = try #require(try await use())
            #expect(4_000..<4_300 ~= bytes)
            for id in [UUID(), UUID(), id] { #expect(try await keep("t", id, for: endpoints[0])) }
            #expect(try await use() == 2 * bytes, "a topic has one message")
            #expect(try await keep(for: endpoints[0]))
            await #expect(throws: StoreError.self) { _ = try await keep(for: endpoints[1]) }
            #expect(try await store.deleteMessage(id, at: endpoints[0]))
            #expect(try await use() == 2 * bytes)
            let device = try #require(try await store.webPushEndpoint(keyHash: SecretHash.of("a"))?.device)
            let first = try #require(try await store.device(device, on: fixture.platform.key))
            #expect(try await store.delete(endpoints[0], of: first))
            #expect(try await use() == bytes)
            clock.advance(by: .seconds(61))
            #expect(try await store.deleteExpired(.caps, before: .zero).rows == 1)
            #expect(try await use() == 0)
            // With its device, and with its platform.
            #expect(try await keep(for: endpoints[1]))
            let again = try await store.create(NewWebPushEndpoint(), keyHash: Self.hash(9), for: first, of: app)
            #expect(try await keep(for: again.key))
            try await store.delete(first, on: fixture.platform)
            #expect(try await use() == bytes)
            try await store.delete(fixture.platform.key, force: true)
            #expect(try await use() == 0)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a message kept while its endpoint goes counts nothing`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, app) = (fixture.store, fixture.application.key)
            let device = try await fixture.register("a")
            for number in 0..<8 {
                let endpoint = try await store.create(
                    NewWebPushEndpoint(), keyHash: Self.hash(number), for: device, of: app)
                await withTaskGroup(of: Void.self) { group in
                    for _ in 0..<3 {
                        group.addTask {
                            _ = try? await store.keep(Self.message(), as: UUID(), for: endpoint.key)
                        }
                    }
                    group.addTask { _ = try? await store.delete(endpoint.key, of: device) }
                }
                #expect(try await store.webPushEndpoint(keyHash: Self.hash(number)) == nil)
            }
            #expect(try await store.quotas(of: app).first { $0.quota == .content }?.use == 0)
        }
    }

    @Test(arguments: Engine.allCases)
    func `so many messages wait and no more`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, most) = (fixture.store, WebPushEndpoint.messagesMax)
            let device = try await fixture.register("a")
            let endpoint = try await store.create(
                NewWebPushEndpoint(), keyHash: Self.hash(1), for: device, of: fixture.application.key
            ).key
            for number in 0..<most {
                #expect(try await store.keep(Self.message(topic: "\(number)"), as: UUID(), for: endpoint))
            }
            #expect(try await store.keep(Self.message(), as: UUID(), for: endpoint) == false)
            #expect(try await store.keep(Self.message(topic: "0"), as: UUID(), for: endpoint), "it takes a place")
            fixture.clock.advance(by: .seconds(61))
            #expect(try await store.keep(Self.message(), as: UUID(), for: endpoint))
            #expect(try await store.messages(at: endpoint).count == 1)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a topic names its last push`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, most) = (fixture.store, WebPushEndpoint.messagesMax)
            let device = try await fixture.register("a")
            let endpoint = try await store.create(
                NewWebPushEndpoint(), keyHash: Self.hash(1), for: device, of: fixture.application.key
            ).key
            let end = fixture.clock.now + .seconds(60)
            let (first, second) = (UUID(), UUID())
            #expect(try await store.note(first, expiring: end, as: "t", of: endpoint) == nil)
            #expect(try await store.note(second, expiring: end, as: "t", of: endpoint) == first)
            for number in 0..<most {
                #expect(try await store.note(UUID(), expiring: end, as: "\(number)", of: endpoint) == nil)
            }
            #expect(try await store.note(first, expiring: end, as: "t", of: endpoint) == nil, "it was forgotten")
            #expect(try await store.messages(at: endpoint).isEmpty, "nothing is to be fetched")
            fixture.clock.advance(by: .seconds(61))
            #expect(try await store.note(second, expiring: end, as: "t", of: endpoint) == nil, "it is over")
        }
    }
}

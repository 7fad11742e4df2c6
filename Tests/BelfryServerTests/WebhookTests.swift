import BelfryProviders
import BelfryServer
import BelfryService
import BelfryTesting
import Foundation
import NIOCore
import PostgresRig
import Testing

/// Events that a whole server posts, to receivers of all manners.
extension ServerTests {
    @Suite struct WebhookTests {}
}

extension ServerTests.WebhookTests {
    private static func open(
        allowing addresses: String = "127.0.0.1", mayLogErrors: Bool = false,
        _ body: @escaping @Sendable (TestServer) async throws -> Void
    ) async throws {
        let allowed = try await ServerConfiguration.load(
            flags: ["providers.addresses.allow": addresses], environment: [:]
        ).providers.posting.allowed
        try await TestServer.open(
            mayLogErrors: mayLogErrors, configure: { $0.providers.posting.allowed = allowed }, body)
    }

    @Test func `a bad receiver keeps no other from its events`() async throws {
        // A stop waits for the receiver that hangs, and then closes listeners that are closed.
        try await Self.open(mayLogErrors: true) { server in
            try await TestReceiver.with { good in
                try await TestReceiver.with(.hangs) { slow in
                    try await TestReceiver.with(.isEndless) { endless in
                        try await TestReceiver.with(.redirects(to: good.url + "/stolen")) { redirecting in
                            let port = try Loopback.freePort()
                            let bad = [slow.url, endless.url, redirecting.url, "http://127.0.0.1:\(port)"]
                            var webhooks: [Webhook] = []
                            for url in bad + [good.url] { webhooks.append(try await server.webhook(url)) }
                            let crowd = try await server.crowd(200)
                            try await eventually("the good one has all", within: .seconds(600)) {
                                good.firsts.count == crowd.count
                            }
                            #expect(Set(good.firsts.compactMap { $0.data["device_uuid"] }).count == crowd.count)
                            #expect(good.taken.allSatisfy { $0.path == "/" && $0.id.hasPrefix("evt_") })
                            let slowAttempt = try await server.attempt(of: webhooks[0])
                            #expect(slowAttempt.answer.status == nil && slowAttempt.answer.milliseconds >= 14_000)
                            #expect(slow.taken.count <= 20, "\(slow.taken.count)")
                            let endlessAttempt = try await server.attempt(of: webhooks[1])
                            #expect(endlessAttempt.answer.body.utf8.count <= ReceiverAnswer.bodyBytesMax)
                            #expect(try await server.attempt(of: webhooks[2]).answer.status == 307)
                            #expect(try await server.attempt(of: webhooks[3]).answer.fault != nil)
                        }
                    }
                }
            }
        }
    }

    @Test(arguments: ["127.0.0.1", "localhost", "[::1]", "2130706433", "0x7f.1", "169.254.169.254"])
    func `forbidden addresses get nothing`(host: String) async throws {
        try await Self.open(allowing: "10.9.8.7") { server in
            try await TestReceiver.with { receiver in
                let port = receiver.url.split(separator: ":").last ?? ""
                let webhook = try await server.webhook("http://\(host):\(port)/")
                _ = try await server.crowd(1)
                let attempt = try await server.attempt(of: webhook)
                #expect(attempt.answer.status == nil && attempt.answer.fault != nil)
                #expect(receiver.taken.isEmpty)
            }
        }
    }

    @Test func `a moody receiver gets all in order`() async throws {
        try await Self.open { server in
            try await TestReceiver.with(.moody) { receiver in
                _ = try await server.webhook(receiver.url)
                let crowd = try await server.crowd(20)
                for device in crowd.devices {
                    try await server.store.unregister(device.uuid, on: server.platform.platform.key)
                }
                try await eventually("it has all", within: .seconds(600)) { receiver.firsts.count == 40 }
                for device in crowd.devices {
                    let types = receiver.firsts.filter { $0.data["device_uuid"] == device.uuid.uuidString.lowercased() }
                    #expect(types.map(\.type) == ["device.registered", "device.gone"])
                }
            }
        }
    }
}

extension TestServer {
    fileprivate func webhook(_ url: String) async throws -> Webhook {
        try await operatorService.services.webhooks.create(
            "receiver", url, [.deviceRegistered, .deviceGone], of: application.application, by: operatorService.author
        ).webhook
    }

    /// The oldest attempt, once there is one.
    fileprivate func attempt(of webhook: Webhook) async throws -> WebhookAttempt {
        try await eventually("\(webhook.url) was tried", within: .seconds(600)) {
            try await store.attempts(of: webhook.key, limit: 1_000).last
        }
    }
}

/// Three programs on one PostgreSQL, which are ended by `kill -9` again and again while devices come and go.
extension CrashTests {
    @Suite struct WebhookKillTests {
        private static let devices = 60
        private static let rounds = 10

        @Test(.timeLimit(.minutes(20)))
        func `killed nodes lose no event and keep the order`() async throws {
            try await Scratch.with { scratch in
                try await PostgresServer.with { database in
                    let settings = [
                        "data.directory": scratch.file("data"), "key.ring.file": scratch.file("key-ring"),
                        "database.url": database.url(of: "postgres"),
                    ]
                    try await TestSystem.with(settings, latency: 0) { system in
                        try await TestReceiver.with(.moody) { receiver in
                            try await Self.play(scratch, database, system, settings, receiver)
                        }
                    }
                }
            }
        }

        private static func play(
            _ scratch: Scratch, _ database: PostgresServer, _ system: TestSystem, _ settings: [String: String],
            _ receiver: TestReceiver
        ) async throws {
            try await ServerResources.with(settings) { resources in
                let operatorService = resources.operatorService
                _ = try await operatorService.services.webhooks.create(
                    "receiver", receiver.url, [.deviceRegistered, .deviceGone],
                    of: system.application.application, by: operatorService.author)
            }
            let nodes = (1...3).map { number in
                NodeProgram(
                    number, in: scratch, database: database.url(of: "postgres"), keyRing: scratch.file("key-ring"),
                    ["BELFRY_PROVIDERS_ADDRESSES_ALLOW": "127.0.0.1"])
            }
            defer { for node in nodes { node.endAtOnce() } }
            for node in nodes { try await node.start() }
            let end = Flag()
            async let kills = kill(nodes, until: end)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<devices {
                    group.addTask { try await comeAndGo(number, at: nodes, system) }
                }
                try await group.waitForAll()
            }
            end.raise()
            #expect(try await kills >= 2, "it was over too soon")
            try await eventually("all events are there", within: .seconds(600)) {
                receiver.firsts.count >= devices * rounds
            }
            let each = (0..<rounds).map { $0.isMultiple(of: 2) ? "device.registered" : "device.gone" }
            let ofDevices = Dictionary(grouping: receiver.firsts) { $0.data["device_uuid"] ?? "" }
            #expect(ofDevices.count == devices)
            for (device, messages) in ofDevices { #expect(messages.map(\.type) == each, "\(device)") }
            print("\(receiver.taken.count - receiver.firsts.count) of \(receiver.firsts.count) events came again")
            for node in nodes { try await node.stop() }
        }

        /// Registers and unregisters a device in turns, each until a node says that it is done.
        private static func comeAndGo(_ number: Int, at nodes: [NodeProgram], _ system: TestSystem) async throws {
            struct Registered: Decodable { let device_uuid: String }
            let digits = String(number, radix: 16)
            let token = String(repeating: "0", count: 64 - digits.count) + digits
            var device = ""
            for round in 0..<rounds {
                try await eventually("a node answers", every: .milliseconds(100)) {
                    guard let base = nodes.randomElement()?.address else { return false }
                    let app = system.app(at: base)
                    if round.isMultiple(of: 2) {
                        guard
                            let answer = try? await app.send(
                                "POST", "/v1/registration", #"{"registration_token":"\#(token)"}"#, timeout: .seconds(5)
                            ),
                            answer.status == 200
                        else { return false }
                        device = try JSONDecoder().decode(Registered.self, from: Data(answer.body.utf8)).device_uuid
                        return true
                    }
                    let answer = try? await app.send("DELETE", "/v1/registration/\(device)", timeout: .seconds(5))
                    return answer?.status == 204
                }
                try await Task.sleep(for: .milliseconds(.random(in: 200...2_500)))
            }
        }

        private static func kill(_ nodes: [NodeProgram], until end: Flag) async throws -> Int {
            var dice = SplitMix64(seed: drawKillSeed())
            var kills = 0
            while !end.isRaised {
                try await Task.sleep(for: dice.duration(0.5...2.0))
                let node = dice.pick(nodes)
                kills += try await node.kill() ? 1 : 0
                try await Task.sleep(for: dice.duration(0.0...0.7))
                try await node.start()
            }
            return kills
        }
    }
}

import Foundation
import Synchronization
import Testing

/// Rows 4 and 13: names whose servers never answer, and names that lead elsewhere a moment later.
extension HostileTests {
    @Suite struct NameTests {
        /// Names under `hangs.example.org` never get an answer, all others lead to an address that answers nobody.
        private static func silentServer() throws -> NameServer {
            try NameServer { name, _ in name.hasSuffix(".hangs.example.org") ? nil : "127.0.0.1" }
        }

        @Test(arguments: Engine.allCases)
        func `registrations at names that hang hold no other application up`(engine: Engine) async throws {
            let names = try Self.silentServer()
            let settings = ["providers.dns.servers": names.address, "limit.browsers.per.second": "0"]
            try await TestServer.with(engine, settings) { server in
                let hostile = try WebDoor(server, of: try server.application("Thief"))
                let honest = try WebDoor(server, of: try server.application("Bakery"))
                // Those that are answered in time, by whom.
                let answers = Answers()
                try await withThrowingTaskGroup(of: Int.self) { group in
                    for number in 0..<30 {
                        group.addTask {
                            let status = try hostile.register("n\(number).hangs.example.org", server).status
                            answers.add("hostile")
                            return status
                        }
                    }
                    try waitUntil("the names are asked for") { names.asked.count >= 30 ? true : nil }
                    for number in 0..<20 {
                        // The address is not public: found out by a look-up, as quickly as any other.
                        let answer = try honest.register("n\(number).example.org", server)
                        #expect(answer.status == 422, "\(answer.status) \(answer.text)")
                        answers.add("honest")
                    }
                    for try await status in group { #expect(status == 503) }
                }
                let first = answers.all.prefix(20)
                #expect(
                    first.allSatisfy { $0 == "honest" }, "all are answered before the first name is given up: \(first)")
            }
        }

        @Test(arguments: Engine.allCases)
        func `deliveries to names that hang hold no other delivery up`(engine: Engine) async throws {
            let names = try Self.silentServer()
            let settings = ["providers.dns.servers": names.address, "providers.addresses.allow": "127.0.0.0/8"]
            try await TestServer.with(engine, settings) { server in
                let listener = try Listener()
                let (hostile, honest) = (try server.application("Thief"), try server.application("Bakery"))
                let (theirs, ours) = (try server.platform(of: hostile), try server.platform(of: honest))
                for number in 0..<200 {
                    try Self.register("n\(number).hangs.example.org", on: theirs, server)
                }
                try Self.register("push.example.org:\(listener.port)", on: ours, server)
                try Self.push(hostile, server)
                try waitUntil("the names are asked for") { names.asked.count >= 32 ? true : nil }
                try Self.push(honest, server)
                try waitUntil("the other's push service is connected to", seconds: 4) {
                    listener.connections() > 0 ? true : nil
                }
                let asked = Set(names.asked.filter { $0.hasSuffix(".hangs.example.org") }).count
                #expect(asked <= 64, "an application has 32 look-ups at a time, not \(asked)")
            }
        }

        @Test(arguments: Bounds.engines(turn: 11), ["127.0.0.1", "169.254.169.254", "10.0.0.1"])
        func `a name that rebinds is never connected to`(engine: Engine, later: String) async throws {
            // Each family is asked for once; after that the name leads inside.
            let names = try NameServer { _, times in times < 2 ? "203.0.114.1" : later }
            try await TestServer.with(engine, ["providers.dns.servers": names.address]) { server in
                let listener = try Listener()
                let application = try server.application()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<12 {
                        let credentials =
                            #"{"url":"https://r\#(number).example.org:\#(listener.port)/","secret":"\#(String(repeating: "s", count: 32))"}"#
                        let platform = try server.platform(of: application, type: "webhook", credentials: credentials)
                        group.addTask {
                            for _ in 0..<3 {
                                _ = try server.send(
                                    "POST", "/admin/v1/platforms/\(platform.uuid)/credentials/test", "{}",
                                    as: server.asOperator)
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(listener.connections() == 0)
            }
        }

        @Test(arguments: Bounds.engines(turn: 12))
        func `a dead-end endpoint is refused without contacting a server`(engine: Engine) async throws {
            let names = try Self.silentServer()
            try await TestServer.with(engine, ["providers.dns.servers": names.address]) { server in
                let platform = try server.platform(of: try server.application())
                for host in ["permanently-removed.invalid", "a.onion", "b.example", "c.alt"] {
                    let answer = try Self.registered(host, on: platform, server)
                    #expect(answer.status == 400 && answer.text.contains("can never be reached"), "\(answer.text)")
                }
                #expect(names.asked.isEmpty)
            }
        }

        private static func register(_ host: String, on platform: TestPlatform, _ server: TestServer) throws {
            let answer = try registered(host, on: platform, server)
            #expect(200..<300 ~= answer.status, "\(answer.status) \(answer.text)")
        }

        private static func registered(
            _ host: String, on platform: TestPlatform, _ server: TestServer
        ) throws -> HTTPAnswer {
            let token = HostileJSON.subscription(extra: "0").replacing("push.example.org", with: host)
            let body = #"{"registration_token":\#(HostileJSON.string(token))}"#
            return try server.send("POST", "/v1/registration", body, as: platform.device)
        }

        private static func push(_ application: TestApplication, _ server: TestServer) throws {
            let push = #"{"message":{"body":"x"},"target":{"platform":"all"}}"#
            #expect(try server.send("POST", "/v1/push", push, as: application.backEnd).status == 200)
        }
    }
}

/// The names that were answered, in order.
private final class Answers: Sendable {
    private let names = Mutex<[String]>([])

    var all: [String] { names.withLock { $0 } }

    func add(_ name: String) { names.withLock { $0.append(name) } }
}

import Foundation
import Testing

/// Attacks with a registration key, which every visitor of a site can read.
extension HostileTests {
    @Suite struct WebDoorTests {
        @Test(arguments: Engine.allCases)
        func `one address cannot register endlessly while back ends continue`(engine: Engine) async throws {
            let settings = ["limit.browsers.per.second": "1", "limit.browsers.burst": "20"]
            try await TestServer.with(engine, settings) { server in
                let application = try server.application()
                let door = try WebDoor(server, of: application)
                // One more is taken for each second that they last.
                let statuses = try (0..<120).map { number in
                    let subscription = HostileJSON.subscription(number: number, extra: "0")
                    return try door.post(#"{"subscription":\#(subscription)}"#, server)
                }
                #expect(statuses.filter { $0.status == 429 }.count >= 30, "\(statuses.map(\.status))")
                #expect(statuses.last?.headers["retry-after"] != nil)
                #expect(statuses.allSatisfy { $0.status != 200 }, "no browser has proven itself")
                let push = #"{"message":{"body":"x"},"target":{"platform":"all"}}"#
                #expect(try server.send("POST", "/v1/push", push, as: application.backEnd).status == 200)
            }
        }

        /// The push that proves a browser goes where the browser says.
        @Test(arguments: Bounds.engines(turn: 17))
        func `a proof at an internal port is never sent`(engine: Engine) async throws {
            try await TestServer.with(engine) { server in
                let door = try WebDoor(server, of: try server.application())
                let listener = try Listener()
                for host in ["localhost", "127.0.0.1", "[::1]"] {
                    let subscription = HostileJSON.subscription(extra: "0")
                        .replacing("push.example.org", with: "\(host):\(listener.port)")
                    let answer = try door.post(#"{"subscription":\#(subscription)}"#, server)
                    #expect(400..<600 ~= answer.status, "\(answer.status)")
                    #expect(!answer.text.contains("\(listener.port)"), "\(answer.text)")
                }
                #expect(listener.connections() == 0)
            }
        }

        @Test(arguments: Bounds.engines(turn: 18))
        func `a long or deep body costs nothing and registers nothing`(engine: Engine) async throws {
            try await TestServer.with(engine, ["limit.browsers.per.second": "0"]) { server in
                let door = try WebDoor(server, of: try server.application())
                let platform = door.platform
                let deep = String(repeating: "[", count: 8_000)
                let topics = (0..<1_000).map { #""t\#($0)""# }.joined(separator: ",")
                let subscription = HostileJSON.subscription(extra: "0")
                for (body, status) in [
                    (String(repeating: "x", count: 100_000), 413), (deep, 400), (#"{"subscription":\#(deep)"#, 400),
                    (#"{"subscription":\#(subscription),"topics":[\#(topics)]}"#, 400),
                ] {
                    let answer = try door.post(body, server)
                    #expect(answer.status == status, "\(answer.status) \(answer.text)")
                }
                let shown = try server.send(
                    "GET", "/admin/v1/platforms/\(platform.uuid)", as: server.asOperator)
                #expect(shown.text.contains(#""devices":0"#), "\(shown.text)")
            }
        }

        @Test(arguments: Bounds.engines(turn: 19))
        func `the key opens no other door`(engine: Engine) async throws {
            try await TestServer.with(engine) { server in
                let door = try WebDoor(server, of: try server.application())
                let (platform, key) = (door.platform, door.path.split(separator: "/")[2])
                let basic = "Basic " + Data("\(platform.uuid):\(key)".utf8).base64EncodedString()
                for (method, path) in [
                    ("POST", "/v1/registration"), ("GET", "/v1/registration/count"), ("POST", "/v1/analytics"),
                    ("POST", "/v1/push"), ("GET", "/admin/v1/apps"),
                ] {
                    for authorization in [basic, "Bearer \(key)"] {
                        let answer = try server.send(method, path, "{}", as: authorization)
                        #expect(answer.status == 401, "\(method) \(path): \(answer.status)")
                    }
                }
            }
        }
    }
}

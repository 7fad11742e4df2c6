import Foundation
import Testing

/// Row 17: what a tenant learns of addresses that are not public by aiming a platform at them.
extension HostileTests {
    @Suite struct AddressTests {
        @Test(arguments: Bounds.engines(turn: 13))
        func `an internal port is never contacted and looks the same`(
            engine: Engine
        ) async throws {
            try await TestServer.with(engine, ["retry.window.seconds": "1"]) { server in
                let listener = try Listener()
                let closed = try Listener().port
                for host in ["localhost", "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "0"] {
                    let open = try Self.tested(host, listener.port, server)
                    #expect(try Self.tested(host, closed, server) == open, "\(host)")
                }
                #expect(listener.connections() == 0)
            }
        }

        /// The result of testing the credentials, without the port; or that the platform is refused.
        private static func tested(_ host: String, _ port: UInt16, _ server: TestServer) throws -> String {
            let application = try server.application()
            let credentials =
                #"{"url":"https://\#(host):\#(port)/","secret":"\#(String(repeating: "s", count: 32))"}"#
            let body = #"{"type":"webhook","mode":"development","name":"hook","credentials":\#(credentials)}"#
            let made = try server.send(
                "POST", "/admin/v1/apps/\(application.uuid)/platforms", body, as: server.asOperator)
            guard made.status == 201 else { return "\(made.status)" }
            let platform = try made.string("platform_uuid")
            let test = try server.send(
                "POST", "/admin/v1/platforms/\(platform)/credentials/test", "{}", as: server.asOperator)
            return "\(test.status) \(test.text.replacing("\(port)", with: "port"))"
        }

        /// A device names the address itself: its subscription of Web Push.
        @Test(arguments: Bounds.engines(turn: 14))
        func `a subscription at an internal port is never connected to`(engine: Engine) async throws {
            try await TestServer.with(engine, ["retry.window.seconds": "1"]) { server in
                let application = try server.application()
                let platform = try server.platform(of: application)
                let listener = try Listener()
                for host in ["localhost", "127.0.0.1"] {
                    let token = HostileJSON.subscription(extra: "0")
                        .replacing("push.example.org", with: "\(host):\(listener.port)")
                    let body = #"{"registration_token":\#(HostileJSON.string(token))}"#
                    _ = try server.send("POST", "/v1/registration", body, as: platform.device)
                }
                let push = try server.send(
                    "POST", "/v1/push", #"{"message":{"body":"x"},"target":{"platform":"all"}}"#,
                    as: application.backEnd)
                let receipt = try push.string("receipt_id")
                try waitUntil("the push is settled") {
                    let path = "/admin/v1/pushes/\(receipt)"
                    return try server.send("GET", path, as: server.asOperator).text.contains(#""state":"settled""#)
                        ? true : nil
                }
                #expect(listener.connections() == 0)
            }
        }
    }
}

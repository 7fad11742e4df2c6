import Foundation
import Testing

/// Foreign texts in the terminal of a person who runs a command.
extension HostileTests {
    @Suite struct TerminalTests {
        private static let alias = #"\u001b]0;owned\u0007\u001b[2J\u009b31m\u202eab\u2066\u2028\nx\ty\r"#

        /// The output of a command on both streams.
        private static func printed(_ arguments: [String], _ server: TestServer) throws -> String {
            let process = try BelfryProcess(
                arguments + ["--server", "http://127.0.0.1:\(server.port)"],
                environment: ["BELFRY_ADMIN_KEY": String(server.asOperator.dropFirst("Bearer ".count))],
                log: server.folder + "/printed-\(UUID().uuidString)")
            defer { process.kill() }
            try waitUntil("\(arguments) ends") { process.endedWith }
            return process.logged
        }

        private static func controls(in text: String) -> [String] {
            text.unicodeScalars.filter { scalar in
                switch scalar.value {
                case 0x0A: false
                case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
                default: false
                }
            }.map { String($0.value, radix: 16) }
        }

        @Test func `no command prints control characters of strangers`() async throws {
            try await TestServer.with(.sqlite) { server in
                let application = try server.application()
                let platform = try server.platform(of: application, .android)
                let registration =
                    #"{"registration_token":"t1","device_alias":"\#(Self.alias)","#
                    + #""device_model":"\#(Self.alias)","tags":["town"]}"#
                let made = try server.send("POST", "/v1/registration", registration, as: platform.device)
                #expect(made.status == 200, "\(made.text)")
                let device = try made.string("device_uuid")
                let app = ["--app", application.uuid]
                let commands = [
                    ["device", "list"], ["device", "list", "--json"], ["device", "show", device],
                    ["device", "show", device, "--json"], ["user", "list"], ["topic", "list"],
                    ["topic", "delete", "no\u{1B}[2J\u{202E}such"], ["device", "list", "-q", "\u{1B}]0;x\u{7}"],
                ]
                for command in commands {
                    let printed = try Self.printed(command + app, server)
                    #expect(Self.controls(in: printed) == [], "\(command): \(printed.debugDescription)")
                }
                let json = try Self.printed(["device", "list", "--json"] + app, server)
                #expect(json.contains(#"\u001b]0;owned\u0007"#) && json.contains(#"\u202e"#), "\(json)")
                #expect(try JSONSerialization.jsonObject(with: Data(json.utf8)) is [Any])
            }
        }

        @Test func `foreign answers reach the terminal without control characters`() async throws {
            try await TestServer.with(.sqlite) { server in
                let body = #"{"message":"\u001b[2J\u202ebad\nnews"}"#
                let listener = try Listener()
                let process = try BelfryProcess(
                    ["app", "list", "--server", "http://127.0.0.1:\(listener.port)"],
                    environment: ["BELFRY_ADMIN_KEY": String(server.asOperator.dropFirst("Bearer ".count))],
                    log: server.folder + "/answered")
                defer { process.kill() }
                try listener.answer("HTTP/1.1 400 no\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
                try waitUntil("the command ends") { process.endedWith }
                #expect(Self.controls(in: process.logged) == [], "\(process.logged.debugDescription)")
                #expect(process.logged.contains(#"\u001b[2J\u202ebad\nnews"#), "\(process.logged)")
            }
        }
    }
}

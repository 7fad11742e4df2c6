import Foundation
import Testing

/// One tenant against another: names that all tenants share, and shares of what all use.
extension HostileTests {
    @Suite struct TenantTests {
        private static let token = "QVBBOTFiRzlhcVd2bW54bllCWldHOWh4dnRrZ3pUWFNvcGZpdWZ6bWM2dFAzS2J"
        private static let call =
            #"{"verb":"NotifyTextMessage","AppId":"phone","Selector":"S","DeviceToken":"\#(token)"}"#

        private static func mediator(
            _ application: TestApplication, _ network: String, as key: String, _ server: TestServer, _ more: String = ""
        ) throws -> HTTPAnswer {
            try server.send(
                "POST", "/admin/v1/apps/\(application.uuid)/acrobits/mediator",
                #"{"allowed":["\#(network)"]\#(more)}"#, as: key)
        }

        private static func devices(_ application: TestApplication, _ server: TestServer) throws -> Int {
            let answer = try server.send("GET", "/admin/v1/apps/\(application.uuid)/devices", as: server.asOperator)
            return (answer["devices"] as? [Any])?.count ?? -1
        }

        @Test(arguments: Engine.allCases)
        func `no tenant gets messages for another's app ids`(engine: Engine) async throws {
            try await TestServer.with(engine) { server in
                let victim = try server.application("Bakery")
                let thief = try server.application("Thief")
                let key = try server.adminKey(of: thief)
                for (application, key) in [(victim, server.asOperator), (thief, key)] {
                    let platform = try server.platform(of: application, .android)
                    let claim = try server.send(
                        "POST", "/admin/v1/apps/\(application.uuid)/acrobits/app-ids",
                        #"{"app_id":"phone","platform_uuid":"\#(platform.uuid)"}"#, as: key)
                    #expect(claim.status == 201, "\(claim.text)")
                }
                let operators = try Self.mediator(victim, "127.0.0.0/8", as: server.asOperator, server)
                #expect(operators.status == 201, "\(operators.text)")
                #expect(try Self.mediator(thief, "0.0.0.0/0", as: key, server, #","plain_path":true"#).status == 403)
                let plain = #","plain_path":true"#
                #expect(try Self.mediator(thief, "0.0.0.0/0", as: server.asOperator, server, plain).status == 409)
                let answers = try (0..<70).map { _ in try Self.mediator(thief, "0.0.0.0/0", as: key, server) }
                #expect(answers.map(\.status) == Array(repeating: 201, count: 64) + Array(repeating: 409, count: 6))
                for _ in 0..<3 { #expect(try server.send("POST", "/pnm2/send", Self.call).status == 200) }
                #expect(try [victim, thief].map { try Self.devices($0, server) } == [1, 0])
                let paths = answers[0]["paths"] as? [String] ?? []
                #expect(paths.count == 2)
                #expect(try server.send("POST", paths.first ?? "", Self.call).status == 200)
                #expect(try [victim, thief].map { try Self.devices($0, server) } == [1, 1])
            }
        }

        /// Bodies that come slowly hold no share of the writing, whichever door they come by.
        @Test(arguments: Bounds.engines(turn: 23))
        func `slow bodies of one tenant leave another's batches alone`(engine: Engine) async throws {
            try await TestServer.with(engine) { server in
                let other = try server.application("Bystander")
                let first = try server.application("Slow")
                var backEnds = [(first.uuid, first.backEnd)]
                for number in 1..<8 {
                    let made = try server.send(
                        "POST", "/admin/v1/apps", #"{"name":"slow \#(number)","tenant_uuid":"\#(first.tenant)"}"#,
                        as: server.asOperator)
                    let uuid = try made.string("app_uuid")
                    let basic = Data("\(uuid):\(try made.string("api_key"))".utf8).base64EncodedString()
                    backEnds.append((uuid, "Basic \(basic)"))
                }
                var slow: [RawConnection] = []
                func begin(_ method: String, _ path: String, as authorization: String) throws {
                    let connection = try server.connect()
                    try connection.send(
                        "\(method) \(path) HTTP/1.1\r\nHost: a\r\nAuthorization: \(authorization)\r\n"
                            + "Content-Length: 60000\r\n\r\n[{\"registration_token\":\"x\"")
                    slow.append(connection)
                }
                for (uuid, backEnd) in backEnds {
                    for _ in 0..<4 {
                        try begin("POST", "/v1/tags/batch", as: backEnd)
                        try begin("POST", "/v2/topics/batch", as: backEnd)
                        try begin("POST", "/admin/v1/apps/\(uuid)/imports?format=jsonl", as: server.asOperator)
                    }
                }
                for caller in [other.backEnd, backEnds[0].1] {
                    for number in 0..<20 {
                        let batch = #"{"topics":[{"name":"n\#(number)"}]}"#
                        let answer = try server.send("POST", "/v2/topics/batch", batch, as: caller)
                        #expect(answer.status == 201, "\(answer.status) \(answer.text)")
                    }
                }
                let row = #"{"registration_token":"t"}"#
                let imported = try server.send(
                    "POST", "/admin/v1/apps/\(other.uuid)/imports?format=jsonl", row, as: server.asOperator)
                #expect(imported.status == 200, "\(imported.text)")
                #expect(slow.count == 96)
            }
        }

        /// The size that counts is that of the stored row, not that of the row as sent.
        @Test(arguments: Engine.allCases, ["jsonl", "csv"])
        func `an import of very many short rows takes little memory`(engine: Engine, format: String) async throws {
            try await TestServer.with(engine) { server in
                let application = try server.application()
                _ = try server.platform(of: application, .android)
                let path = "/admin/v1/apps/\(application.uuid)/imports?format=\(format)&dry_run=true&verdicts=true"
                func bring(_ rows: Int) throws -> HTTPAnswer {
                    try server.send(
                        "POST", path, "registration_token\n" + String(repeating: "a\n", count: rows),
                        as: server.asOperator)
                }
                #expect(200..<300 ~= (try bring(10_000).status))
                let gained = try server.process.bytesGained {
                    let answer = try bring(1 << 18)
                    #expect(200..<300 ~= answer.status, "\(answer.status) \(answer.text.prefix(200))")
                }
                #expect(gained < 4 * Bounds.bytesOfNoise, "\(gained) bytes")
            }
        }

        /// The list is in memory once more than it was sent, and then once, beside the rows of a window.
        @Test(arguments: Engine.allCases)
        func `a list posted to the dashboard takes little memory`(engine: Engine) async throws {
            try await TestServer.with(engine, ["http.request.seconds": "300"]) { server in
                var owner = try server.firstOperator()
                let application = try server.application()
                _ = try server.platform(of: application, .android)
                let path = "/dashboard/apps/\(application.uuid)/import"
                func bring(_ bytes: Int) throws -> HTTPAnswer {
                    let fields = [("csrf", try owner.token(on: path)), ("format", "csv"), ("dry_run", "on")]
                    return try owner.upload(
                        path, fields, ("list", "registration_token\n" + String(repeating: "a\n", count: bytes / 2)))
                }
                #expect(try bring(20_000).status == 200)
                let gained = try server.process.bytesGained {
                    // 262,144 rows: an unoptimized server would not come to the end of four million while the caller waits. Held
                    // whole as rows they would be some 115 MiB.
                    let answer = try bring(1 << 19)
                    #expect(answer.status == 200, "\(answer.status) \(answer.text.prefix(200))")
                }
                #expect(gained < Bounds.bytesOfPostedList, "\(gained) bytes")
            }
        }

        @Test func `a row's long texts are not kept in its verdict`() async throws {
            try await TestServer.with(.sqlite) { server in
                let application = try server.application()
                let path = "/admin/v1/apps/\(application.uuid)/imports?format=jsonl&dry_run=true&verdicts=true"
                let row =
                    #"{"registration_token":"t","device_uuid":"\#(String(repeating: "x", count: 900_000))"}"# + "\n"
                let gained = try server.process.bytesGained {
                    let answer = try server.send(
                        "POST", path, String(repeating: row, count: 6), as: server.asOperator)
                    #expect(200..<300 ~= answer.status && answer.body.count < 100_000, "\(answer.text.prefix(200))")
                }
                #expect(gained < 4 * Bounds.bytesOfNoise, "\(gained) bytes")
            }
        }
    }
}

import Foundation
import PostgresRig
import Testing

/// Rows 12 and 16: what callers put into the log, and what the server tells callers of itself.
extension HostileTests {
    @Suite struct LogTests {
        /// Row 16: a schedule that cannot be sent is refused with words that the sender chose.
        @Test(arguments: ["text", "json"])
        func `no caller writes a line of the log`(format: String) async throws {
            try await TestServer.with(.sqlite, ["log.format": format]) { server in
                let application = try server.application()
                _ = try server.platform(of: application)
                let forged = #"line\n2026-01-01T00:00:00Z error belfry: forged\u001b[2J\u0085\u2028\r\nforged"#
                let body =
                    #"{"message":{"body":"x","custom":{"windows8":{"type":"\#(forged)"}}},"target":{"platform":"all"},"scheduleIn":5}"#
                #expect(try server.send("POST", "/v1/push", body, as: application.backEnd).status == 200)
                // What the schedule says is judged by the platforms that there are when it is due.
                let credentials = #"{"package_sid":"ms-app://s-1-15","client_secret":"secret"}"#
                _ = try server.platform(of: application, type: "windows8", credentials: credentials)
                for header in ["X-Forwarded-For: 1.1.1.1\tforged", "traceparent: forged", "User-Agent: forged"] {
                    _ = try server.send("GET", "/v1/version", nil, as: application.backEnd, [header])
                }
                _ = try server.send("GET", "/forged%0Aforged")
                try waitUntil("the schedule is refused") {
                    server.process.logged.contains("schedule was not sent") ? true : nil
                }
                let lines = server.process.logged.split(omittingEmptySubsequences: false) { $0.isNewline }
                #expect(!lines.contains { $0.hasPrefix("2026-01-01T00:00:00Z error") || $0.hasPrefix("forged") })
                #expect(!server.process.logged.unicodeScalars.contains("\u{1B}"))
            }
        }

        /// A pipe that was full before the server wrote its first line.
        @Test(arguments: ["text", "json"])
        func `a log that nobody reads holds nothing up`(format: String) async throws {
            let folder = NSTemporaryDirectory() + "/hostile-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let pipe = folder + "/pipe"
            try #require(mkfifo(pipe, 0o600) == 0)
            let reader = open(pipe, O_RDWR | O_NONBLOCK)
            defer { close(reader) }
            let filling = [UInt8](repeating: 0x78, count: 4_096)
            while write(reader, filling, filling.count) > 0 {}
            let port = try Listener().port
            let process = try BelfryProcess(
                ["serve", "--data-directory", folder + "/data"],
                environment: [
                    "BELFRY_HTTP_PORT": "\(port)", "BELFRY_MANAGEMENT_PORT": "0", "BELFRY_LOG_FORMAT": format,
                    "BELFRY_LOG_LEVEL": "trace", "PIPE": pipe,
                ], behind: ["/bin/sh", "-c", #"exec "$0" "$@" 2>"$PIPE""#], log: folder + "/log")
            defer { process.kill() }
            for request in 0..<500 {
                let answer = try waitUntil("the server answers") { () -> HTTPAnswer? in
                    guard let connection = try? RawConnection(port: port) else { return nil }
                    try connection.send(HTTPText.request("GET", "/healthcheck"))
                    return connection.answer()
                }
                #expect(answer.status == 200, "\(request)")
            }
            kill(process.id, SIGTERM)
            #expect(try waitUntil("the server ends") { process.endedWith } == 0)
        }

        /// Row 12: what is wrong with the database is for the log and the management port.
        @Test func `the health page only says that the database is away`() async throws {
            try await PostgresServer.with { database in
                try await TestServer.with(.postgreSQL, on: database) { server in
                    database.stop()
                    let page = try waitUntil("the health page notices") {
                        let page = try server.send("GET", "/healthcheck")
                        return page.status == 503 ? page.text : nil
                    }
                    for word in [database.directory, "socket", "postgres", "5432", "connection", "belfry_"] {
                        #expect(!page.localizedCaseInsensitiveContains(word), "\(page)")
                    }
                }
            }
        }

        /// Row 12.
        @Test(arguments: Bounds.engines(turn: 21))
        func `the health page hides other tenants' platforms`(engine: Engine) async throws {
            try await TestServer.with(engine) { server in
                let application = try server.application()
                let platform = try server.platform(of: application)
                let before = try server.send("GET", "/healthcheck").text
                let parking = try server.send(
                    "POST", "/admin/v1/platforms/\(platform.uuid)/park", #"{"reason":"moving"}"#, as: server.asOperator)
                #expect(200..<300 ~= parking.status)
                let after = try server.send("GET", "/healthcheck").text
                #expect(!after.contains("1") && !after.localizedCaseInsensitiveContains("parked"), "\(after)")
                #expect(before.count == after.count)
            }
        }

        /// Row 12.
        @Test(arguments: Bounds.engines(turn: 22))
        func `the health page costs what the version does, always`(
            engine: Engine
        ) async throws {
            try await TestServer.with(engine) { server in
                let ratio = try CostRatio.measured(server) {
                    try Self.ask(server, "/healthcheck")
                } flat: {
                    try Self.ask(server, "/v1/version")
                }
                #expect(ratio.isBounded, "\(ratio)")
            }
        }

        private static func ask(_ server: TestServer, _ path: String) throws {
            let connection = try server.connect()
            for _ in 0..<100 {
                try connection.send(HTTPText.request("GET", path))
                #expect([200, 429].contains(connection.answer()?.status ?? 0))
            }
        }
    }
}

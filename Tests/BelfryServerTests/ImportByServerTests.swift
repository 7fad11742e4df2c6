import BelfryServer
import BelfrySimulators
import BelfryTesting
import Foundation
import Testing

/// Lists of devices that a command sends to a server elsewhere, and what a provider says of a sample of them.
extension ServerTests {
    @Suite struct ImportByServerTests {}
}

extension ServerTests.ImportByServerTests {
    private struct Report: Decodable {
        let rows: Int
        let new: Int
        let duplicate: Int
        let refused: Int
        let verdicts: String
        let validated: [String: Int]?
    }

    @Test func `a list imports remotely as locally`() async throws {
        try await TestInstallation.with { installation in
            let key: [String: String] = try await installation.run("admin", "create", "--json").decoded()
            let keyFile = try installation.scratch.write(try #require(key["key"]), to: "admin.txt")
            let server = try await installation.serve()
            defer { server.endAtOnce() }
            let base = try await server.addresses().http
            let lines = (0..<6_000).map { number in
                let token = number == 7 ? "no-hex" : String(format: "%064x", number)
                return number == 9 ? "not JSON" : #"{"push":"\#(token)","labels":["a"],"who":"user \#(number)"}"#
            }
            let list = try installation.scratch.write(lines.joined(separator: "\n"), to: "devices.jsonl")
            func run(_ more: String...) async throws -> Report {
                try await Program.run(
                    [
                        "import", "devices", "--app", installation.application, "--platform", installation.platform,
                        "--format", "jsonl", "--map", "token=push,topics=labels,user=who", "--json", list, "--server",
                        base, "--key-file", keyFile,
                    ] + more, in: installation.scratch
                ).decoded()
            }
            let judged = try await run("--dry-run")
            #expect(judged.rows == 6_000 && judged.new == 5_998 && judged.refused == 2)
            let report = try await run()
            #expect(report.rows == 6_000 && report.new == 5_998 && report.refused == 2)
            let verdicts = try String(contentsOfFile: report.verdicts, encoding: .utf8).split(separator: "\n")
            #expect(verdicts.count == 6_001)
            #expect(verdicts[8].hasPrefix("8,") && verdicts[8].contains("push is not"), "\(verdicts[8])")
            #expect(verdicts[8].contains("hex"), "\(verdicts[8])")
            #expect(verdicts[10].hasPrefix("10,") && verdicts[10].contains("refused"), "\(verdicts[10])")
            #expect(try await run().duplicate == 5_998)
            let found = try await installation.run(
                "device", "list", "--app", installation.application, "-q", "user 4711")
            #expect(found.out.contains("user 4711"), "\(found)")
            try await server.end(SIGTERM)
        }
    }

    /// An import as the admin API shows it.
    private struct Import: Decodable {
        let state: String
        let last_row: Int
        let rows: Int
        let new: Int
        let duplicate: Int
        let verdict_rows: Int
    }

    @Test func `an import resumes after a kill with verdicts per row`() async throws {
        try await TestInstallation.with { installation in
            let key: [String: String] = try await installation.run("admin", "create", "--json").decoded()
            let headers = ["Authorization": "Bearer \(try #require(key["key"]))", "Content-Type": "text/csv"]
            let count = 12_000
            let list = "registration_token\n" + (0..<count).map { String(format: "%064x\n", $0) }.joined()
            let path = "/admin/v1/apps/\(installation.application)/imports/\(UUID().uuidString.lowercased())"
            @Sendable func shown(_ api: Caller) async throws -> Import? {
                let answer = try await api.send("GET", path, headers: headers)
                return answer.status == 200
                    ? try JSONDecoder().decode(Import.self, from: Data(answer.body.utf8)) : nil
            }
            @Sendable func bring(_ api: Caller) async throws -> Import {
                let answer = try await api.send("PUT", path + "?format=csv", list, headers: headers)
                return try JSONDecoder().decode(Import.self, from: Data(answer.body.utf8))
            }
            var goal = 0
            for _ in 0..<3 {
                let server = try await installation.serve()
                defer { server.endAtOnce() }
                let api = Caller(base: try await server.addresses().http, user: "", secret: "")
                goal = min(count, goal + 2_000)
                try await withThrowingTaskGroup(of: Void.self) { [goal] group in
                    // It is cut off.
                    group.addTask { _ = try? await bring(api) }
                    try await eventually("some rows are done", every: .milliseconds(5)) {
                        try await shown(api)?.last_row ?? 0 >= goal
                    }
                    try await server.end(SIGKILL)
                    try await group.waitForAll()
                }
            }
            // A request has time for some windows of rows, and then says that the list is to be sent again.
            let server = try await installation.serve(["BELFRY_HTTP_REQUEST_SECONDS": "6"])
            defer { server.endAtOnce() }
            let api = Caller(base: try await server.addresses().http, user: "", secret: "")
            #expect(try await shown(api)?.last_row ?? 0 >= goal, "what was told survives")
            // One that the machine stood still for is cut off, as by a kill.
            try await eventually("the list is brought to its end") {
                (try? await bring(api))?.state == "completed"
            }
            let done = try #require(try await shown(api))
            #expect(done.rows == count && done.verdict_rows == count && done.new + done.duplicate == count)
            let csv = try await api.send("GET", path + "/verdicts", headers: headers)
            let rows = csv.body.split(separator: "\n").dropFirst().map { $0.prefix { $0 != "," } }
            #expect(rows == (1...count).map { Substring("\($0)") })
            let devices = try await installation.app(at: api.base).send("GET", "/v1/registration/count/")
            #expect(devices.body == "\(count)")
            try await server.end(SIGTERM)
        }
    }

    @Test func `a token sample goes to FCM without notifying anyone`() async throws {
        let simulator = try await FCMSimulator.start()
        let result = await Result {
            try await TestInstallation.with { installation in
                let scratch = installation.scratch
                let account = try scratch.write(simulator.serviceAccountJSON, to: "account.json")
                let root = try scratch.write(simulator.trustRootPEM, to: "fcm-ca.pem")
                let created = try await installation.run(
                    "platform", "create", "--json", "--app", installation.application, "--type", "android-fcm",
                    "--name",
                    "Android", "--credential", "service_account=@\(account)", "--credential",
                    "endpoint=\(simulator.url)", "--credential", "trust_root=@\(root)")
                let platform = try TestInstallation.CreatedPlatform(created).platform_uuid
                simulator.script.answer(["dead": ScriptedAnswer("UNREGISTERED")])
                let list = try scratch.write("registration_token\nfine\ndead\n", to: "devices.csv")
                let report: Report = try await installation.run(
                    "import", "devices", "--app", installation.application, "--platform", platform, "--format", "csv",
                    "--validate", "--dry-run", "--json", list
                ).decoded()
                #expect(report.validated == ["accepted": 1, "gone": 1], "\(report)")
            }
        }
        try await simulator.shutdown()
        try result.get()
    }

    @Test func `a replaced API key works until its grace ends`() async throws {
        try await TestInstallation.with { installation in
            let server = try await installation.serve()
            defer { server.endAtOnce() }
            let base = try await server.addresses().http
            let old = installation.sender(at: base)
            struct Rotated: Decodable { let api_key: String }
            func rotate(_ grace: String...) async throws -> Caller {
                let rotated: Rotated = try await installation.run(
                    ["app", "rotate", "api-key", installation.application, "--json"] + grace
                ).decoded()
                return Caller(base: base, user: installation.application, secret: rotated.api_key)
            }
            func status(_ caller: Caller) async throws -> Int {
                let body = #"{"message":{"body":"x"},"target":{"topics":["t"]}}"#
                let reply = try await caller.send("POST", "/v1/push", body)
                return reply.status
            }
            let next = try await rotate("--grace", "3600")
            try await eventually("the new key is known") { try await status(next) == 200 }
            #expect(try await status(old) == 200)
            _ = try await rotate()
            try await eventually("neither of the old keys is good any more") {
                let (first, second) = try await (status(old), status(next))
                return [401, 429].contains(first) && [401, 429].contains(second)
            }
            try await server.end(SIGTERM)
        }
    }

    @Test func `an APNs client certificate is simulated and its absence explained`() async throws {
        try await TestInstallation.with { installation in
            let scratch = installation.scratch
            let (pem, ca) = (scratch.file("client.pem"), scratch.file("simulated-ca.pem"))
            let simulator = try Program.start(
                ["simulate", "apns", "--certificate-out", pem, "--topic", TestServer.topic, "--ca-out", ca], [:],
                printingTo: scratch.file("simulated"), log: scratch.file("simulator-log"))
            defer { simulator.endAtOnce() }
            // The line is in the file while the program runs: what is printed is flushed.
            let port = try await eventually("the simulator tells its port") {
                try String(contentsOfFile: scratch.file("simulated"), encoding: .utf8).firstMatch(of: #/port (\d+)\n/#)
                    .map { String($0.1) }
            }
            let p12 = scratch.file("client.p12")
            try await OpenSSL(scratch: scratch).run(
                ["pkcs12", "-export", "-in", pem, "-passout", "pass:x", "-out", p12])
            let passphrase = try scratch.write("x", to: "passphrase.txt")
            let common = [
                "platform", "create", "--json", "--app", installation.application, "--type", "ios", "--mode",
                "development", "--name", "By certificate", "--topic", TestServer.topic, "--endpoint",
                "https://localhost:\(port)",
            ]
            let known = try TestInstallation.CreatedPlatform(
                try await installation.run(
                    common + ["--trust-root", ca, "--apns-certificate", p12, "--passphrase-file", passphrase]))
            let works = try await installation.run("platform", "test", known.platform_uuid)
            #expect(works.status == 0 && works.out == "works\n", "\(works)")
            let distrusting = try TestInstallation.CreatedPlatform(
                try await installation.run(common + ["--apns-certificate", p12, "--passphrase-file", passphrase]))
            let told = try await installation.run("platform", "test", distrusting.platform_uuid)
            #expect(told.status != 0 && told.out.contains("the server's certificate is not trusted"), "\(told)")
            #expect(told.out.contains("trust_root") && !told.out.contains("NIOSSL"), "\(told)")
        }
    }
}

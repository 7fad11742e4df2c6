import BelfryServer
import BelfrySimulators
import BelfryTesting
import Foundation
import Logging
import Testing

@testable import BelfryService

/// Answers of the program to an operator who asks why a device got nothing.
extension CommandTests {
    @Suite struct FirstDayTests {}
}

extension CommandTests.FirstDayTests {
    @Test func `a device's story shows provider words, next step, remedy`() async throws {
        try await TestInstallation.with { installation in
            let crowd = try await installation.crowd(2)
            installation.simulator.script.answer(ScriptedAnswer(.badDeviceToken), for: [crowd.tokens[0]])
            installation.simulator.script.answer(
                ScriptedAnswer(.tooManyRequests, sticky: true), for: [crowd.tokens[1]])
            let server = try await installation.serve()
            defer { server.endAtOnce() }
            let base = try await server.addresses().http
            let push = try await installation.sender(at: base).push("Hello", toTopic: "town")
            let (refused, waiting) = (crowd.devices[0].uuid.lowercased, crowd.devices[1].uuid.lowercased)
            func story(_ device: String) async throws -> String {
                try await installation.run("receipt", push.lowercased, "--device", device).out
            }
            try await eventually("one was refused") { try await story(refused).contains("refused: badToken") }
            let dead = try await story(refused)
            #expect(
                dead.contains(#""400 BadDeviceToken""#) && dead.contains("help") && dead.contains("mode"), "\(dead)")
            var patient = ""
            // Between two attempts: during one, what comes next is that it is being sent.
            try await eventually("the other waits for its next attempt") {
                patient = try await story(waiting)
                return patient.contains("429 TooManyRequests") && patient.contains("it is sent at ")
            }
            #expect(patient.contains(#/answer +pending/#), "\(patient)")
            #expect(patient.contains("ios, iOS") && patient.contains(installation.platform), "\(patient)")
            let devices = try await installation.ask("pushes/\(push.lowercased)/devices")
            #expect(devices.contains(refused) && devices.contains(waiting), "\(devices)")
            try await server.end(SIGTERM)
        }
    }

    @Test func `a parked platform is named everywhere; following exits 2`() async throws {
        try await TestInstallation.with { installation in
            let crowd = try await installation.crowd(1)
            installation.simulator.script.add(
                ServiceFault(then: .answer(ScriptedAnswer("InvalidProviderToken", status: 403))))
            let server = try await installation.serve()
            defer { server.endAtOnce() }
            _ = try await server.addresses()
            let followed = try await installation.run(
                "push", "--app", installation.application, "--topic", "town", "--body", "Hello", "--follow")
            #expect(followed.status == 2, "\(followed)")
            let remedy = "belfry platform credentials \(installation.platform)"
            for words in ["platform \(installation.platform) (iOS)", "InvalidProviderToken", remedy] {
                #expect(followed.out.contains(words), "\(words): \(followed.out)")
            }
            #expect(followed.err.contains("0 of 1  "), "a line a second without a terminal: \(followed.err)")
            #expect(followed.err.split(separator: "\n").count < 30, "\(followed.err)")
            let receipt = try #require(followed.out.firstMatch(of: #/receipt_id +([0-9a-f-]+)/#)).1
            let story = try await installation.run(
                "receipt", String(receipt), "--device", crowd.devices[0].uuid.lowercased
            ).out
            #expect(story.contains("parked since") && story.contains(remedy), "\(story)")
            // It is written once the platform is parked.
            try await eventually("the log has it") { server.logged.contains(remedy) }
            #expect(server.logged.contains(#""platform.uuid":"\#(installation.platform)""#))
            #expect(!server.logged.contains("platform.key"))
            try await server.end(SIGTERM)
        }
    }

    @Test func `unknown names are reported; following exits 3`() async throws {
        try await TestInstallation.with { installation in
            _ = try await installation.crowd(1)
            let server = try await installation.serve()
            defer { server.endAtOnce() }
            _ = try await server.addresses()
            let stranger = UUID().uuidString.lowercased()
            for (target, words) in [
                (["--topic", "sprots"], #/topics without subscribers +sprots/#),
                (["--device", stranger], #/unknown devices/#),
                (["--user", "nobody"], #/unknown users +nobody/#),
            ] {
                let push = ["push", "--app", installation.application, "--body", "Hello", "--follow"]
                let ended = try await installation.run(push + target)
                #expect(ended.status == 3 && ended.out.contains(words), "\(target): \(ended)")
            }
            let known = try await installation.run(
                "push", "--app", installation.application, "--topic", "town", "--body", "Hello", "--follow")
            #expect(known.status == 0, "\(known)")
            try await server.end(SIGTERM)
        }
    }

    @Test func `a running server knows a command's objects at first request`() async throws {
        try await TestInstallation.with { installation in
            let server = try await installation.serve()
            defer { server.endAtOnce() }
            let base = try await server.addresses().http
            _ = try await installation.app(at: base).send("GET", "/v1/registration/count/")
            let app = try TestInstallation.Created(
                try await installation.run("app", "create", "--name", "Dairy", "--json"))
            let web = try TestInstallation.CreatedPlatform(
                try await installation.run(
                    "platform", "create", "--app", app.app_uuid, "--type", "web", "--name", "Web", "--json"))
            let caller = Caller(base: base, user: web.platform_uuid, secret: web.platform_secret)
            #expect(try await caller.send("GET", "/v1/registration/count/").status == 200)
            let sender = Caller(base: base, user: app.app_uuid, secret: app.api_key)
            #expect(
                try await sender.send("POST", "/v1/push", #"{"message":{"body":"x"},"target":{"platform":"all"}}"#)
                    .status == 200)
            try await server.end(SIGTERM)
        }
    }

    @Test func `changes, their authors and each key's use are printed`() async throws {
        try await TestInstallation.with { installation in
            let app = installation.application
            let bound: [String: String] = try await installation.run(
                "admin", "create", "--scope", "sender", "--app", app, "--name", "erp", "--json"
            ).decoded()
            let keys = try await installation.run("admin", "list").out
            #expect(keys.contains(try #require(bound["key_id"])) && keys.contains("app \(app)"), "\(keys)")
            let audit = try await installation.run("audit", "--app", app, "--action", "platform").out
            #expect(audit.contains("platform.create") && !audit.contains("app.create"), "\(audit)")
            let cut = try await installation.run("audit", "--app", app, "--limit", "1")
            #expect(cut.err == "warning: 1 are shown, and there are more: --limit prints more\n", "\(cut)")
            let none = try await installation.run("audit", "--until", "2001-01-01T00:00:00Z", "--json").out
            #expect(none == "[\n\n]\n" || none == "[]\n", "\(none)")
        }
    }

    @Test func `a node shows its address and all documented metrics`() async throws {
        try await TestInstallation.with { installation in
            let server = try await installation.serve()
            defer { server.endAtOnce() }
            let addresses = try await server.addresses()
            // Its first heartbeat is beside its first requests.
            try await eventually("the node is listed") {
                try await installation.run("nodes").out.contains("http://127.0.0.1:0")
            }
            let page = try await Caller(base: addresses.management, user: "", secret: "").send("GET", "/metrics").body
            let absent = try Self.documentedMetrics.filter { !page.contains("# TYPE \($0) ") }
            #expect(absent == [])
            let typed = page.matches(of: #/# TYPE ([a-z_]+) /#).map { String($0.1) }
            let unexplained = typed.filter { !page.contains("# HELP \($0) ") }
            #expect(unexplained == [] && typed.contains("process_max_fds"))
            #expect(page.contains("\nbelfry_ready 1\n"))
            try await server.end(SIGTERM)
        }
    }

    /// Without those that only have series once something of theirs exists: a route that was called, something that expires.
    private static var documentedMetrics: [String] {
        get throws {
            let path = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .deletingLastPathComponent().appending(path: "docs/Metrics.md")
            let text = try String(contentsOf: path, encoding: .utf8)
            let names = text.matches(of: #/^\| `(belfry_[a-z_]+)/#.anchorsMatchLineEndings()).map { String($0.1) }
            let later: Set = [
                "belfry_http_requests_total", "belfry_http_request_duration_seconds", "belfry_tls_certificate_days",
                "belfry_credentials_days",
            ]
            #expect(names.count > 30)
            return names.filter { !later.contains($0) }
        }
    }

    @Test func `a private CA is trusted remotely, and distrust is explained`() async throws {
        try await TestInstallation.with { installation in
            let openSSL = OpenSSL(scratch: installation.scratch)
            let pair = try await openSSL.pair("door")
            let key: [String: String] = try await installation.run("admin", "create", "--json").decoded()
            let keyFile = try installation.scratch.write(try #require(key["key"]), to: "admin.txt")
            let server = try await installation.serve([
                "BELFRY_HTTP_TLS_CERTIFICATE": pair.certificate, "BELFRY_HTTP_TLS_KEY": pair.key,
            ])
            defer { server.endAtOnce() }
            let base = try await server.addresses().http.replacing("127.0.0.1", with: "localhost")
            let list = ["app", "list", "--server", base, "--key-file", keyFile]
            let refused = try await Program.run(list, in: installation.scratch)
            #expect(
                refused.status != 0 && refused.err.contains("is not trusted by this command"), "\(refused)")
            #expect(refused.err.contains("--ca-file") && !refused.err.contains("NIOSSL"), "\(refused)")
            let trusted = try await Program.run(list + ["--ca-file", pair.certificate], in: installation.scratch)
            #expect(trusted.status == 0 && trusted.out.contains("Bakery"), "\(trusted)")
            let byVariable = try await Program.run(
                list, ["SSL_CERT_FILE": pair.certificate], in: installation.scratch)
            #expect(byVariable.status == 0, "\(byVariable)")
            try await server.end(SIGTERM)
        }
    }

    @Test func `a wrong kind of key is named; dates are validated`() async throws {
        try await TestInstallation.with { installation in
            let openSSL = OpenSSL(scratch: installation.scratch)
            let wide = try await openSSL.key("wide", curve: "P-384")
            let rsa = installation.scratch.file("rsa.p8")
            try await openSSL.run(["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", rsa])
            let create = [
                "platform", "create", "--app", installation.application, "--type", "ios", "--mode", "development",
                "--name",
                "Other", "--topic", TestServer.topic,
            ]
            for (file, words) in [(wide, "a P-384 private key"), (rsa, "an RSA 2048 key")] {
                let ended = try await installation.run(
                    create + ["--apns-key", file, "--key-id", "ABCDEFGHIJ", "--team-id", "ABCDEFGHIJ"])
                #expect(ended.status != 0 && ended.err.contains(words), "\(ended)")
            }
            let old = try await openSSL.p12("old", topic: TestServer.topic, days: -3, passphrase: "x")
            let passphrase = try installation.scratch.write("x", to: "passphrase.txt")
            let expired = try await installation.run(
                create + ["--apns-certificate", old, "--passphrase-file", passphrase])
            #expect(expired.status != 0, "\(expired)")
            #expect(expired.err.contains(#/expired on \d{4}-\d\d-\d\dT/#), "\(expired)")
        }
    }

    @Test func `a future data directory is no fault`() async throws {
        try await Scratch.with { scratch in
            let ended = try await Program.run(
                ["check", "--data-directory", "not-there-\(UUID().uuidString)"], in: scratch)
            #expect(ended.status == 0, "\(ended)")
        }
    }

    @Test func `commands report a missing server and refuse a second`() async throws {
        try await TestInstallation.with { installation in
            _ = try await installation.crowd(1)
            let push = ["push", "--app", installation.application, "--body", "x"]
            let absent = "no server is running on \(installation.data)/belfry.sqlite"
            let waiting = try await installation.run(push + ["--everyone", "--yes"])
            #expect(waiting.status == 0 && waiting.err.contains("\(absent): it is sent once one starts"), "\(waiting)")
            #expect(try await installation.run("nodes").err.contains(absent))
            let receipt = try #require(waiting.out.firstMatch(of: /receipt_id +([0-9a-f-]{36})/)?.1)
            let shown = try await installation.run("receipt", String(receipt))
            #expect(shown.out.contains("\(absent): the rest is sent once one starts"), "\(shown)")
            let server = try await installation.serve()
            defer { server.endAtOnce() }
            _ = try await server.addresses()
            let nodes: Program.Ended = try await eventually("the node is listed") {
                let listed = try await installation.run("nodes")
                return listed.out.contains("  up  ") ? listed : nil
            }
            #expect(nodes.err == "", "\(nodes)")
            let mistyped = try await installation.run(push + ["--topic", "diary"])
            #expect(mistyped.status == 0 && mistyped.err == "warning: nobody subscribes to diary\n", "\(mistyped)")
            let second = try await installation.run("serve", "--port", "0", "--management-port", "0")
            #expect(
                second.status != 0 && second.err.contains("another server is running on \(installation.data)"),
                "\(second)")
            #expect(try await installation.run("check").status == 0, "a server that runs is no fault")
            try await server.end(SIGKILL)
            let killed = try await installation.run("nodes")
            #expect(killed.err.contains(absent) && killed.out.contains("  gone  "), "\(killed)")
            #expect(!killed.out.contains("  up  "), "\(killed)")
            let asJSON = try await installation.run("nodes", "--json")
            #expect(
                asJSON.out.contains(#/"state" ?: ?"gone"/#) && asJSON.out.contains("silent_seconds"), "\(asJSON)")
            let next = try await installation.serve()
            defer { next.endAtOnce() }
            _ = try await next.addresses()
            try await next.end(SIGTERM)
        }
    }

    @Test func `a device kept active says why, with topic and endpoint`()
        async throws
    {
        try await TestInstallation.with { installation in
            let crowd = try await installation.crowd(2)
            let old: Int64 = 1_700_000_000_000
            installation.simulator.script.answer(
                ScriptedAnswer("Unregistered", status: 410, timestamp: old), for: [crowd.tokens[0]])
            let server = try await installation.serve()
            defer { server.endAtOnce() }
            let base = try await server.addresses().http
            let push = try await installation.sender(at: base).push("Hello", toTopic: "town")
            #expect(try await installation.settled(push).counts == ["accepted": 1, "gone": 1])
            let story = try await installation.run(
                "receipt", push.lowercased, "--device", crowd.devices[0].uuid.lowercased
            ).out
            #expect(story.contains(#"since 2023-11-14T22:13:20.000Z, "410 Unregistered""#), "\(story)")
            #expect(story.contains(#/active +yes/#) && story.contains("the device stays active"), "\(story)")
            let shown = try await installation.run("platform", "show", installation.platform).out
            #expect(shown.contains(#/topic +org\.example\.system/#), "\(shown)")
            #expect(shown.contains(#/endpoint +https:\/\/localhost:/#), "\(shown)")
            try await server.end(SIGTERM)
        }
    }

    @Test func `following a push explains an unreachable provider once`() async throws {
        // Nothing listens at port 1.
        try await TestInstallation.with(reachingProviderBy: { _ in 1 }) { installation in
            _ = try await installation.crowd(1)
            let server = try await installation.serve(["BELFRY_APNS_DEADLINE_SECONDS": "2"])
            defer { server.endAtOnce() }
            _ = try await server.addresses()
            let following = try Program.start(
                ["push", "--app", installation.application, "--topic", "town", "--body", "Hello", "--follow"]
                    + installation.storageFlags, [:], log: installation.scratch.file("following"))
            defer { following.endAtOnce() }
            try await eventually("the reason is told, and the progress after it", within: .seconds(60)) {
                following.logged.contains(#/unreachable  connect: [^\n]+\n0 of 1  /#)
            }
            #expect(following.logged.split(separator: "\n").count { $0.hasPrefix("unreachable  ") } == 1)
            try await following.end(SIGKILL)
            try await server.end(SIGTERM)
        }
    }

    @Test func `a database that a server has is not copied`() async throws {
        try await TestInstallation.with { installation in
            let server = try await installation.serve()
            defer { server.endAtOnce() }
            _ = try await server.addresses()
            let copy = [
                "database", "copy", "--from", "sqlite:\(installation.data)/belfry.sqlite", "--to",
                "sqlite:\(installation.scratch.file("copy.sqlite"))",
            ]
            let refused = try await Program.run(copy, in: installation.scratch)
            #expect(refused.status != 0 && refused.err.contains("in use, stop the server first"), "\(refused)")
            try await server.end(SIGTERM)
            let trial = try await Program.run(
                Array(copy.dropLast()) + ["sqlite:\(installation.scratch.file("trial.sqlite"))", "--keep-source"],
                in: installation.scratch)
            #expect(trial.status == 0 && trial.out.contains("The old database stays in use"), "\(trial)")
            #expect(try await installation.run("app", "list").status == 0)
            let copied = try await Program.run(copy, in: installation.scratch)
            #expect(
                copied.status == 0 && copied.out.contains("Next:") && copied.out.contains("belfry check"), "\(copied)")
            for command in [["app", "list"], ["check"], ["serve", "--port", "0", "--management-port", "0"]] {
                let moved = try await installation.run(command)
                #expect(
                    moved.status != 0
                        && moved.err.contains("copied to sqlite:\(installation.scratch.file("copy.sqlite")) at "),
                    "\(command): \(moved)")
            }
            let database = "sqlite:\(installation.data)/belfry.sqlite"
            for words in ["can be used again", "was not copied away"] {
                let reopened = try await Program.run(["database", "reopen", database], in: installation.scratch)
                #expect(reopened.status == 0 && reopened.out.contains(words), "\(reopened)")
            }
            #expect(try await installation.run("app", "list").status == 0)
        }
    }

    @Test func `a used new database refuses the way back`() async throws {
        try await TestInstallation.with { installation in
            let folder = installation.scratch.file("moved")
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let ring = try #require(
                try FileManager.default.contentsOfDirectory(atPath: installation.data).first { $0.contains("key") })
            try FileManager.default.copyItem(atPath: "\(installation.data)/\(ring)", toPath: "\(folder)/\(ring)")
            let (old, new) = ("sqlite:\(installation.data)/belfry.sqlite", "sqlite:\(folder)/belfry.sqlite")
            let copied = try await Program.run(
                ["database", "copy", "--from", old, "--to", new], in: installation.scratch)
            #expect(copied.status == 0, "\(copied)")
            let refused = try await installation.run("app", "list")
            #expect(
                refused.err.contains("\(old) was copied to \(new) at ")
                    && refused.err.contains("`belfry database reopen \(old)`")
                    && refused.err.contains("--data-directory \(folder),"), "\(refused)")
            let stale = try await installation.run("backup", "--to", "\(folder)-backup")
            #expect(stale.status != 0 && stale.err.contains("\(old) was copied to \(new) at "), "\(stale)")

            let push = try await Program.run(
                [
                    "push", "--app", installation.application, "--everyone", "--yes", "--body", "x",
                    "--data-directory", folder,
                ], in: installation.scratch)
            #expect(push.status == 0, "\(push)")
            let reopen = ["database", "reopen", old]
            let used = try await Program.run(reopen, in: installation.scratch)
            #expect(
                used.status != 0 && used.err.contains("\(new) has been used since ")
                    && used.err.contains("new pushes: 1") && used.err.contains("--force")
                    && used.err.contains("`belfry database copy --from \(new) --to sqlite:"), "\(used)")
            #expect(try await installation.run("app", "list").status != 0)
            try FileManager.default.moveItem(atPath: folder, toPath: folder + "-away")
            let unknown = try await Program.run(reopen, in: installation.scratch)
            #expect(
                unknown.status != 0 && unknown.err.contains("does not tell whether it has been used since"),
                "\(unknown)")
            let forced = try await Program.run(reopen + ["--force"], in: installation.scratch)
            #expect(forced.status == 0 && forced.out.contains("can be used again"), "\(forced)")
            #expect(try await installation.run("app", "list").status == 0)
        }
    }
}

extension TestInstallation {
    /// The answer of the admin API, through the backend of the commands.
    func ask(_ path: String) async throws -> String {
        try await withResources { resources in
            let api = LocalAdminAPI(service: resources.operatorService, logger: Logger(label: "test"))
            return try await api.answer("GET", path)?.flat ?? ""
        }
    }
}

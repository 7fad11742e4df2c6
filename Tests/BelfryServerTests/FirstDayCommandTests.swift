import BelfryServer
import BelfryTesting
import Foundation
import PostgresRig
import Testing

@testable import BelfryService

/// Messages of the program for an operator who mistypes something on the first day.
extension CommandTests {
    @Suite struct FirstDayCommandTests {}
}

// MARK: - What is misspelt

extension CommandTests.FirstDayCommandTests {
    @Test(arguments: [
        (["pussh"], "There is no command 'belfry pussh'. Did you mean 'belfry push'?"),
        (["app", "lst"], "There is no command 'belfry app lst'. Did you mean 'belfry app list'?"),
        (["frobnicate"], "There is no command 'belfry frobnicate'"),
        (["push", "--topics", "dairy", "--body", "x"], "Unknown option '--topics'. Did you mean '--topic'?"),
        (["app", "create", "--nam=x"], "Unknown option '--nam'. Did you mean '--name'?"),
        (
            ["push", "--body", "x"],
            "give exactly one of --everyone, --topic, --user, --device, --channel, --where and --update"
        ),
    ])
    func `a misspelt command or option is named with the nearest`(arguments: [String], words: String) async throws {
        try await Scratch.with { scratch in
            let ended = try await Program.run(arguments, in: scratch)
            #expect(ended.status != 0 && ended.err.hasPrefix("Error: \(words)\nUsage: belfry "), "\(ended.err)")
        }
    }

    @Test func `a wrong value is named with its file or variable`() async throws {
        try await Scratch.with { scratch in
            let file = try scratch.write(#"{"log.level": "loud"}"#, to: "belfry.json")
            let ended = try await Program.run(
                ["check", "--config", file, "--data-directory", scratch.file("data")],
                ["BELFRY_DELIVERY_LEASE_SECONDS": "soon"], in: scratch)
            let text = ended.out + ended.err
            #expect(text.contains("critical, in \(file)\n"), "\(text)")
            #expect(text.contains(", in BELFRY_DELIVERY_LEASE_SECONDS\n"), "\(text)")
        }
    }
}

// MARK: - The key ring of another database

extension CommandTests.FirstDayCommandTests {
    @Test func `a node with a foreign key ring changes nothing`() async throws {
        try await TestInstallation.with { installation in
            try await Self.expectForeignRingRefused(installation)
        }
    }

    @Test func `so it is on PostgreSQL`() async throws {
        try await PostgresServer.with { database in
            try await TestInstallation.with(database: database.url(of: "postgres")) { installation in
                try await Self.expectForeignRingRefused(installation)
            }
        }
    }

    private static func expectForeignRingRefused(_ installation: TestInstallation) async throws {
        let ring = installation.data + "/key-ring"
        let own = try Data(contentsOf: URL(filePath: ring))
        // Another key of the same number, and one of a number that the database has not met.
        for foreign in ["1:\(String(repeating: "ab", count: 32))\n", "7:\(String(repeating: "cd", count: 32))\n"] {
            try Data(foreign.utf8).write(to: URL(filePath: ring))
            for command in [
                ["check"], ["serve"], ["app", "list"], ["app", "create", "--name", "Dairy"], ["keys", "rotate"],
                ["push", "--app", installation.application, "--topic", "town", "--body", "x"],
            ] {
                let ended = try await Program.run(
                    command + installation.storageFlags, Program.freePorts,
                    in: installation.scratch)
                #expect(
                    ended.status != 0
                        && ended.err.contains("is of another database")
                        && ended.err.contains(ring), "\(command): \(ended)")
            }
            #expect(try String(contentsOfFile: ring, encoding: .utf8) == foreign)
        }
        try FileManager.default.removeItem(atPath: ring)
        for command in ["check", "serve"] {
            let ended = try await installation.run(command)
            #expect(ended.status != 0 && ended.err.contains("the key ring \(ring) is missing"), "\(command): \(ended)")
        }
        try own.write(to: URL(filePath: ring))
        #expect(try await installation.run("check").status == 0)
        let apps = try await installation.run("app", "list").out
        #expect(apps.contains("Bakery") && !apps.contains("Dairy"), "\(apps)")
    }
}

// MARK: - Metrics

extension CommandTests.FirstDayCommandTests {
    @Test func `each device of a Carma contact counts as a registration`() async throws {
        try await TestInstallation.with { installation in
            let password = try installation.scratch.write("correct horse\n", to: "carma-password")
            for arguments in [
                ["account", "create", "--customer-id", "42", "--user", "anna", "--password-file", password],
                ["app", "create", "--customer-id", "42", "--app-id", "org.example", "--app", installation.application],
            ] {
                let made = try await installation.run(["carma"] + arguments)
                #expect(made.status == 0, "\(made)")
            }
            let server = try await installation.serve()
            defer { server.endAtOnce() }
            let (http, management) = try await server.addresses()
            let app = Caller(base: http, user: "anna", secret: "correct horse")
            let tokens = ["ab", "cd", "ef"].map { String(repeating: $0, count: 32) }
            let devices = #"[{"devicetoken":"\#(tokens[0])"},{"devicetoken":"\#(tokens[1])"}]"#
            for (method, path, body) in [
                ("PUT", "apps/org.example/pushdevices", #"{"originalId":"a","deviceInfo":\#(devices)}"#),
                ("POST", "lists/1000000001/contacts", #"{"originalId":"b","devicetoken":"\#(tokens[2])"}"#),
            ] {
                let answer = try await app.send(method, "/rest/42/\(path)", body)
                #expect(answer.status == 200, "\(answer)")
            }
            let page = Caller(base: management, user: "", secret: "")
            try await eventually("the page has all three") {
                try await page.send("GET", "/metrics").body.contains("\nbelfry_registrations_total 3\n")
            }
            try await server.end(SIGTERM)
        }
    }

    @Test func `commands count on the server's metrics page`() async throws {
        try await TestInstallation.with { installation in
            let server = try await installation.serve()
            defer { server.endAtOnce() }
            let page = Caller(base: try await server.addresses().management, user: "", secret: "")
            #expect(try await page.send("GET", "/metrics").body.contains("\nbelfry_registrations_total 0\n"))
            let token = String(repeating: "ab", count: 32)
            let made = try await installation.run(
                "device", "create", "--app", installation.application, "--platform", installation.platform, "--token",
                token, "--topic", "town")
            #expect(made.status == 0, "\(made)")
            let push = try await installation.run(
                "push", "--app", installation.application, "--topic", "town", "--body", "Hello", "--urgency", "bulk")
            #expect(push.status == 0, "\(push)")
            let counts = [
                "belfry_registrations_total 1", #"belfry_pushes_accepted_total{lane="bulk"} 1"#,
                #"belfry_pushes_accepted_total{lane="urgent"} 0"#, "belfry_nodes 1.0", "belfry_nodes_gone 0.0",
            ]
            try await eventually("the page has the counts") {
                let text = try await page.send("GET", "/metrics").body
                return counts.allSatisfy { text.contains("\n\($0)\n") }
            }
            try await server.end(SIGTERM)
        }
    }

    @Test func `a parked platform counts and its push reports no look-up`()
        async throws
    {
        try await TestInstallation.with { installation in
            _ = try await installation.crowd(2)
            let server = try await installation.serve()
            defer { server.endAtOnce() }
            let addresses = try await server.addresses()
            let parked = try await installation.withResources { resources in
                let platform = try await resources.operatorService.platform(
                    try #require(UUID(uuidString: installation.platform)))
                try await resources.store.park(
                    platform.key, .init(cause: .operator, detail: "moving", since: resources.clock.now))
                return platform.name
            }
            #expect(parked == "iOS")
            let page = Caller(base: addresses.management, user: "", secret: "")
            try await eventually("the gauge has it") {
                try await page.send("GET", "/metrics").body.contains("\nbelfry_platforms_parked 1.0\n")
            }
            let followed = try await installation.run(
                "push", "--app", installation.application, "--topic", "town", "--body", "Hello", "--follow")
            #expect(followed.status == 2, "\(followed)")
            #expect(
                followed.out.contains(#/devices +0 so far: devices of a parked platform are looked up once/#),
                "\(followed)")
            let receipt = try #require(followed.out.firstMatch(of: #/receipt_id +([0-9a-f-]+)/#)).1
            let json = try await installation.ask("pushes/\(receipt)")
            #expect(json.contains(#""fanned_out":false"#), "\(json)")
            try await server.end(SIGTERM)
        }
    }
}

// MARK: - Options and files

extension CommandTests.FirstDayCommandTests {
    @Test func `a missing file is named with its option`() async throws {
        try await TestInstallation.with { installation in
            let create = ["platform", "create", "--app", installation.application, "--name", "x", "--type"]
            let scratch = installation.scratch
            let missing = scratch.file("missing")
            let push = ["push", "--app", installation.application, "--topic", "town"]
            for (arguments, words) in [
                (
                    create + ["ios", "--topic", "t", "--apns-key", missing, "--key-id", "A", "--team-id", "B"],
                    "--apns-key: there is no file \(missing)"
                ),
                (
                    create + ["ios", "--topic", "t", "--apns-certificate", scratch.path],
                    "--apns-certificate: \(scratch.path) is a directory, a file is expected"
                ),
                (
                    create + ["android-fcm", "--credential", "service_account=@\(missing)"],
                    "--credential service_account: there is no file \(missing)"
                ),
                (push + ["--custom", "@\(missing)"], "--custom: there is no file \(missing)"),
                (
                    ["app", "list", "--server", "https://localhost:1", "--key-file", missing],
                    "--key-file: there is no file \(missing)"
                ),
                (
                    ["app", "list", "--data-directory", "not-there"],
                    "\(FileManager.default.currentDirectoryPath)/not-there/belfry.sqlite is not there"
                ),
                (["app", "list", "--config", missing], "the configuration file \(missing) is not there"),
            ] {
                let storage = ["--server", "--config", "--data-directory"].contains { arguments.contains($0) }
                let ended = try await Program.run(
                    arguments + (storage ? [] : installation.storageFlags), in: scratch)
                #expect(ended.status != 0 && ended.err.contains(words), "\(arguments): \(ended)")
            }
        }
    }

    @Test func `PEM instead of PKCS #12 and missing passphrases are named`()
        async throws
    {
        try await TestInstallation.with { installation in
            let openSSL = OpenSSL(scratch: installation.scratch)
            let (certificate, key) = try await openSSL.pair("push")
            let both = try installation.scratch.write(
                [certificate, key].map { try String(contentsOfFile: $0, encoding: .utf8) }.joined(), to: "both.pem")
            let p12 = try await openSSL.p12("push", topic: TestServer.topic, days: 10, passphrase: "sesame")
            let create = [
                "platform", "create", "--app", installation.application, "--type", "ios", "--mode", "production",
                "--name",
                "x", "--topic", TestServer.topic,
            ]
            for (arguments, words) in [
                (
                    ["--apns-certificate", both],
                    "--apns-certificate cannot be used: the file holds certificate and private key"
                ),
                (
                    ["--apns-certificate", certificate],
                    "the file holds a certificate in PEM, not PKCS#12; `openssl pkcs12"
                ),
                (
                    ["--apns-certificate", p12],
                    "--passphrase-file cannot be used: the p12 file has a passphrase, and none was"
                ),
                (
                    ["--apns-key", both, "--key-id", "ABCDEFGHIJ", "--team-id", "ABCDEFGHIJ"],
                    "is not a P-256 private key in PEM, but certificate and private key"
                ),
            ] {
                let ended = try await installation.run(create + arguments)
                #expect(ended.status != 0 && ended.err.contains(words), "\(arguments): \(ended)")
            }
        }
    }

    @Test func `wrong FCM JSON and keys are named, endpoint syntax shown`() async throws {
        try await TestInstallation.with { installation in
            let openSSL = OpenSSL(scratch: installation.scratch)
            let key = try String(contentsOfFile: try await openSSL.key("wide", curve: "P-384"), encoding: .utf8)
            let account = try JSONSerialization.data(withJSONObject: [
                "type": "service_account", "project_id": "bakery", "client_email": "a@b.example", "private_key": key,
            ])
            let google = try installation.scratch.write(
                #"{"project_info":{"project_id":"bakery","project_number":"1"},"client":[],"configuration_version":"1"}"#,
                to: "google-services.json")
            let wrongKey = try installation.scratch.write(String(decoding: account, as: UTF8.self), to: "account.json")
            let create = [
                "platform", "create", "--app", installation.application, "--type", "android-fcm", "--name", "Android",
            ]
            for (arguments, words) in [
                (["--credential", "service_account=@\(google)"], "google-services.json, which is for the app"),
                (["--credential", "service_account=\(wrongKey)"], "write service_account=@\(wrongKey)"),
                ([], "--credential service_account is missing"),
                (
                    ["--credential", "service_account=@\(wrongKey)", "--endpoint", "https://localhost:1"],
                    "beside --credential it is --credential endpoint=https://localhost:1"
                ),
                (["--credential", "service_account=@\(wrongKey)"], "in PEM, but a P-384 private key"),
                (
                    ["--endpoint", "https://localhost:8443"],
                    "it is given as --credential endpoint=https://localhost:8443"
                ),
            ] {
                let ended = try await installation.run(create + arguments)
                #expect(ended.status != 0 && ended.err.contains(words), "\(arguments): \(ended)")
            }
        }
    }

    @Test func `a doubtful value is accepted with a warning`() async throws {
        try await TestInstallation.with { installation in
            _ = try await installation.crowd(1)
            let server = try await installation.serve()
            defer { server.endAtOnce() }
            _ = try await server.addresses()
            let push = ["push", "--app", installation.application, "--topic", "town", "--body", "Hello"]
            let late = try await installation.run(
                push + ["--send-at", "2001-01-01T00:00:00Z", "--expires-at", "2001-01-02T00:00:00Z"])
            #expect(
                late.status != 0 && late.err.contains("send_at is 2001-01-01T00:00:00.000Z, which is over"), "\(late)")
            let schedule = try await installation.run(
                "schedule", "create", "--app", installation.application, "--topic", "town", "--body", "Hello",
                "--send-at", "2199-01-01T00:00:00Z", "--expires-at", "2001-01-02T00:00:00Z")
            #expect(
                schedule.status != 0 && schedule.err.contains("expires_at is 2001-01-02T00:00:00.000Z")
                    && schedule.err.contains("no device would get the push"), "\(schedule)")
            let stranger = try await installation.run(
                push + ["--custom", #"{"iphone":{"badge":1},"ios":{"badge":1}}"#])
            #expect(
                stranger.status == 0 && stranger.err.contains("a part for `iphone`, which is no type of platform"),
                "\(stranger)")
            let broken = try await installation.run(push + ["--custom", #"{"ios":"#])
            #expect(broken.status != 0 && broken.err.contains("--custom is not valid JSON"), "\(broken)")
            let fine = try await installation.run(push)
            #expect(fine.status == 0 && fine.err == "", "\(fine)")
            try await server.end(SIGTERM)
        }
    }

    @Test func `a push for later is listed, shown and cancelled`() async throws {
        try await TestInstallation.with { installation in
            let app = ["--app", installation.application]
            let custom = try installation.scratch.write(#"{"ios":{"badge":3}}"#, to: "custom.json")
            let made: [String: String] = try await installation.run(
                [
                    "push", "--topic", "town", "--custom", "@\(custom)", "--send-at", "2199-01-31T09:00:00Z",
                    "--at-most-once",
                ]
                    + ["--expires-at", "2199-02-01T09:00:00Z", "--urgency", "urgent", "--json"] + app
            ).decoded()
            let id = try #require(made["schedule_id"])
            let listed = try await installation.run(["schedule", "list", "--state", "waiting"] + app).out
            #expect(listed.contains(id) && listed.contains("2199-01-31T09:00:00"), "\(listed)")
            let shown = try await installation.run(["schedule", "show", id] + app).out
            for words in [
                #""badge":3"#, "at_most_once         true", "urgency              urgent", "2199-02-01T09:00:00",
            ] {
                #expect(shown.contains(words), "\(words): \(shown)")
            }
            #expect(try await installation.run(["schedule", "cancel", id] + app).status == 0)
            let again = try await installation.run(["schedule", "cancel", id] + app)
            #expect(again.status != 0 && again.err.contains("has ended"), "\(again)")
        }
    }

    @Test func `the only application need not be named`() async throws {
        try await TestInstallation.with { installation in
            let later = ["push", "--topic", "town", "--title", "T", "--send-at", "2199-01-31T09:00:00Z"]
            #expect(try await installation.run(later).status == 0)
            let listed = try await installation.run("schedule", "list", "--state", "waiting")
            #expect(listed.status == 0 && listed.out.contains("2199-01-31T09:00:00"), "\(listed)")
            #expect(try await installation.run("platform", "list").out.contains(installation.platform))
            #expect(try await installation.run("app", "create", "--name", "Second").status == 0)
            for command in [later, ["schedule", "list"], ["platform", "list"]] {
                let unsure = try await installation.run(command)
                #expect(unsure.status != 0 && unsure.err.contains("which application is meant?"), "\(unsure)")
                #expect(unsure.err.contains("\(installation.application) (") && unsure.err.contains("(Second)"))
            }
        }
    }

    @Test func `push has an option for each field of a message`() async throws {
        try await TestInstallation.with { installation in
            let app = ["--app", installation.application]
            let data = try installation.scratch.write(#"{"story":17}"#, to: "data.json")
            let fields = [
                "--title", "Dairy", "--body", "Fresh cheese", "--image", "https://shop.example/c.jpg", "--link",
                "shop://cheese", "--sound", "default", "--badge", "+1", "--data", "@\(data)", "--category", "news",
                "--notification-channel", "offers", "--collapse-key", "cheese", "--thread", "town",
            ]
            let made: [String: String] = try await installation.run(
                ["push", "--topic", "town", "--platform", "ios", "--send-at", "2199-01-31T09:00:00Z", "--json"] + fields
                    + app
            ).decoded()
            let shown = try await installation.run(["schedule", "show", try #require(made["schedule_id"])] + app).out
            for words in [
                #""title":"Dairy""#, #""body":"Fresh cheese""#, #""image":"https://shop.example/c.jpg""#,
                #""link":"shop://cheese""#, #""sound":"default""#, #""badge":"+1""#, #""data":{"story":17}"#,
                #""category":"news""#, #""channel":"offers""#, #""collapse_key":"cheese""#, #""thread":"town""#,
                #""platforms":["ios"]"#,
            ] { #expect(shown.replacing(" ", with: "").contains(words.replacing(" ", with: "")), "\(words): \(shown)") }
            let wrong = try await installation.run(
                ["push", "--topic", "town", "--title", "T", "--image", "cheese.jpg"] + app)
            #expect(wrong.status != 0 && wrong.err.contains("message.image has to be an https URL"), "\(wrong)")
            let nothing = try await installation.run(
                ["push", "--topic", "town", "--image", "https://a.example/"] + app)
            #expect(nothing.status != 0 && nothing.err.contains("give --title, --body, --data"), "\(nothing)")
        }
    }

    @Test func `rotating the first admin key names its old file`() async throws {
        try await TestInstallation.with { installation in
            let server = try await installation.serve()
            defer { server.endAtOnce() }
            _ = try await server.addresses()
            let file = installation.data + "/admin.key"
            let id = try #require(try String(contentsOfFile: file, encoding: .utf8).firstMatch(of: #/bfy_([^_]+)_/#)).1
            let rotated = try await installation.run("admin", "rotate", String(id))
            #expect(rotated.status == 0 && rotated.err.contains("\(file) still holds the old secret"), "\(rotated)")
            let other: [String: String] = try await installation.run("admin", "create", "--json").decoded()
            let quiet = try await installation.run("admin", "rotate", try #require(other["key_id"]))
            #expect(quiet.status == 0 && quiet.err == "", "\(quiet)")
            try await server.end(SIGTERM)
        }
    }
}

// MARK: - Usage

extension CommandTests.FirstDayCommandTests {
    @Test(arguments: [
        ("receipt", "belfry receipt [<options>] <receipt-id>"),
        ("app edit", "belfry app edit [<options>] <app>"), ("serve", "belfry serve [<options>]"),
        ("nodes", "belfry nodes [<options>]"), ("simulate apns", "belfry simulate apns [<options>]"),
        ("gateway credential delete", "belfry gateway credential delete [<options>] --platform <platform> <id>"),
        ("import devices", "belfry import devices [<options>] --format <format> <file>"),
        ("tenant", "belfry tenant <subcommand>"),
    ])
    func `a command's usage fits one line everywhere`(command: String, usage: String)
        async throws
    {
        try await Scratch.with { scratch in
            let words = command.split(separator: " ").map(String.init)
            let refused = try await Program.run(words + ["--no-such-option"], in: scratch)
            #expect(refused.status == 64 && refused.err.contains("Usage: \(usage)\n"), "\(refused)")
            let help = try await Program.run(words + ["--help"], ["COLUMNS": "0"], in: scratch)
            #expect(help.status == 0 && help.err == "" && help.out.contains("USAGE: \(usage)\n\n"), "\(help)")
            #expect(help.out.contains("OVERVIEW: "), "\(help)")
        }
    }
}

// MARK: - Tables

extension CommandTests.FirstDayCommandTests {
    @Test func `table columns align, whatever a name begins with`() async throws {
        try await TestInstallation.with { installation in
            for name in ["7up", "寿司"] {
                #expect(try await installation.run("app", "create", "--name", name).status == 0)
            }
            let lines = try await installation.run("app", "list").out.split(separator: "\n")
            #expect(lines.contains { $0.dropFirst(38).hasPrefix("7up     20") }, "\(lines)")
            #expect(lines.contains { $0.dropFirst(38).hasPrefix("寿司    20") }, "two columns each: \(lines)")
            #expect(lines.contains { $0.dropFirst(38).hasPrefix("Bakery  20") }, "\(lines)")
            #expect(lines[0].dropFirst(38).hasPrefix("name    created_at"))
            #expect(!lines.contains { $0.hasSuffix(" ") })
            _ = try await installation.crowd(2)
            let platforms = try await installation.run("platform", "list", "--app", installation.application).out
            #expect(platforms.contains("  devices  ") && platforms.contains("        2  "), "\(platforms)")
        }
    }
}

// MARK: - Devices and the audit log

extension CommandTests.FirstDayCommandTests {
    @Test func `a push's audit line has its receipt id`() async throws {
        try await TestInstallation.with { installation in
            let answer = try await installation.run(
                "push", "--app", installation.application, "--topic", "town", "--body", "Hello", "--json"
            ).out
            let receipt = try #require(try JSONValue(json: answer.utf8)["receipt_id"]?.stringValue)
            let line = try await installation.run("audit", "--action", "push.create").out
            #expect(line.contains("receipt_id=\(receipt)"), "\(line)")
        }
    }

    @Test func `a device is erased with all its data`() async throws {
        try await TestInstallation.with { installation in
            let app = installation.application
            let made: [String: JSON] = try await installation.run(
                "device", "create", "--app", app, "--platform", installation.platform, "--token",
                String(repeating: "ab", count: 32), "--user", "emma", "--alias", "Emmas phone", "--json"
            ).decoded()
            let device = try #require(made["device_uuid"]?.text)
            let erased = try await installation.run("device", "erase", device, "--app", app)
            #expect(erased.status == 0 && erased.out == "erased \(device)\n", "\(erased)")
            let shown = try await installation.run("device", "show", device, "--app", app, "--json")
            #expect(shown.status != 0 && !shown.out.contains("Emmas"), "\(shown)")
        }
    }

    /// As much of a JSON value as is looked at.
    private struct JSON: Decodable {
        let text: String?

        init(from decoder: any Decoder) throws {
            text = try? decoder.singleValueContainer().decode(String.self)
        }
    }

    @Test func `deletions say what --force would delete`() async throws {
        try await TestInstallation.with { installation in
            _ = try await installation.crowd(1)
            for (arguments, words) in [
                (["app", "delete", installation.application], "has a platform: --force"),
                (["platform", "delete", installation.platform], "has active devices: --force"),
            ] {
                let ended = try await installation.run(arguments)
                #expect(ended.status != 0 && ended.err.contains(words), "\(ended)")
            }
        }
    }
}

// MARK: - Small things

extension CommandTests.FirstDayCommandTests {
    @Test func `refusals name the one option that is at fault`() async throws {
        try await TestInstallation.with { installation in
            let openSSL = OpenSSL(scratch: installation.scratch)
            let key = try await openSSL.key("push", curve: "P-256")
            let create = [
                "platform", "create", "--app", installation.application, "--type", "ios", "--mode", "production",
                "--name", "x", "--topic", TestServer.topic, "--apns-key", key,
            ]
            let cases: [([String], String)] = [
                (create + ["--key-id", "A", "--team-id", "ABCDEFGHIJ"], "--key-id cannot be used"),
                (create + ["--key-id", "ABCDEFGHIJ", "--team-id", "B"], "--team-id cannot be used"),
                (
                    create + ["--key-id", "ABCDEFGHIJ", "--team-id", "ABCDEFGHIJ", "--trust-root", key],
                    "--trust-root holds no certificate in PEM"
                ),
                (["admin", "create", "--scope", "sender"], "which needs --tenant or --app"),
                (["location", "create", "--latitude", "nan"], "--latitude has to be a number"),
                (["location", "edit", "1"], "give --name, --latitude, --longitude or --radius"),
                (["topic", "show", ""], "an argument is empty that has to name something"),
                (["campaign", "edit", "", "--body", "x"], "an argument is empty that has to name something"),
                (["schedule", "show", "", "--app", installation.application], "`` is not the id of a schedule"),
                (["channel", "show", "", "--platform", installation.platform], "an argument is empty"),
                (["nodes", "--config", ""], "--config is empty, it has to name a file"),
                (["gateway", "open", "matrix"], "give --platform for each app id"),
                (
                    ["gateway", "open", "matrix", "--platform", "a=\(installation.platform)", "--platform", "a=b"],
                    "--platform names a twice"
                ),
                (["device", "edit", installation.platform], "give --subscribe, --unsubscribe, --user or --alias"),
                (
                    ["admin", "user", "create", "--email", "a@b.example", "--role", "sender"],
                    "--role is sender, which needs --tenant or --app"
                ),
                (
                    [
                        "push", "--app", installation.application, "--topic", "town", "--body", "x", "--send-at",
                        "2199-01-31T09:00",
                    ], "send_at has no time zone: write 2199-01-31T09:00"
                ),
            ]
            for (arguments, words) in cases {
                let ended = try await installation.run(arguments)
                #expect(ended.status != 0 && ended.err.contains(words), "\(arguments): \(ended)")
            }
            for (server, key, words) in [
                ("foo", "key", "--server (or BELFRY_SERVER) is `foo`"),
                ("http://127.0.0.1:1", "", "--server needs an admin key"),
            ] {
                let settings = ["BELFRY_SERVER": server, "BELFRY_ADMIN_KEY": key]
                let ended = try await Program.run(["app", "list"], settings, in: installation.scratch)
                #expect(ended.status != 0 && ended.err.contains(words), "\(ended)")
            }
            let folder = installation.scratch.file("not-there")
            let backup = try await installation.run("backup", "--to", folder + "/copy")
            #expect(backup.status != 0 && backup.err.contains("there is no folder \(folder)"), "\(backup)")
        }
    }

    @Test func `commands say what they did, and what they did not`() async throws {
        try await TestInstallation.with { installation in
            _ = try await installation.crowd(3)
            let app = ["--app", installation.application]
            let list = try await installation.run(["device", "list", "--limit", "2"] + app)
            #expect(list.err == "warning: 2 are shown, and there are more: --limit prints more\n", "\(list)")
            #expect(try await installation.run(["device", "list", "--limit", "3"] + app).err == "")
            let resumed = try await installation.run("platform", "resume", installation.platform)
            #expect(resumed.status == 0 && resumed.out.contains("was not parked"), "\(resumed)")
            let invited = try await Program.run(
                ["admin", "user", "create", "--email", "a@b.example", "--role", "operator"] + installation.storageFlags,
                ["BELFRY_DASHBOARD_PORT": "8443"], in: installation.scratch)
            #expect(invited.out.contains("setup_link  http://127.0.0.1:8443/dashboard/setup"), "\(invited)")
            let made: [String: String] = try await installation.run(
                ["push", "--topic", "town", "--body", "x", "--send-at", "2199-01-31T09:00:00Z", "--json"] + app
            ).decoded()
            let id = try #require(made["schedule_id"])
            #expect(try await installation.run(["schedule", "cancel", id] + app).out == "cancelled \(id)\n")
            #expect(try await installation.run(["schedule", "list"] + app).out.contains("  receipt_id  "))
            let web = try TestInstallation.CreatedPlatform(
                try await installation.run(["platform", "create", "--type", "web", "--name", "Web", "--json"] + app))
            let pages = try await installation.run("platform", "web", web.platform_uuid)
            #expect(pages.status == 0 && pages.out.contains("no page registers browsers"), "\(pages)")
            let copy = installation.scratch.file("copy")
            #expect(try await installation.run("backup", "--to", copy).status == 0)
            let restored = try await installation.run("restore", "--from", copy, "--force")
            #expect(
                restored.status == 0
                    && restored.out.contains("The old files are in \(installation.data)/before-restore-"),
                "\(restored)")
        }
    }

    @Test func `a refusal names the intended field and wrong systems warn`() async throws {
        try await TestInstallation.with { installation in
            let server = try await installation.serve()
            defer { server.endAtOnce() }
            let base = try await server.addresses().http
            for (body, words) in [
                (
                    #"{"message":{"body":"x"},"targets":{"topics":["a"]}}"#,
                    "targets is not a field of a push (is target meant?)"
                ),
                (
                    #"{"message":{"body":"x"},"target":{"topic":["a"]}}"#,
                    "target.topic is not a field of a target (is topics meant?)"
                ),
            ] {
                let reply = try await installation.sender(at: base).send("POST", "/v1/push", body)
                #expect(reply.status == 400 && reply.body.contains(words), "\(reply)")
            }
            let token = String(repeating: "ab", count: 32)
            let misspelt = try await installation.app(at: base).send(
                "POST", "/v1/registration", #"{"registrationToken":"\#(token)"}"#)
            #expect(
                misspelt.status == 400
                    && misspelt.body.contains("registrationToken was ignored (is registration_token meant?)"),
                "\(misspelt)")
            let android = try await installation.app(at: base).send(
                "POST", "/v1/registration", #"{"registration_token":"\#(token)","os":"android"}"#)
            #expect(android.status == 200)
            #expect(android.headers["warning"] == #"299 - "os is android, the platform is of type ios""#, "\(android)")
            try await server.end(SIGTERM)
        }
    }
}

// MARK: - The callers of the APIs

extension CommandTests.FirstDayCommandTests {
    @Test func `a browser subscription as object or text is one device`() async throws {
        try await TestInstallation.with { installation in
            let server = try await installation.serve()
            defer { server.endAtOnce() }
            let base = try await server.addresses().http
            let web = try TestInstallation.CreatedPlatform(
                try await installation.run(
                    "platform", "create", "--app", installation.application, "--type", "web", "--name", "Web", "--json"
                ))
            let app = Caller(base: base, user: web.platform_uuid, secret: web.platform_secret)
            // The base point of P-256, which is on the curve.
            let point = "BGsX0fLhLEJH-Lzm5WOkQPJ3A32BLeszoPShOUXYmMKWT-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU"
            let auth = Data([UInt8](repeating: 2, count: 16)).base64EncodedString()
            let object =
                #"{"endpoint":"https://127.0.0.1:1/1","expirationTime":null,"keys":{"p256dh":"\#(point)","auth":"\#(auth)"}}"#
            let text = object.replacing("\"", with: "\\\"")
            var devices: Set<Substring> = []
            for token in [object, "\"\(text)\""] {
                let reply = try await app.send(
                    "POST", "/v1/registration", #"{"registration_token":\#(token),"os":"web","tags":["town"]}"#)
                #expect(reply.status == 200, "\(reply)")
                devices.insert(try #require(reply.body.firstMatch(of: #/"device_uuid":"([^"]+)"/#)).1)
            }
            #expect(devices.count == 1)
            let device = try #require(devices.first)
            let pushed = try await installation.run(
                "push", "--app", installation.application, "--device", String(device), "--body", "Hello", "--follow")
            #expect(pushed.status == 0 && pushed.out.contains("refused: addressNotAllowed"), "\(pushed)")
            let receipt = try #require(pushed.out.firstMatch(of: #/receipt_id +([0-9a-f-]+)/#)).1
            let story = try await installation.run("receipt", String(receipt), "--device", String(device)).out
            #expect(story.contains("providers.addresses.allow lets it be posted to"), "\(story)")
            let other = try await installation.app(at: base).send(
                "POST", "/v1/registration",
                #"{"registration_token":"\#(String(repeating: "ab", count: 32))","os":"android"}"#)
            #expect(other.status == 200, "\(other)")
            try await eventually("the log tells of it") {
                server.logged.contains("devices register with another system than that of their platform")
            }
            let page = try await Caller(base: server.addresses().management, user: "", secret: "").send(
                "GET", "/metrics")
            #expect(page.body.contains("\nbelfry_registrations_mismatched_os_total 1\n"))
            let phone = try await installation.app(at: base).send(
                "POST", "/v1/registration", #"{"registration_token":{"endpoint":"https://push.example.org/1"}}"#)
            #expect(phone.status == 400 && phone.body.contains("has to be a string, it is an object"), "\(phone)")
            let printed = try await installation.app(at: base).send(
                "POST", "/v1/registration", #"{"registration_token":"<00112233 44556677>"}"#)
            #expect(printed.status == 400 && printed.body.contains("as iOS prints a token"), "\(printed)")
            try await server.end(SIGTERM)
        }
    }

    @Test func `both APIs refuse seconds and warn of misspelt fields`() async throws {
        try await TestInstallation.with { installation in
            let server = try await installation.serve()
            defer { server.endAtOnce() }
            let base = try await server.addresses().http
            let sender = installation.sender(at: base)
            for field in ["expiryTime", "scheduleAt"] {
                let reply = try await sender.send(
                    "POST", "/v1/push",
                    #"{"message":{"body":"x"},"target":{"topics":["town"]},"\#(field)":1800000000}"#)
                #expect(
                    reply.status == 400 && reply.body.contains("\(field) is in seconds; milliseconds are expected"),
                    "\(reply)")
            }
            let warned = try await sender.send(
                "POST", "/v1/push", #"{"message":{"body":"x","boddy":"y"},"target":{"topics":["town"]}}"#)
            #expect(warned.status == 200, "\(warned)")
            #expect(
                warned.headers["warning"]
                    == #"299 - "message.boddy was ignored (is message.body meant?); nobody subscribes to town""#)
            try await eventually("the log tells of it") {
                server.logged.contains("a request was taken that is probably not what its caller meant")
            }
            let key: [String: String] = try await installation.run("admin", "create", "--json").decoded()
            let bearer = ["Authorization": "Bearer \(try #require(key["key"]))"]
            for time in ["1800000000", "1800000000000", "\"soon\""] {
                let reply = try await sender.send(
                    "POST", "/admin/v1/apps/\(installation.application)/pushes",
                    #"{"message":{"body":"x"},"target":{"topics":["town"]},"expires_at":\#(time)}"#, headers: bearer)
                #expect(reply.status == 400 && reply.body.contains("a time such as 2026-01-31T08:30:00Z"), "\(reply)")
            }
            try await server.end(SIGTERM)
        }
    }
}

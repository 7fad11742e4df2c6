import BelfryService
import Foundation
import PostgresRig
import Testing

/// Data of clients of other systems, after the database has moved.
extension CrashTests {
    @Suite(.timeLimit(.minutes(20))) struct OldClientsCopyTests {}
}

extension CrashTests.OldClientsCopyTests {
    @Test func `users, contacts, selectors and badges survive backup and engine changes`()
        async throws
    {
        try await PostgresServer.with { database in
            try await TestInstallation.with { installation in
                let clients = try await OldClients(installation)
                let server = try await installation.serve()
                defer { server.endAtOnce() }
                try await clients.register(at: server.addresses().http)
                let copy = installation.scratch.file("copy")
                #expect(try await installation.run("backup", "--to", copy).status == 0)
                let before = try await clients.known(
                    to: ["--data-directory", installation.data], at: server.addresses().http)
                try await server.end(SIGTERM)
                for words in ["gold", String(repeating: "ab", count: 32), "S1", ",7,mike,", "Lars"] {
                    #expect(before.contains(words), "\(words) is not in \(before)")
                }

                let elsewhere = installation.scratch.file("elsewhere")
                #expect(
                    try await Program.run(
                        ["restore", "--from", copy, "--data-directory", elsewhere], in: installation.scratch
                    ).status == 0)
                try await clients.expect(before, in: ["--data-directory", elsewhere])

                let (file, url) = ("sqlite:\(installation.data)/belfry.sqlite", database.url(of: "postgres"))
                let back = "\(installation.scratch.file("back"))/belfry.sqlite"
                try FileManager.default.createDirectory(
                    atPath: installation.scratch.file("back"), withIntermediateDirectories: true)
                try FileManager.default.copyItem(
                    atPath: installation.data + "/key-ring", toPath: installation.scratch.file("back") + "/key-ring")
                for (from, to) in [(file, url), (url, "sqlite:\(back)")] {
                    let copied = try await Program.run(
                        ["database", "copy", "--from", from, "--to", to, "--keep-source"], in: installation.scratch)
                    #expect(copied.status == 0, "\(copied.err)")
                }
                try await clients.expect(before, in: ["--data-directory", installation.data, "--database", url])
                try await clients.expect(before, in: ["--data-directory", installation.scratch.file("back")])
            }
        }
    }
}

/// An app of each of the other systems, and an operator who asks what is known of its users.
private struct OldClients: Sendable {
    let installation: TestInstallation
    private let genero: String
    private let reporter: String
    private static let apple = String(repeating: "ab", count: 32)
    private static let phone = String(repeating: "cd", count: 32)

    init(_ installation: TestInstallation) async throws {
        self.installation = installation
        let app = installation.application
        let password = try installation.scratch.write("correct horse\n", to: "carma-password")
        func json(_ arguments: [String]) async throws -> JSONValue {
            let ended = try await installation.run(arguments + ["--json"])
            #expect(ended.status == 0, "\(arguments): \(ended.err)")
            return try JSONValue(json: ended.out.utf8)
        }
        genero = try #require(try await json(["genero", "enable", "--app", app])["path"]?.stringValue)
        let key = try await json(["acrobits", "reporter", "create", "--app", app])["key"]?.stringValue
        reporter = "/acrobits/\(try #require(key))/"
        for arguments in [
            ["user", "set", "mike", "--app", app, "--attribute", "plan=gold", "--language", "de-AT"],
            [
                "acrobits", "app-id", "add", "--app", app, "--app-id", "org.example.phone", "--platform",
                installation.platform,
            ],
            ["carma", "account", "create", "--customer-id", "42", "--user", "anna", "--password-file", password],
            ["carma", "app", "create", "--customer-id", "42", "--app-id", "org.example", "--app", app],
        ] { _ = try await json(arguments) }
    }

    func register(at base: String) async throws {
        let anna = Caller(base: base, user: "anna", secret: "correct horse")
        let contact = #"{"originalId":"lars","firstName":"Lars","devicetoken":"\#(Self.apple)"}"#
        let registered = #"{"notification_type":"APNS","registration_token":"\#(Self.token)","app_user":"mike","#
        for (caller, method, path, body) in [
            (anna, "PUT", "/rest/42/apps/org.example/pushdevices", contact),
            (anna, "POST", "/rest/42/lists/1000000001/imports", "{}"),
            (anna, "GET", "\(reporter)?username=ada&selector=S1&token=\(Self.phone)&appid=org.example.phone", nil),
            (anna, "POST", "\(genero)/register", registered + #""badge_number":0}"#),
            (anna, "POST", "\(genero)/badge_number", registered + #""badge_number":7}"#),
        ] {
            let answer = try await caller.send(method, path, body)
            #expect(answer.status == 200, "\(path): \(answer)")
        }
    }

    private static let token = String(repeating: "ef", count: 32)

    /// The output of commands and the API, in one text.
    func known(to flags: [String], at base: String) async throws -> String {
        let app = installation.application
        var words: [String] = []
        for arguments in [
            ["user", "show", "mike", "--app", app, "--json"], ["user", "show", "lars", "--app", app, "--json"],
            ["acrobits", "selector", "S1", "--app", app, "--json"], ["genero", "tokens", "--app", app, "--csv"],
            ["carma", "app", "list", "--json"], ["carma", "account", "list", "--json"],
        ] {
            let ended = try await Program.run(arguments + flags, in: installation.scratch)
            #expect(ended.status == 0, "\(arguments): \(ended.err)")
            words.append(ended.out)
        }
        let anna = Caller(base: base, user: "anna", secret: "correct horse")
        for path in ["apps/org.example/pushdevices/lars", "lists/1000000001/contacts", "batches/1"] {
            words.append(try await anna.send("GET", "/rest/42/\(path)").body)
        }
        return words.joined(separator: "\n")
    }

    func expect(_ before: String, in flags: [String]) async throws {
        let server = try Program.start(
            ["serve"] + flags,
            ["BELFRY_HTTP_PORT": "0", "BELFRY_MANAGEMENT_PORT": "0", "BELFRY_LOG_FORMAT": "json"],
            log: installation.scratch.file("log-\(UUID().uuidString)"))
        defer { server.endAtOnce() }
        #expect(try await known(to: flags, at: server.addresses().http) == before, "\(flags)")
        try await server.end(SIGTERM)
    }
}

import BelfryServer
import BelfrySimulators
import Foundation
import Testing

@testable import BelfryService

/// The commands about credentials, and about the keys that seal them.
extension CommandTests {
    @Suite struct SecretsCommandTests {}
}

extension CommandTests.SecretsCommandTests {
    private struct CreatedKey: Decodable {
        let key: String
    }

    private struct Rotation: Decodable {
        let key: Int
        let resealed: Int
    }

    private struct SealingKey: Decodable, Equatable {
        let id: Int
        let secrets: Int
        let seals: Bool
    }

    @Test func `credentials are tested locally and remotely, notifying nobody`() async throws {
        try await TestInstallation.with { installation in
            let admin: CreatedKey = try await installation.run("admin", "create", "--json").decoded()
            let server = try await installation.serve()
            defer { server.endAtOnce() }
            let base = try await server.addresses().http
            func test() async throws -> [Program.Ended] {
                [
                    try await installation.run("platform", "test", installation.platform),
                    try await Program.run(
                        ["platform", "test", installation.platform, "--server", base], ["BELFRY_ADMIN_KEY": admin.key],
                        in: installation.scratch),
                ]
            }
            installation.simulator.script.answer(
                ScriptedAnswer(.badDeviceToken), for: [String(repeating: "0", count: 64)])
            for ended in try await test() {
                #expect(ended.status == 0 && ended.out == "works\n", "\(ended)")
            }
            installation.simulator.script.add(
                ServiceFault(then: .answer(ScriptedAnswer("InvalidProviderToken", status: 403))))
            for ended in try await test() {
                #expect(
                    ended.status != 0
                        && ended.out.hasPrefix(
                            "refused: APNs answered 403 InvalidProviderToken: the key, the key id and"),
                    "\(ended)")
            }
            #expect(installation.simulator.ledger.totals().told == 0)
            try await server.end(SIGTERM)
        }
    }

    @Test func `an APNs option is refused by name for other types`() async throws {
        try await TestInstallation.with { installation in
            let file = try installation.scratch.write("x", to: "file")
            for (option, value) in [
                ("--trust-root", file), ("--endpoint", "https://localhost"), ("--key-id", "ABCDEFGHIJ"),
                ("--team-id", "ABCDEFGHIJ"), ("--topic", "t"), ("--apns-key", file), ("--apns-certificate", file),
                ("--passphrase-file", file), ("--channels-endpoint", "https://localhost"),
            ] {
                for type in ["web", "android-fcm", "webhook"] {
                    let ended = try await installation.run(
                        "platform", "create", "--app", installation.application, "--type", type, "--mode",
                        "development",
                        "--name", "x", option, value)
                    #expect(
                        ended.status != 0 && ended.err.contains("\(option) is for Apple's platforms"), "\(ended.err)")
                }
            }
            let both = try await installation.run(
                "platform", "credentials", installation.platform, "--credential", "a=b", "--key-id", "x")
            #expect(both.status != 0 && both.err.contains("give --credential or --key-id, not both"), "\(both.err)")
            let shown = try await installation.run("app", "show", installation.application).out
            #expect(!shown.contains(" web "), "\(shown)")
        }
    }

    @Test func `credentials' public part is shown at creation and later`() async throws {
        struct Shown: Decodable {
            let platform_uuid: String
            let `public`: [String: String]
        }
        try await TestInstallation.with { installation in
            let made: Shown = try await installation.run(
                "platform", "create", "--json", "--app", installation.application, "--type", "web", "--mode",
                "production",
                "--name", "Web"
            ).decoded()
            let key = try #require(made.public["vapid_public_key"])
            #expect(key.utf8.count == 87)
            for arguments in [
                ["platform", "show", made.platform_uuid], ["platform", "list", "--app", installation.application],
            ] {
                let told = try await installation.run(arguments)
                #expect(told.out.contains(key), "\(arguments): \(told.out) \(told.err)")
            }
            let words = try await installation.run(
                "platform", "create", "--app", installation.application, "--type", "web", "--mode", "production",
                "--name",
                "W2")
            #expect(words.out.contains("vapid_public_key  B"), "\(words.out)")
            let apple: Shown = try await installation.run("platform", "show", installation.platform, "--json").decoded()
            #expect(apple.public["key_id"]?.utf8.count == 10 && apple.public["team_id"]?.utf8.count == 10)
        }
    }

    private struct ShownPlatform: Decodable {
        let `public`: [String: String]
        let kept_credentials: [String]?
    }

    @Test func `a Web Push contact changes alone; types list their fields`() async throws {
        try await TestInstallation.with { installation in
            let made = try TestInstallation.CreatedPlatform(
                try await installation.run(
                    "platform", "create", "--json", "--app", installation.application, "--type", "web", "--name",
                    "Web", "--credential", "subject=mailto:a@example.org"))
            let web = made.platform_uuid
            func shown() async throws -> [String: String] {
                try await installation.run("platform", "show", web, "--json").decoded(as: ShownPlatform.self).public
            }
            let first = try await shown()
            #expect(first["subject"] == "mailto:a@example.org")

            let ca = try installation.scratch.write(installation.simulator.trustRootPEM, to: "web-ca.pem")
            let rooted = try await installation.run(
                "platform", "credentials", web, "--credential", "trust_root=@\(ca)")
            #expect(rooted.out == "replaced the credentials of \(web); unchanged: subject, vapid_key\n", "\(rooted)")
            let moved = try await installation.run(
                "platform", "credentials", web, "--credential", "subject=mailto:b@example.org")
            #expect(moved.out == "replaced the credentials of \(web); unchanged: trust_root, vapid_key\n", "\(moved)")
            #expect(
                try await shown() == first.merging(["subject": "mailto:b@example.org"]) { _, new in new },
                "the key is the one that browsers subscribed with")
            let bare = try await installation.run(
                "platform", "credentials", web, "--credential", "trust_root=", "--credential", "subject=")
            #expect(bare.out == "replaced the credentials of \(web); unchanged: vapid_key\n", "\(bare)")
            #expect(try await shown()["subject"] == nil)

            let nothing = try await installation.run("platform", "credentials", web)
            #expect(
                nothing.status != 0 && nothing.err.contains("fields of type web are vapid_key, subject, trust_root"),
                "\(nothing.err)")
            let apple = try await installation.run("platform", "credentials", installation.platform)
            #expect(apple.status != 0 && apple.err.contains("give --apns-key with --key-id and --team-id"), "\(apple)")
            let foreign = try await installation.run("platform", "credentials", web, "--topic", "org.example")
            #expect(foreign.status != 0 && foreign.err.contains("--topic is for Apple's platforms"), "\(foreign)")
        }
    }

    @Test func `each node gets a sealing key before its use`() async throws {
        try await TestInstallation.with { installation in
            try await installation.withResources { resources in
                for host in ["one", "two"] {
                    try await resources.store.recordHeartbeat(
                        NodeReport(uuid: UUID(), host: host, address: "http://\(host):8080", version: "1"))
                }
            }
            let refused = try await installation.run("keys", "rotate")
            #expect(refused.status != 0 && refused.err.contains("2 nodes are up"), "\(refused)")
            #expect(refused.err.contains("http://one:8080") && refused.err.contains("`belfry keys add`"), "\(refused)")
            let added = try await installation.run("keys", "add")
            #expect(added.status == 0 && added.out.contains("copy the ring to every other node"), "\(added)")
            let rotation: Rotation = try await installation.run("keys", "rotate", "--no-new-key", "--json").decoded()
            #expect(rotation.key == 2, "the one that was added")
        }
    }

    @Test func `a ring from before a rotation is identified safely`() async throws {
        try await TestInstallation.with { installation in
            let ring = URL(filePath: installation.data + "/key-ring")
            let old = try Data(contentsOf: ring)
            let rotated = try await installation.run("keys", "rotate")
            #expect(rotated.status == 0, "\(rotated)")
            let new = try Data(contentsOf: ring)
            try old.write(to: ring)
            for command in ["check", "serve"] {
                let ended = try await installation.run(command)
                #expect(ended.status != 0 && ended.err.contains("it lacks key 2, with which"), "\(ended)")
            }
            try Data((1...2).map { "\($0):\(String(repeating: "0\($0)", count: 32))\n" }.joined().utf8).write(to: ring)
            let foreign = try await installation.run("check")
            #expect(foreign.status != 0 && foreign.err.contains("is of another database"), "\(foreign)")
            try FileManager.default.removeItem(at: ring)
            let missing = try await installation.run("check")
            #expect(missing.err.contains("is missing") && missing.err.contains("after the last `belfry keys rotate`"))
            try new.write(to: ring)
            try Data().write(to: ring.appendingPathExtension("new"))
            let left = try await installation.run("keys", "add")
            #expect(left.status != 0 && left.err.contains("delete \(ring.path).new"), "\(left)")
            #expect(try Data(contentsOf: ring) == new)
            #expect(try await installation.run("check").status == 0)
        }
    }

    @Test func `a new APNs key needs no topic; answers say so`() async throws {
        try await TestInstallation.with { installation in
            let admin: CreatedKey = try await installation.run("admin", "create", "--json").decoded()
            let old = try await installation.run("platform", "show", installation.platform, "--json")
                .decoded(as: ShownPlatform.self).public
            let key = installation.scratch.file("key.p8")
            let replaced = try await installation.run(
                "platform", "credentials", installation.platform, "--apns-key", key, "--key-id",
                try #require(old["key_id"]), "--team-id", try #require(old["team_id"]))
            #expect(replaced.out.hasSuffix("; unchanged: endpoint, topic, trust_root\n"), "\(replaced)")
            #expect(
                try await installation.run("platform", "show", installation.platform, "--json")
                    .decoded(as: ShownPlatform.self).public == old)

            let web = try TestInstallation.CreatedPlatform(
                try await installation.run(
                    "platform", "create", "--json", "--app", installation.application, "--type", "web", "--name",
                    "Web", "--credential", "subject=mailto:a@example.org")
            ).platform_uuid
            let server = try await installation.serve()
            defer { server.endAtOnce() }
            let caller = Caller(base: try await server.addresses().http, user: "", secret: "")
            let answer = try await caller.send(
                "PUT", "/admin/v1/platforms/\(web)/credentials", #"{"credentials":{"subject":null}}"#,
                headers: ["Authorization": "Bearer \(admin.key)"])
            let shown = try JSONDecoder().decode(ShownPlatform.self, from: Data(answer.body.utf8))
            #expect(shown.kept_credentials == ["vapid_key"] && shown.public["subject"] == nil, "\(answer)")
            try await server.end(SIGTERM)
        }
    }

    @Test
    func `resealing beside a server drops the old key once unused`()
        async throws
    {
        try await TestInstallation.with { installation in
            let crowd = try await installation.crowd(3)
            let server = try await installation.serve()
            defer { server.endAtOnce() }
            try await expectTold(crowd, at: server, installation)
            let early = try await installation.run("keys", "drop", "1")
            #expect(early.status != 0, "the key is in use")

            let rotation: Rotation = try await installation.run("keys", "rotate", "--json").decoded()
            #expect(rotation.key == 2 && rotation.resealed >= 2)
            let keys: [SealingKey] = try await installation.run("keys", "list", "--json").decoded()
            #expect(
                keys == [
                    SealingKey(id: 1, secrets: 0, seals: false),
                    SealingKey(id: 2, secrets: rotation.resealed, seals: true),
                ])
            let late = try await installation.run("keys", "drop", "1")
            #expect(late.status == 0, "\(late.err)")
            try await expectTold(crowd, at: server, installation)
            try await server.end(SIGTERM)

            let next = try await installation.serve()
            defer { next.endAtOnce() }
            try await expectTold(crowd, at: next, installation)
            try await next.end(SIGTERM)
        }
    }

    @Test func `expiring credentials are in metrics and log`() async throws {
        try await TestInstallation.with { installation in
            let p12 = try await OpenSSL(scratch: installation.scratch).p12(
                "apple", topic: TestServer.topic, days: 10, passphrase: "geheim")
            let passphrase = try installation.scratch.write("geheim", to: "passphrase")
            let platform = try TestInstallation.CreatedPlatform(
                try await installation.run(
                    "platform", "create", "--json", "--app", installation.application, "--type", "ios", "--mode",
                    "production", "--name", "old", "--apns-certificate", p12, "--passphrase-file", passphrase,
                    "--topic",
                    TestServer.topic)
            ).platform_uuid
            let server = try await installation.serve()
            defer { server.endAtOnce() }
            let metrics = Caller(base: try await server.addresses().management, user: "", secret: "")
            try await eventually("the metrics tell") {
                try await metrics.send("GET", "/metrics").body.contains("belfry_credentials_days 9.0\n")
            }
            try await eventually("the log tells of it") {
                server.logged.contains("the credentials of a platform expire soon") && server.logged.contains(platform)
            }
            try await server.end(SIGTERM)
        }
    }

    private func expectTold(_ crowd: Crowd, at server: Program, _ installation: TestInstallation) async throws {
        let push = try await installation.sender(at: try await server.addresses().http).push("Hello", toTopic: "town")
        #expect(try await installation.settled(push).counts == ["accepted": crowd.count])
    }
}

import BelfryServer
import BelfryService
import BelfrySimulators
import BelfryTesting
import Foundation
import Testing

/// The commands on a server elsewhere, and the keys they need there.
extension ServerTests {
    @Suite struct RemoteTests {}
}

extension ServerTests.RemoteTests {
    private struct CreatedKey: Decodable {
        let key_id: String
        let key: String
    }

    @Test func `a command prints alike remotely and locally`() async throws {
        try await TestInstallation.with { installation in
            let key: CreatedKey = try await installation.run("admin", "create", "--json").decoded()
            let server = try await installation.serve()
            defer { server.endAtOnce() }
            let base = try await server.addresses().http
            let keyFile = try installation.scratch.write(key.key + "\n", to: "operator.key")
            func remote(_ arguments: String...) async throws -> Program.Ended {
                try await Program.run(
                    arguments + ["--server", base.uppercased() + "/", "--key-file", keyFile], in: installation.scratch)
            }
            let token = String(repeating: "ab", count: 32)
            _ = try await installation.app(at: base).send(
                "POST", "/v1/registration", #"{"registration_token":"\#(token)","tags":["town"]}"#)
            let push = try await remote(
                "push", "--app", installation.application, "--topic", "town", "--body", "Hello", "--follow", "--json")
            let receipt = try TestInstallation.ReceiptDetails(push)
            #expect(receipt.state == "settled" && receipt.counts == ["accepted": 1])
            for arguments in [
                ["app", "list"], ["app", "list", "--json"], ["app", "show", installation.application],
                ["app", "show", installation.application, "--json"], ["platform", "show", installation.platform],
                ["platform", "list", "--app", installation.application, "--json"], ["receipt", receipt.receipt_id],
                ["receipt", receipt.receipt_id, "--json"], ["write-off", receipt.receipt_id],
                ["cancel", receipt.receipt_id], ["cancel", receipt.receipt_id, "--json"],
                ["device", "list", "--app", installation.application],
                ["topic", "list", "--app", installation.application],
                ["device", "list", "--app", installation.application, "-q", "abab", "--json"],
                ["topic", "show", "town", "--app", installation.application, "--json"],
                ["schedule", "list", "--app", installation.application, "--state", "ended"],
            ] {
                let here = try await installation.run(arguments)
                let there = try await Program.run(
                    arguments, ["BELFRY_SERVER": base, "BELFRY_ADMIN_KEY": key.key], in: installation.scratch)
                #expect(there.status == 0, "\(arguments): \(there.err)")
                #expect(there.out == here.out, "\(arguments)")
            }
            // The second finds its webhook by another request.
            for words in ["webhook create crm --url https://crm.invalid/ --kinds *", "webhook pause crm"] {
                let ended = try await Program.run(
                    words.split(separator: " ").map(String.init)
                        + ["--app", installation.application, "--server", base, "--key-file", "-"],
                    in: installation.scratch, behind: ["sh", "-c", "exec \"$0\" \"$@\" < '\(keyFile)'"])
                #expect(ended.status == 0, "\(words): \(ended)")
            }
            let created = try await remote("app", "create", "--name", "Dairy", "--json")
            let app = try TestInstallation.Created(created).app_uuid
            #expect(try await remote("app", "delete", app).status == 0)
            try await server.end(SIGTERM)
            #expect(!server.logged.contains(key.key))
        }
    }

    @Test func `lost answers double no push and end no following`() async throws {
        try await TestInstallation.with { installation in
            _ = try await installation.crowd(1)
            installation.simulator.script.add(
                ServiceFault(then: .answer(ScriptedAnswer("InternalServerError", status: 500))))
            let key: CreatedKey = try await installation.run("admin", "create", "--json").decoded()
            let server = try await installation.serve()
            defer { server.endAtOnce() }
            let base = try await server.addresses().http
            let relay = try await Relay.open(to: .port(try #require(URL(string: base)?.port)))
            let push = ["push", "--app", installation.application, "--topic", "town", "--body", "Hello"]
            let environment = ["BELFRY_SERVER": "http://127.0.0.1:\(relay.port)", "BELFRY_ADMIN_KEY": key.key]
            relay.become(.unanswered)
            let lost = try await Program.run(push, environment, in: installation.scratch)
            #expect(
                lost.status != 0 && lost.err.contains("it is not known whether the request took effect"), "\(lost)")
            #expect(relay.lostAnswers >= 2, "it is asked again")
            let audit = try await installation.run("audit", "--action", "push.create", "--json").out
            #expect(audit.components(separatedBy: "push.create").count == 2, "one push: \(audit)")
            relay.become(.fair)
            let following = try Program.start(
                push + ["--follow"], environment, log: installation.scratch.file("following"))
            defer { following.endAtOnce() }
            try await eventually("its receipt is named") {
                following.logged.contains(#/receipt_id  [0-9a-f-]{36}\n/#)
            }
            let before = relay.lostAnswers
            relay.become(.unanswered)
            try await eventually("looks have no answer") { relay.lostAnswers >= before + 3 }
            #expect(following.isRunning, "\(following.logged)")
            try await following.end(SIGKILL)
            await relay.close()
            try await server.end(SIGTERM)
        }
    }

    @Test func `a command says why a remote server cannot do it`() async throws {
        try await TestInstallation.with { installation in
            let server = try await installation.serve()
            defer { server.endAtOnce() }
            let base = try await server.addresses().http
            let reader: CreatedKey = try await installation.run(
                "admin", "create", "--scope", "read-only", "--app", installation.application, "--json"
            ).decoded()
            func run(_ key: String?, _ arguments: String..., at base: String) async throws -> String {
                var environment: [String: String] = [:]
                environment["BELFRY_ADMIN_KEY"] = key
                let ended = try await Program.run(
                    arguments + ["--server", base], environment, in: installation.scratch)
                #expect(ended.status != 0)
                return ended.err
            }
            let wrong = AdminKey.Text(id: reader.key_id, secret: String(repeating: "0", count: 64)).text
            #expect(try await run(wrong, "app", "list", at: base).contains("Authentication failed"))
            let small = try await run(
                reader.key, "push", "--app", installation.application, "--everyone", "--yes", "--body", "Hello",
                at: base)
            #expect(small.contains("its scope is read-only"), "\(small)")
            #expect(try await run(nil, "app", "list", at: base).contains("BELFRY_ADMIN_KEY"))
            #expect(try await run(wrong, "app", "list", at: "ftp://somewhere").contains("http://host:port"))
            try await TestReceiver.with { other in
                #expect(try await run(wrong, "app", "list", at: other.url).contains("does not speak the admin API"))
                let topics = try await run(wrong, "topic", "list", "--app", installation.application, at: other.url)
                #expect(topics.contains("its answer has no topics"), "\(topics)")
            }
            try await server.end(SIGTERM)
            #expect(try await run(wrong, "app", "list", at: base).contains("does not answer"))
        }
    }

    @Test func `the first start writes an operator key, later ones nothing`() async throws {
        try await TestInstallation.with { installation in
            let file = installation.data + "/" + InitialAdminKey.fileName
            for _ in 0..<2 {
                let server = try await installation.serve()
                defer { server.endAtOnce() }
                let base = try await server.addresses().http
                let key = try String(contentsOfFile: file, encoding: .utf8).trimmingCharacters(in: .newlines)
                let listed = try await Program.run(
                    ["app", "list", "--server", base, "--key-file", file], in: installation.scratch)
                #expect(listed.status == 0, "\(listed.err)")
                #expect(!server.logged.contains(key))
                try await server.end(SIGTERM)
            }
            let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            let listed = try await installation.run("admin", "list", "--json")
            #expect(listed.out.components(separatedBy: "\"key_id\"").count == 2, "one key: \(listed.out)")
        }
    }

    @Test func `keys are rotated and revoked, and tenants made, locally`() async throws {
        try await TestInstallation.with { installation in
            let key: CreatedKey = try await installation.run("admin", "create", "--json").decoded()
            let rotated: CreatedKey = try await installation.run("admin", "rotate", key.key_id, "--json").decoded()
            #expect(rotated.key_id == key.key_id && rotated.key != key.key)
            #expect(try await installation.run("admin", "revoke", key.key_id).status == 0)
            #expect(try await installation.run("admin", "list").out.contains("revoked"))
            #expect(try await installation.run("admin", "revoke", "nobody").status != 0)
            #expect(try await installation.run("tenant", "create", "--name", "Dairy").status == 0)
            let tenants = try await installation.run("tenant", "list").out
            #expect(tenants.contains("Dairy") && tenants.contains("default"))
            let bad = try await installation.run("admin", "create", "--scope", "sender")
            #expect(bad.status != 0 && bad.err.contains("needs --tenant or --app"), "\(bad.err)")
        }
    }
}

import ArgumentParser
import BelfryServer
import BelfryService
import FoundationEssentials

struct AdminCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "admin",
        abstract: """
            Make, list, rotate and revoke the keys of the admin API, and the people of the dashboard, on this machine.
            """,
        subcommands: [Create.self, List.self, Rotate.self, Revoke.self, User.self])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make an admin key; it is shown once.",
            discussion: "Without --scope it is an operator's, which may do everything for all tenants.")

        @OptionGroup var common: CommonOptions
        @OptionGroup var output: OutputOptions
        @Option(help: "The display name.") var name = "operator"
        @Option(help: "operator, tenant-admin, app-admin, sender or read-only.") var scope = "operator"
        @Option(help: "The tenant it is bound to.", transform: UUID.parse) var tenant: UUID?
        @Option(help: "The application it is bound to.", transform: UUID.parse) var app: UUID?

        func run() async throws {
            let scope = try AdminKey.Scope(argument: scope)
            guard tenant == nil || app == nil else { throw ValidationError("give --tenant or --app, not both") }
            let created = try await common.withOperatorService { operatorService in
                try await AdminKey.Scope.inWordsOfOptions("--scope") {
                    try await operatorService.createKey(
                        name: try Name(name), scope: scope, tenant: tenant, application: app)
                }
            }
            let fields = [("key_id", created.key.id), ("scope", scope.rawValue), ("key", created.text.text)]
            try output.show(Dictionary(uniqueKeysWithValues: fields), fields)
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List all admin keys, without their secrets, and what each is bound to.")

        @OptionGroup var backend: BackendOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let rows = try await backend.withBackend {
                try await $0.all("keys") { (page: Admin.KeysReply) in (page.keys, page.next_cursor) }
            }
            try output.show(rows, ["key_id", "scope", "name", "bound_to", "last_used_at", "state"]) {
                [$0.key_id, $0.scope, $0.name, $0.boundTo, $0.last_used_at ?? "never", $0.state]
            }
        }
    }

    struct Rotate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Give a key a new secret; it is shown once.")

        @OptionGroup var common: CommonOptions
        @OptionGroup var output: OutputOptions
        @Argument(help: "The key's id.") var keyID: String
        @OptionGroup var grace: GraceOptions

        func run() async throws {
            let (text, endedEarly) = try await common.withOperatorService { operatorService in
                try await operatorService.rotateKey(keyID, grace: grace.duration)
            }
            GraceOptions.warn(endedEarly: endedEarly?.text)
            try await common.warn(
                ofKeyFile: text.id, "still holds the old secret: write the new one into it, or delete it")
            var fields = [("key_id", text.id), ("key", text.text)]
            if output.json {
                if let endedEarly { fields.append(("grace_ended_early", endedEarly.text)) }
                return try Output.json(Dictionary(uniqueKeysWithValues: fields))
            }
            Output.fields(fields)
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Refuse a key from now on, for good.")

        @OptionGroup var common: CommonOptions
        @Argument(help: "The key's id.") var keyID: String

        func run() async throws {
            let revokedAt = try await common.withOperatorService { try await $0.revokeKey(keyID) }
            let id = AdminKey.Text.id(in: keyID)
            try await common.warn(ofKeyFile: id, "holds the revoked key: delete it")
            print(revokedAt.map { "\(id) was revoked already, at \($0.text)" } ?? "revoked \(id)")
        }
    }
}

extension CommonOptions {
    /// Warns of the file that the first start of a server wrote, if it holds the key.
    fileprivate func warn(ofKeyFile keyID: String, _ words: String) async throws {
        let path =
            try await configuration(unknownVariables: .told { _ in }).storage.directory + "/" + InitialAdminKey.fileName
        guard let held = try? String(contentsOfFile: path, encoding: .utf8), held.hasPrefix("bfy_\(keyID)_") else {
            return
        }
        Notice.show("\(path) \(words)")
    }
}

extension Admin.KeyReply {
    fileprivate var boundTo: String {
        // The key of an application that was deleted is revoked, and its row names the tenant alone.
        let mayBeOfDeletedApp = revoked_at != nil && scope != AdminKey.Scope.tenantAdmin.rawValue
        return app_uuid.map { "app \($0)" }
            ?? tenant_uuid.map { "tenant \($0)\(mayBeOfDeletedApp ? ", or a deleted app of it" : "")" } ?? "everything"
    }

    fileprivate var state: String {
        if revoked_at != nil { return "revoked" }
        return previous_secret_until.map { "active; the old secret until \($0)" } ?? "active"
    }
}

extension AdminKey.Scope {
    /// A fault of a scope and its bounds names the options of the command.
    static func inWordsOfOptions<Value>(_ option: String, _ work: () async throws -> Value) async throws -> Value {
        do { return try await work() } catch let error as InvalidInput where error.field == "scope" {
            let words = [
                "neither tenant nor application": "neither --tenant nor --app", "a tenant": "--tenant",
                "an application": "--app",
            ]
            throw ValidationError("\(option) " + words.reduce(error.problem) { $0.replacing($1.key, with: $1.value) })
        }
    }

    init(argument: String, option: String = "--scope") throws {
        guard let scope = AdminKey.Scope(rawValue: argument) else {
            let known = AdminKey.Scope.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("\(option) is `\(argument)`, it has to be one of: \(known)")
        }
        self = scope
    }
}

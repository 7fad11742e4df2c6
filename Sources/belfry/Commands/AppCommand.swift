import ArgumentParser
import BelfryService
import FoundationEssentials

struct AppCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app", abstract: "Create, list, show, edit and delete applications, and replace their secrets.",
        subcommands: [Create.self, List.self, Show.self, Edit.self, Rotate.self, Delete.self])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create an application; its secrets are shown once.",
            discussion: """
                An application that moves in from another server keeps its UUID, API key and shared secret, so that its back ends \
                and apps go on unchanged: docs/Migration.md.
                """)

        @OptionGroup var backend: BackendOptions
        @OptionGroup var output: OutputOptions
        @Option(help: "The display name.") var name: String
        @Option(help: "A description for people.") var description: String?
        @Option(help: "The tenant that owns it. [default: the first]", transform: UUID.parse) var tenant: UUID?
        @Option(help: "The UUID it had on another server.", transform: UUID.parse) var uuid: UUID?
        @Option(help: ArgumentHelp("A file with the API key it had on another server.", valueName: "file"))
        var apiKeyFile: String?
        @Option(
            help: ArgumentHelp("A file with the shared secret it had on another server, in hex.", valueName: "file"))
        var sharedSecretFile: String?

        func run() async throws {
            var body: JSONObject = ["name": .string(name)]
            body.set("description", description)
            body.set("tenant_uuid", tenant?.lowercased)
            body.set("app_uuid", uuid?.lowercased)
            body.set("api_key", try apiKeyFile.map { try SecretFile.contents(of: $0, for: "--api-key-file") })
            body.set(
                "shared_secret",
                try sharedSecretFile.map { try SecretFile.contents(of: $0, for: "--shared-secret-file") })
            let created: Admin.ApplicationReply = try await backend.withBackend {
                try await AdminThing(backend: $0, path: "apps", name: "tenant \(tenant?.lowercased ?? "")")
                    .answer("POST", "", body)
            }
            var fields = [("app_uuid", created.app_uuid)]
            if apiKeyFile == nil { fields.append(("api_key", created.api_key ?? "")) }
            if sharedSecretFile == nil { fields.append(("shared_secret", created.shared_secret ?? "")) }
            try output.show(created, fields)
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List all applications.")

        @OptionGroup var backend: BackendOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let rows = try await backend.withBackend { try await $0.applications() }
            try output.show(rows, ["app_uuid", "name", "created_at"]) { [$0.app_uuid, $0.name, $0.created_at] }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show an application with its platforms.")

        @OptionGroup var backend: BackendOptions
        @OptionGroup var output: OutputOptions
        @Argument(help: "The application's UUID.", transform: UUID.parse) var app: UUID

        func run() async throws {
            let details = try await backend.withBackend { try await $0.application(app) }
            if output.json { return try Output.json(details) }
            let (application, platforms) = (details.application, details.platforms)
            Output.fields([
                ("app_uuid", application.app_uuid), ("name", application.name),
                ("description", application.description), ("created_at", application.created_at),
                ("quiet_hours", application.quiet_hours?.words ?? ""),
                ("caps", application.caps.map(\.words).joined(separator: " ")),
            ])
            guard !platforms.isEmpty else { return }
            print("")
            Output.table(
                ["platform_uuid", "type", "mode", "name", "devices", "state"],
                platforms.map { [$0.platform_uuid, $0.type, $0.mode, $0.name, $0.devicesInWords, $0.stateInShort] })
            for platform in platforms where !platform.parked.isEmpty || !platform.parked_services.isEmpty {
                Output.fields([("", ""), ("platform_uuid", platform.platform_uuid), ("state", platform.stateAndCause)])
            }
        }
    }

    struct Edit: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Change an application's name, description or settings.")

        @OptionGroup var backend: BackendOptions
        @OptionGroup var output: OutputOptions
        @Argument(help: "The application's UUID.", transform: UUID.parse) var app: UUID
        @Option(help: "The display name.") var name: String?
        @Option(help: "A description for people; empty removes it.") var description: String?
        @Option(
            help: ArgumentHelp(
                "Whether PCF's API ignores fields that it does not know, as PCF did, instead of refusing the push.",
                valueName: "true|false"))
        var ignoreUnknownFields: Bool?
        @Option(
            help: ArgumentHelp(
                "Hours in which devices are left alone, by their own clocks, such as 22:00-08:00; users takes only those of users, none "
                    + "removes them.", valueName: "hours"))
        var quietHours: String?
        @Option(help: "What a push does in quiet hours: wait, skip or passive. [default: wait]") var quietThen: String?
        @Option(help: ArgumentHelp("Of devices whose time zone is not known. [default: UTC]", valueName: "zone"))
        var quietZone: String?
        @Option(
            help: ArgumentHelp(
                "The most pushes that a user gets, such as 2/day or marketing:1/week; may be given several times, none removes all.",
                valueName: "cap"))
        var cap: [String] = []
        @Option(
            help: ArgumentHelp(
                "Whether a second person has to approve a campaign before it starts.", valueName: "true|false"))
        var campaignApproval: Bool?
        @Option(
            help: ArgumentHelp(
                "Whether devices get endpoints for application servers that speak Web Push; vapid: which have to prove who they are.",
                valueName: "off|on|vapid"))
        var webPushEndpoints: String?
        @Option(
            help: ArgumentHelp(
                "Whether only messages are taken that are encrypted for each device.", valueName: "true|false"))
        var encryptedOnly: Bool?
        @Option(
            help: ArgumentHelp(
                "What a device shows if it cannot decrypt a message; empty for the default, \(EncryptedContent.alertByDefault).",
                valueName: "text"))
        var encryptedAlert: String?

        func validate() throws {
            guard quietHours != nil || quietThen == nil && quietZone == nil else {
                throw ValidationError("--quiet-then and --quiet-zone go with --quiet-hours")
            }
        }

        func run() async throws {
            var edit: JSONObject = [:]
            if let quietHours { edit["quiet_hours"] = try quiet(quietHours) }
            if !cap.isEmpty {
                edit["caps"] = .array(
                    try cap == ["none"] ? [] : cap.map { try FrequencyCap(words: $0, field: "--cap").json })
            }
            edit.set("name", try name.map { try Name($0).text })
            edit.set("description", try description.map { try Description($0).text })
            edit["ignores_unknown_fields"] = ignoreUnknownFields.map(JSONValue.bool)
            edit["campaign_approval"] = campaignApproval.map(JSONValue.bool)
            edit["web_push_endpoints"] = webPushEndpoints.map(JSONValue.string)
            edit["encrypted_only"] = encryptedOnly.map(JSONValue.bool)
            edit["encrypted_alert"] = encryptedAlert.map(JSONValue.string)
            guard !edit.isEmpty else {
                throw ValidationError(
                    "give --name, --description, --ignore-unknown-fields, --quiet-hours, --cap, --campaign-approval, "
                        + "--web-push-endpoints, --encrypted-only or --encrypted-alert")
            }
            let edited: Admin.ApplicationReply = try await backend.withBackend {
                try await $0.app(app).answer("PATCH", "", edit)
            }
            if output.json { return try Output.json(edited) }
            Output.fields([
                ("app_uuid", edited.app_uuid), ("name", edited.name), ("description", edited.description),
                ("ignores_unknown_fields", String(edited.ignores_unknown_fields)),
                ("quiet_hours", edited.quiet_hours?.words ?? ""),
                ("caps", edited.caps.map(\.words).joined(separator: " ")),
                ("campaign_approval", String(edited.campaign_approval)),
                ("web_push_endpoints", edited.web_push_endpoints),
                ("encrypted_only", String(edited.encrypted_only)), ("encrypted_alert", edited.encrypted_alert),
            ])
        }

        private func quiet(_ hours: String) throws -> JSONValue {
            guard hours != "none" else { return .null }
            var members: JSONObject = [:]
            if hours != "users" {
                guard let own = DayHours(hours) else {
                    throw ValidationError("--quiet-hours takes hours such as 22:00-08:00, users or none")
                }
                (members["from"], members["to"]) = (.string(own.fromText), .string(own.toText))
            }
            members["then"] = quietThen.map(JSONValue.string)
            members["time_zone"] = quietZone.map(JSONValue.string)
            return .object(members)
        }
    }

    struct Rotate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Give an application a new API key or shared secret; it is shown once.",
            subcommands: [APIKey.self, SharedSecret.self])

        struct APIKey: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                commandName: "api-key", abstract: "Give an application a new API key.")

            @OptionGroup var backend: BackendOptions
            @OptionGroup var output: OutputOptions
            @OptionGroup var grace: GraceOptions
            @Argument(help: "The application's UUID.", transform: UUID.parse) var app: UUID

            func run() async throws {
                let reply: Admin.ApplicationReply = try await backend.withBackend {
                    try await $0.app(app).answer("POST", "/api-key", grace.members)
                }
                GraceOptions.warn(endedEarly: reply.grace_ended_early)
                try output.show(reply, [("app_uuid", reply.app_uuid), ("api_key", reply.api_key ?? "")])
            }
        }

        struct SharedSecret: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                commandName: "shared-secret",
                abstract: "Give an application a new shared secret, which signs custom user ids.")

            @OptionGroup var backend: BackendOptions
            @OptionGroup var output: OutputOptions
            @OptionGroup var grace: GraceOptions
            @Argument(help: "The application's UUID.", transform: UUID.parse) var app: UUID

            func run() async throws {
                let reply: Admin.ApplicationReply = try await backend.withBackend {
                    try await $0.app(app).answer("POST", "/shared-secret", grace.members)
                }
                GraceOptions.warn(endedEarly: reply.grace_ended_early)
                try output.show(reply, [("app_uuid", reply.app_uuid), ("shared_secret", reply.shared_secret ?? "")])
            }
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Delete an application that has no platforms; with --force any, with its platforms, devices and pushes."
        )

        @OptionGroup var backend: BackendOptions
        @Argument(help: "The application's UUID.", transform: UUID.parse) var app: UUID
        @Flag(help: "Delete it with its platforms, their devices and all pushes, for good.") var force = false

        func run() async throws {
            try await backend.withBackend { try await $0.app(app).ask("DELETE", "?force=\(force)") }
            print("deleted \(app.lowercased)")
        }
    }
}

extension UUID {
    static func parse(_ text: String) throws -> UUID {
        guard let uuid = UUID(uuidString: text) else { throw ValidationError("`\(text)` is not a UUID") }
        return uuid
    }

    /// The id of a receipt. Throws for the id of a schedule, with a message of its own.
    static func parseReceipt(_ text: String) throws -> UUID {
        guard UUID(uuidString: text) == nil, Key<Schedule>(id: text) != nil else { return try parse(text) }
        throw ValidationError(
            "`\(text)` is the id of a schedule, whose push has no receipt before it is sent: `belfry schedule show \(text)` shows it, "
                + "`belfry schedule cancel \(text)` cancels it")
    }
}

import ArgumentParser
import BelfryProviders
import BelfryServer
import BelfryService
import Foundation

struct PlatformCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "platform",
        abstract:
            "Create, list, show, edit and delete platforms, replace and test their credentials, resume parked ones, let web pages register.",
        subcommands: [
            Create.self, List.self, Show.self, Edit.self, Credentials.self, Test.self, Resume.self, Delete.self,
            PlatformWebCommand.self,
        ])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create a platform; its secret is shown once.",
            discussion: """
                For ios and its kin, one for each use of a token (ios-voip, ios-liveactivity, ...), give --topic, and either --apns-key (a .p8) with --key-id and --team-id, or --apns-certificate (a .p12). \
                For android-fcm give --credential service_account=@key.json, the private key that the Firebase console makes under \
                "Service accounts" (google-services.json is for the app, and holds none); for android that or \
                gcm_api_key=@file, for huawei app_id=… and app_secret=@file; web needs none. docs/Providers.md lists the fields of all.
                """)

        @OptionGroup var backend: BackendOptions
        @OptionGroup var output: OutputOptions
        @OptionGroup var application: AppOption
        @Option(help: ArgumentHelp("One of \(PlatformKind.allCases.map(\.rawValue).joined(separator: ", "))."))
        var type: String
        @Option(help: "development or production; may be left out where the provider keeps none apart.")
        var mode: String?
        @Option(help: "The display name.") var name: String
        @Option(help: "A description for people.") var description: String?
        @Option(help: "The UUID it had on another server.", transform: UUID.parse) var uuid: UUID?
        @Option(help: ArgumentHelp("A file with the secret it had on another server.", valueName: "file"))
        var secretFile: String?
        @OptionGroup var credentials: CredentialArguments

        func run() async throws {
            guard let kind = PlatformKind(rawValue: type) else {
                throw ValidationError(unknown: "type", type, PlatformKind.allCases, meant: PlatformKind.meant(by: type))
            }
            var body: JSONObject = ["type": .string(kind.rawValue), "name": .string(name)]
            body.set("mode", try mode.map { try Platform.Mode(argument: $0).rawValue })
            body.set("description", description)
            body.set("platform_uuid", uuid?.lowercased)
            body.set("platform_secret", try secretFile.map { try SecretFile.contents(of: $0, for: "--secret-file") })
            body["credentials"] = .object(JSONObject(try entered(for: kind)))
            let created: Admin.PlatformReply = try await backend.withBackend { [body] backend in
                let app = try await application.uuid(from: backend)
                return try await credentials.spelled {
                    try await backend.app(app).answer("POST", "/platforms", body)
                }
            }
            var fields = [("platform_uuid", created.platform_uuid)]
            if secretFile == nil { fields.append(("platform_secret", created.platform_secret ?? "")) }
            try output.show(created, fields + created.published)
        }

        /// A platform of Apple's needs credentials; of the other types some need none, and all refuse APNs' options.
        private func entered(for kind: PlatformKind) throws -> [String: JSONValue] {
            if kind.isReachedByAPNs { return try credentials.read() }
            try credentials.apns.refuse(for: kind)
            return try credentials.readIfAny()
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the platforms of an application.")

        @OptionGroup var backend: BackendOptions
        @OptionGroup var output: OutputOptions
        @OptionGroup var application: AppOption

        func run() async throws {
            let rows = try await backend.withBackend { backend in
                try await backend.application(try await application.uuid(from: backend)).platforms
            }
            try output.show(
                rows, ["platform_uuid", "type", "mode", "name", "devices", "state", "expires", "public"]
            ) { row in
                [
                    row.platform_uuid, row.type, row.mode, row.name, row.devicesInWords, row.stateAndCause,
                    row.credentials_expire_at ?? "", row.published.map { "\($0)=\($1)" }.joined(separator: " "),
                ]
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a platform, with the public part of its credentials.")

        @OptionGroup var backend: BackendOptions
        @OptionGroup var output: OutputOptions
        @Argument(help: "The platform's UUID.", transform: UUID.parse) var platform: UUID

        func run() async throws {
            let row: Admin.PlatformReply = try await backend.withBackend {
                try await $0.platform(platform).answer("GET")
            }
            var fields = [
                ("platform_uuid", row.platform_uuid), ("type", row.type), ("mode", row.mode), ("name", row.name),
                ("description", row.description), ("devices", row.devicesInWords), ("state", row.stateAndCause),
            ]
            if row.unseen_devices > 0 {
                fields.append(("unseen_devices", row.unseen_devices.counted(to: Device.unseenCountMax)))
            }
            if let expiry = row.credentials_expire_at { fields.append(("credentials_expire_at", expiry)) }
            try output.show(row, fields + row.published + (row.web.map { $0.fields } ?? []))
        }
    }

    struct Edit: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Change a platform's name, description or mode.",
            discussion: "Its credentials stay: those of APNs are good for both modes where they are a key.")

        @OptionGroup var backend: BackendOptions
        @OptionGroup var output: OutputOptions
        @Argument(help: "The platform's UUID.", transform: UUID.parse) var platform: UUID
        @Option(help: "The display name.") var name: String?
        @Option(help: "A description for people; empty removes it.") var description: String?
        @Option(help: "development or production.") var mode: String?

        func run() async throws {
            var edit: JSONObject = [:]
            edit.set("name", try name.map { try Name($0).text })
            edit.set("description", try description.map { try Description($0).text })
            edit.set("mode", try mode.map { try Platform.Mode(argument: $0).rawValue })
            guard !edit.isEmpty else { throw ValidationError("give --name, --description or --mode") }
            let edited: Admin.PlatformReply = try await backend.withBackend { [edit] in
                try await $0.platform(platform).answer("PATCH", "", edit)
            }
            if output.json { return try Output.json(edited) }
            Output.fields([
                ("platform_uuid", edited.platform_uuid), ("name", edited.name), ("description", edited.description),
                ("mode", edited.mode),
            ])
        }
    }

    struct Credentials: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Replace a platform's credentials; batches that waited for them go on.",
            discussion: """
                Fields that hold no secret (subject, topic, endpoint, trust_root, …) stay as they are unless they are named; an empty \
                one takes it away: --credential trust_root=, --trust-root ''. Secrets have to be given again, but for the key of Web Push, \
                to which its subscriptions are bound. The contact of Web Push alone: --credential subject=mailto:ops@example.org.
                """)

        @OptionGroup var backend: BackendOptions
        @Argument(help: "The platform's UUID.", transform: UUID.parse) var platform: UUID
        @OptionGroup var credentials: CredentialArguments

        func run() async throws {
            let reply: Admin.PlatformReply = try await backend.withBackend { backend in
                let known: Admin.PlatformReply = try await backend.platform(platform).answer("GET")
                // A server of a later version may have more types; it knows their fields.
                let entered =
                    try PlatformKind(rawValue: known.type).map(credentials.read(replacing:)) ?? credentials.read()
                return try await credentials.spelled {
                    try await backend.platform(platform).answer(
                        "PUT", "/credentials", ["credentials": .object(JSONObject(entered))])
                }
            }
            let kept = reply.kept_credentials ?? []
            let rest = kept.isEmpty ? "" : "; unchanged: \(kept.joined(separator: ", "))"
            print("replaced the credentials of \(platform.lowercased)\(rest)")
        }
    }

    struct Test: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Ask the provider whether it accepts a platform's credentials; no device is notified.",
            discussion: "Exits with 0 if it does, with 1 if it does not or cannot be reached.")

        @OptionGroup var backend: BackendOptions
        @Argument(help: "The platform's UUID.", transform: UUID.parse) var platform: UUID

        func run() async throws {
            let (test, isLocal): (Admin.CredentialsTestReply, Bool) = try await backend.withBackend { backend in
                let isLocal = if case .local = backend { true } else { false }
                return (try await backend.platform(platform).answer("POST", "/credentials/test"), isLocal)
            }
            print(test.detail.map { "\(test.result): \($0)" } ?? test.result)
            if isLocal, test.detail?.contains("is not public") == true {
                Notice.show(
                    "this command goes by its own settings; where the server has other ones, give the command the same: its file with "
                        + "--config (providers.addresses.allow), its environment as BELFRY_PROVIDERS_ADDRESSES_ALLOW")
            }
            guard test.result == "works" else { throw ExitCode.failure }
        }
    }

    struct Resume: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Resume a parked platform.")

        @OptionGroup var backend: BackendOptions
        @Argument(help: "The platform's UUID.", transform: UUID.parse) var platform: UUID

        func run() async throws {
            let wasParked = try await backend.withBackend { backend in
                let before: Admin.PlatformReply = try await backend.platform(platform).answer("GET")
                let wasParked = !before.parked.isEmpty || !before.parked_services.isEmpty
                try await backend.platform(platform).ask("POST", "/resume")
                return wasParked
            }
            print(
                wasParked
                    ? "resumed \(platform.lowercased)" : "\(platform.lowercased) was not parked; nothing was changed")
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a platform that has no active devices; with --force any, with its devices.")

        @OptionGroup var backend: BackendOptions
        @Argument(help: "The platform's UUID.", transform: UUID.parse) var platform: UUID
        @Flag(help: "Delete it with its active devices, for good.") var force = false

        func run() async throws {
            let path = "platforms/\(platform.lowercased)\(force ? "?force=true" : "")"
            _ = try await backend.withBackend { try await $0.ask("DELETE", path) }
            print("deleted \(platform.lowercased)")
        }
    }
}

extension Platform.Mode {
    init(argument: String) throws {
        guard let mode = Platform.Mode(rawValue: argument) else {
            throw ValidationError(unknown: "mode", argument, Platform.Mode.allCases)
        }
        self = mode
    }
}

extension ValidationError {
    init<Choice: RawRepresentable<String>>(
        unknown option: String, _ value: String, _ choices: [Choice], meant: String? = nil
    ) {
        let known = choices.map(\.rawValue)
        let hint = (meant ?? known.nearest(to: value)).map { " (is \($0) meant?)" } ?? ""
        self.init("--\(option) is `\(value)`\(hint), it has to be one of: \(known.joined(separator: ", "))")
    }
}

/// `belfry platform web`: which web pages may register browsers on a platform of type web.
struct PlatformWebCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "web", abstract: "Let web pages register browsers on a platform, or end that.",
        discussion: """
            Prints the registration key, which a page gives to belfry.js: it is no secret, and only registers. What is not said stays \
            as it is; without options it shows what is. docs/SDK.md takes a page from nothing to its first push.
            """)

    @OptionGroup var backend: BackendOptions
    @OptionGroup var output: OutputOptions
    @Argument(help: "The platform's UUID.", transform: UUID.parse) var platform: UUID
    @Option(help: ArgumentHelp("A site whose pages may register; may be repeated.", valueName: "https://host"))
    var origin: [String] = []
    @Flag(inversion: .prefixedNo, help: "Register a browser only once it has returned the content of a push.")
    var proof: Bool?
    @Flag(help: "Replace the registration key; pages with the present one are refused.") var newKey = false
    @Flag(help: "Let no page register any more. Browsers that are registered stay.") var end = false

    func validate() throws {
        guard !end || origin.isEmpty && proof == nil && !newKey else {
            throw ValidationError("--end goes with none of --origin, --proof and --new-key")
        }
    }

    func run() async throws {
        if end {
            try await backend.withBackend { try await $0.platform(platform).ask("DELETE", "/web") }
            print("no page registers browsers on \(platform.lowercased) any more")
            return
        }
        guard !origin.isEmpty || proof != nil || newKey else { return try await show() }
        var edit: JSONObject = ["new_key": .bool(newKey)]
        edit.set("origins", try origin.map { try WebOrigin($0, field: "--origin").text })
        edit["proof"] = proof.map(JSONValue.bool)
        let reply: Admin.PlatformReply = try await backend.withBackend { [edit] in
            try await $0.platform(platform).answer("PUT", "/web", edit)
        }
        try output.show(reply, [("platform_uuid", reply.platform_uuid)] + (reply.web.map { $0.fields } ?? []))
    }

    /// Prints the present settings.
    private func show() async throws {
        let reply: Admin.PlatformReply = try await backend.withBackend {
            try await $0.platform(platform).answer("GET")
        }
        if output.json { return try Output.json(reply) }
        Output.fields(
            [("platform_uuid", reply.platform_uuid)]
                + (reply.web.map { $0.fields } ?? [
                    ("web", "no page registers browsers; --origin https://host lets its pages")
                ]))
    }
}

extension Admin.WebAccessReply {
    /// The fields for people, one below the other.
    var fields: [(String, String)] {
        [
            ("registration_key", registration_key), ("origins", origins.joined(separator: " ")),
            ("proof", proof ? "required" : "not required"),
        ]
    }
}

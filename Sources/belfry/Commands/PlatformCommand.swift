import ArgumentParser
import BelfryAPI
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
        @Option(help: "What people want to know of it.") var description: String?
        @Option(help: "The UUID it had on another server.", transform: UUID.parse) var uuid: UUID?
        @Option(help: ArgumentHelp("A file with the secret it had on another server.", valueName: "file"))
        var secretFile: String?
        @OptionGroup var credentials: CredentialArguments

        func run() async throws {
            guard let kind = PlatformKind(rawValue: type) else {
                throw ValidationError(unknown: "type", type, PlatformKind.allCases, meant: PlatformKind.meant(by: type))
            }
            let draft = PlatformDraft(
                kind: kind, mode: try mode.map { try Platform.Mode(argument: $0) }, name: name,
                description: description,
                uuid: uuid, secret: try secretFile.map { try SecretFile.contents(of: $0, for: "--secret-file") },
                credentials: try entered(for: kind))
            let created = try await backend.withBackend { backend in
                let app = try await application.uuid(from: backend)
                return try await credentials.spelled { try await backend.createPlatform(draft, of: app) }
            }
            if output.json { return try Output.json(created) }
            var fields = [("platform_uuid", created.platform_uuid)]
            if secretFile == nil { fields.append(("platform_secret", created.platform_secret ?? "")) }
            Output.fields(fields + created.published)
        }

        /// A platform of Apple's needs credentials; of the other types some need none, and all refuse APNs' options.
        private func entered(for kind: PlatformKind) throws -> [String: JSONValue] {
            if kind.isApple { return try credentials.read() }
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
            if output.json { return try Output.json(rows) }
            Output.table(
                ["platform_uuid", "type", "mode", "name", "devices", "state", "expires", "public"],
                rows.map { row in
                    [
                        row.platform_uuid, row.type, row.mode, row.name, row.devicesInWords, row.stateAndCause,
                        row.credentials_expire_at ?? "", row.published.map { "\($0)=\($1)" }.joined(separator: " "),
                    ]
                })
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a platform, with the public part of its credentials.")

        @OptionGroup var backend: BackendOptions
        @OptionGroup var output: OutputOptions
        @Argument(help: "The platform's UUID.", transform: UUID.parse) var platform: UUID

        func run() async throws {
            let row = try await backend.withBackend { try await $0.platform(platform) }
            if output.json { return try Output.json(row) }
            var fields = [
                ("platform_uuid", row.platform_uuid), ("type", row.type), ("mode", row.mode), ("name", row.name),
                ("description", row.description), ("devices", row.devicesInWords), ("state", row.stateAndCause),
            ]
            if row.unseen_devices > 0 { fields.append(("unseen_devices", row.unseen_devices.grouped)) }
            if let expiry = row.credentials_expire_at { fields.append(("credentials_expire_at", expiry)) }
            Output.fields(fields + row.published + (row.web.map { $0.fields } ?? []))
        }
    }

    struct Edit: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Change a platform's name, description or mode.",
            discussion: "Its credentials stay: those of APNs are good for both modes where they are a key.")

        @OptionGroup var backend: BackendOptions
        @OptionGroup var output: OutputOptions
        @Argument(help: "The platform's UUID.", transform: UUID.parse) var platform: UUID
        @Option(help: "What people call it.") var name: String?
        @Option(help: "What people want to know of it; empty takes it away.") var description: String?
        @Option(help: "development or production.") var mode: String?

        func run() async throws {
            let edit = PlatformEdit(
                name: try name.map { try Name($0) }, description: try description.map { try Description($0) },
                mode: try mode.map { try Platform.Mode(argument: $0) })
            guard !edit.isEmpty else { throw ValidationError("give --name, --description or --mode") }
            let edited = try await backend.withBackend { try await $0.edit(platform, edit) }
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
            let kept = try await backend.withBackend { backend in
                let type = try await backend.platform(platform).type
                // A server of a later version may have more types; it knows their fields.
                let entered = try PlatformKind(rawValue: type).map(credentials.read(replacing:)) ?? credentials.read()
                return try await credentials.spelled {
                    try await backend.replaceCredentials(of: platform, with: entered)
                }
            }
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
            let (test, isLocal) = try await backend.withBackend {
                (try await $0.testCredentials(of: platform), $0 is LocalBackend)
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
                let before = try await backend.platform(platform)
                let wasParked = !before.parked.isEmpty || !before.parked_services.isEmpty
                try await backend.resume(platform)
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
            _ = try await backend.withBackend { try await $0.ask("DELETE", path, nil) }
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

/// The command line arguments for the credentials of APNs.
struct APNsArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The signing key that Apple's developer site hands out once, in PEM; with --key-id and --team-id.",
            valueName: "AuthKey_….p8"))
    var apnsKey: String?
    @Option(help: "The key's id, ten characters: those in the file's name, and on the page of the key.") var keyID:
        String?
    @Option(help: "The team's id, ten characters: on Apple's page \"Membership details\".") var teamID: String?
    @Option(
        help: ArgumentHelp(
            "Instead of a key: the client certificate with its private key, as PKCS #12. A certificate and key in PEM become one with "
                + "`openssl pkcs12 -export -in cert.pem -inkey key.pem -out push.p12`.", valueName: "push.p12"))
    var apnsCertificate: String?
    @Option(
        help: ArgumentHelp("A file that holds the passphrase of the .p12; - is standard input.", valueName: "file"))
    var passphraseFile: String?
    @Option(help: ArgumentHelp("The app's bundle id.", valueName: "bundle")) var topic: String?
    @Option(help: ArgumentHelp("Another APNs, for tests, or port 2197.", valueName: "https://host:port"))
    var endpoint: String?
    @Option(
        help: ArgumentHelp(
            "Another endpoint for managing broadcast channels, for tests.", valueName: "https://host:port"))
    var channelsEndpoint: String?
    @Option(help: ArgumentHelp("Certificates to trust instead of the system's.", valueName: "ca.pem"))
    var trustRoot: String?

    /// The given options, as they are spelled.
    var given: [String] {
        let options = [
            ("--apns-key", apnsKey), ("--key-id", keyID), ("--team-id", teamID),
            ("--apns-certificate", apnsCertificate),
            ("--passphrase-file", passphraseFile), ("--topic", topic), ("--endpoint", endpoint),
            ("--channels-endpoint", channelsEndpoint), ("--trust-root", trustRoot),
        ]
        return options.filter { $0.1 != nil }.map(\.0)
    }

    var isEmpty: Bool { given.isEmpty }

    /// Advice on the equivalent of an option for platforms of other types.
    func advice(instead option: String) -> String {
        let field = field(instead: option).map { "where the type has it, it is given as \($0)" }
        return (field ?? "give its credentials as --credential field=value") + "; docs/Providers.md lists the fields"
    }

    /// The `--credential` that stands for an option; nil where there is none.
    func field(instead option: String) -> String? {
        switch option {
        case "--endpoint": endpoint.map { "--credential endpoint=\($0)" }
        case "--trust-root": trustRoot.map { "--credential trust_root=@\($0)" }
        default: nil
        }
    }

    /// Throws `ValidationError` when one was given for a platform that is not Apple's.
    func refuse(for kind: PlatformKind) throws {
        guard !kind.isApple, let option = given.first else { return }
        throw ValidationError(
            "\(option) is for Apple's platforms and has no meaning for type \(kind.rawValue): "
                + advice(instead: option))
    }

    /// Reads the files. Throws `ValidationError` when the options are inconsistent.
    func read() throws -> [String: JSONValue] {
        guard topic != nil else { throw ValidationError("give --topic, the app's bundle id") }
        return try readReplacement()
    }

    /// Reads the credentials as `read` does, for a platform that has a topic already.
    func readReplacement() throws -> [String: JSONValue] {
        let entered = APNsPlatformCredentials(
            identity: try identity(), topic: topic ?? "", endpoint: endpoint,
            trustRootsPEM: try trustRoot.map {
                // An empty one is to go.
                $0.isEmpty
                    ? "" : String(decoding: try InputFile.contents(of: $0, for: "--trust-root"), as: UTF8.self)
            },
            channelsEndpoint: channelsEndpoint
        ).entered
        return entered.filter { $0.key != "topic" || topic != nil }
    }

    /// Names a refused field by its option.
    static func spelled<Value>(_ work: () async throws -> Value) async throws -> Value {
        do {
            return try await work()
        } catch let error as InvalidInput {
            let field = error.field.replacing("credentials.", with: "").replacing("_", with: "-")
            guard error.field.hasPrefix("credentials.") else { throw error }
            throw InvalidInput(field: field == "passphrase" ? "--passphrase-file" : "--\(field)", error.problem)
        }
    }

    private func identity() throws -> APNsPlatformCredentials.Identity {
        switch (apnsKey, apnsCertificate) {
        case (let key?, nil):
            guard let keyID, let teamID else { throw ValidationError("--apns-key needs --key-id and --team-id") }
            guard passphraseFile == nil else { throw ValidationError("--passphrase-file is for --apns-certificate") }
            return .key(
                p8: String(decoding: try InputFile.contents(of: key, for: "--apns-key"), as: UTF8.self), keyID: keyID,
                teamID: teamID)
        case (nil, let certificate?):
            guard keyID == nil, teamID == nil else {
                throw ValidationError("--key-id and --team-id are for --apns-key")
            }
            let passphrase = try passphraseFile.map {
                String(decoding: try InputFile.contents(of: $0, for: "--passphrase-file"), as: UTF8.self)
            }
            return .certificate(
                p12: Array(try InputFile.contents(of: certificate, for: "--apns-certificate")),
                passphrase: passphrase?.trimmingCharacters(in: .newlines) ?? "")
        case (nil, nil): throw ValidationError("give --apns-key or --apns-certificate")
        case (_?, _?): throw ValidationError("give --apns-key or --apns-certificate, not both")
        }
    }

}

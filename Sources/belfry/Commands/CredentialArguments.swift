import ArgumentParser
import BelfryProviders
import BelfryServer
import BelfryService
import Foundation

/// The command line arguments for the credentials of any provider.
struct CredentialArguments: ParsableArguments {
    @OptionGroup(title: "APNs credentials") var apns: APNsArguments

    @Option(
        name: .customLong("credential"),
        help: ArgumentHelp(
            "A field of another provider's credentials, such as service_account=@key.json for FCM. May be repeated.",
            discussion: "With @ the value is what the file holds, which hides it from other users.",
            valueName: "field=value|field=@file"))
    var fields: [String] = []

    func validate() throws {
        guard fields.isEmpty || apns.isEmpty else {
            let advice = apns.given.compactMap { apns.field(instead: $0) }
            throw ValidationError(
                "give --credential or \(apns.given.joined(separator: ", ")), not both"
                    + (advice.isEmpty ? "" : "; beside --credential it is \(advice.joined(separator: ", "))"))
        }
    }

    /// The given credentials, if any. Throws `ValidationError` when they are inconsistent.
    func readIfAny() throws -> [String: JSONValue] { try fields.isEmpty && apns.isEmpty ? [:] : read() }

    /// The given credentials, which are required.
    func read() throws -> [String: JSONValue] { fields.isEmpty ? try apns.read() : try fieldsRead() }

    /// The given credentials in place of those of a platform of the type, of which some stay where they are not named.
    func read(replacing kind: PlatformKind) throws -> [String: JSONValue] {
        guard !fields.isEmpty || !apns.isEmpty else { throw ValidationError(Self.wanted(of: kind)) }
        if apns.isEmpty { return try fieldsRead() }
        try apns.refuse(for: kind)
        return try apns.readReplacement()
    }

    /// The options that a platform of the type takes, for a command that was given none.
    private static func wanted(of kind: PlatformKind) -> String {
        let staying = "what is left out stays, but for secrets, which have to be given again"
        if kind.isReachedByAPNs {
            return "give --apns-key with --key-id and --team-id, or --apns-certificate, and --topic if it changes; "
                + staying
        }
        guard let provider = kind.provider else {
            return "nothing to replace: platforms of type \(kind.rawValue) take no credentials"
        }
        return "give --credential field=value or field=@file; the fields of type \(kind.rawValue) are "
            + "\(provider.fields.joined(separator: ", ")); "
            + (kind == .web ? "what is left out stays, the key too" : staying)
    }

    /// Names a refused field as it is given: as an option of its own, or as a `--credential`.
    func spelled<Value>(_ work: () async throws -> Value) async throws -> Value {
        guard apns.isEmpty else { return try await APNsArguments.spelled(work) }
        do {
            return try await work()
        } catch let error as InvalidInput where error.field.hasPrefix("credentials.") {
            throw InvalidInput(
                field: error.field.replacing("credentials.", with: "--credential ", maxReplacements: 1), error.problem)
        }
    }

    private func fieldsRead() throws -> [String: JSONValue] {
        var entered: [String: JSONValue] = [:]
        for field in fields {
            let parts = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty else {
                throw ValidationError("--credential is `\(parts[0])`, it has to be field=value or field=@file")
            }
            entered[String(parts[0])] = .string(try value(String(parts[1]), of: String(parts[0])))
        }
        return entered
    }

    private func value(_ text: String, of field: String) throws -> String {
        guard text.hasPrefix("@") else {
            guard !FileManager.default.fileExists(atPath: text) else {
                throw ValidationError(
                    "--credential \(field)=\(text) is the name of a file: write \(field)=@\(text) to give what it holds"
                )
            }
            return text
        }
        let data = try InputFile.contents(of: String(text.dropFirst()), for: "--credential \(field)")
        return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .newlines)
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
        guard !kind.isReachedByAPNs, let option = given.first else { return }
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

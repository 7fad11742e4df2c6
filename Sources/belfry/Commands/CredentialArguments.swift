import ArgumentParser
import BelfryProviders
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
    func readIfAny() throws -> [String: JSONValue] {
        if !fields.isEmpty { return try fieldsRead() }
        return apns.isEmpty ? [:] : try apns.read()
    }

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
        if kind.isApple {
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

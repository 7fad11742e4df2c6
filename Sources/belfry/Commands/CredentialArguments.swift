import ArgumentParser
import BelfryCore
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

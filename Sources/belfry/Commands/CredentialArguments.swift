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
            throw ValidationError("give --credential or \(apns.given.joined(separator: ", ")), not both")
        }
    }

    /// The given credentials, if any. Throws `ValidationError` when they are inconsistent.
    func readIfAny() throws -> [String: JSONValue] {
        if !fields.isEmpty { return try fieldsRead() }
        return apns.isEmpty ? [:] : try apns.read()
    }

    /// The given credentials, which are required.
    func read() throws -> [String: JSONValue] { fields.isEmpty ? try apns.read() : try fieldsRead() }

    /// Names a refused field as it was given.
    func spelled<Value>(_ work: () async throws -> Value) async throws -> Value {
        fields.isEmpty ? try await APNsArguments.spelled(work) : try await work()
    }

    private func fieldsRead() throws -> [String: JSONValue] {
        var entered: [String: JSONValue] = [:]
        for field in fields {
            let parts = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty else {
                throw ValidationError("--credential is `\(parts[0])`, it has to be field=value or field=@file")
            }
            entered[String(parts[0])] = .string(try value(String(parts[1])))
        }
        return entered
    }

    private func value(_ text: String) throws -> String {
        guard text.hasPrefix("@") else { return text }
        let path = String(text.dropFirst())
        guard let data = FileManager.default.contents(atPath: path) else {
            throw ValidationError("\(path) cannot be read")
        }
        return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .newlines)
    }
}

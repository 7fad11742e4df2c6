import Foundation

/// The form for the credentials of a type of platform, as its provider declares it.
enum CredentialFields {
    static let kinds = PlatformKind.offeredFirst + PlatformKind.offeredLater

    static func explanation(of kind: PlatformKind) -> String { kind.traits.credentialsHelp }

    static func fields(of kind: PlatformKind) -> [Field] { kind.traits.credentials.map(Field.credential) }

    /// The form's names for fields that errors of credentials name.
    static func names(of kind: PlatformKind) -> [String: String] {
        let fields = kind.traits.credentials + kind.traits.rareCredentials
        return Dictionary(fields.map { ("credentials.\($0.name)", $0.name) }) { first, _ in first }
    }

    /// Fields for tests and for gateways of one's own.
    static func rareFields(of kind: PlatformKind) -> [Field] { kind.traits.rareCredentials.map(Field.credential) }

    /// The entered values, in the form that the admin API takes.
    static func entered(_ form: FormData, of kind: PlatformKind) -> [String: JSONValue] {
        var entered: [String: JSONValue] = [:]
        for field in kind.traits.credentials + kind.traits.rareCredentials {
            if case .file(_, let isBinary) = field.input {
                guard let file = form.file(field.name) else { continue }
                entered[field.name] = .string(
                    isBinary ? Data(file).base64EncodedString() : String(decoding: file, as: UTF8.self))
            } else if !form[field.name].isEmpty {
                let isSecret = if case .secret = field.input { true } else { false }
                entered[field.name] = .string(isSecret ? form.raw(field.name) : form[field.name])
            }
        }
        return entered
    }
}

extension Field {
    fileprivate static func credential(_ field: CredentialField) -> Field {
        func text(_ type: String, _ autocomplete: String = "off") -> Field {
            .text(
                field.name, field.label, hint: field.hint, isRequired: field.isRequired, type: type,
                autocomplete: autocomplete, placeholder: field.placeholder)
        }
        return switch field.input {
        case .text: text("text")
        case .secret: text("password", "new-password")
        case .url: text("url")
        case .file(let accept, _):
            .file(field.name, field.label, accept: accept, hint: field.hint, isRequired: field.isRequired)
        }
    }
}

/// The facts that lists and pages show of a platform's credentials. They are stored with the credentials, so that no reader opens those.
package struct CredentialFacts: Sendable, Hashable {
    /// When the provider will stop accepting them; nil where they do not say.
    package let expiresAt: Instant?
    /// The public part, by name: values that apps need, the key's id for operators, and faults of the credentials.
    package let published: [String: String]

    /// The facts of platforms that have no credentials, or none that were examined yet.
    package static let none = CredentialFacts(expiresAt: nil, published: [:])

    package init(expiresAt: Instant?, published: [String: String]) {
        self.expiresAt = expiresAt
        self.published = published
    }

    /// Decodes the stored form. Throws `InvalidInput` if it is malformed.
    package init(stored text: String) throws(InvalidInput) {
        var expiresAt: Instant?
        var published: [String: String] = [:]
        try JSONReader.document(Array(text.utf8)) { reader, name throws(InvalidInput) in
            switch name {
            case "expires_at_ms": expiresAt = try reader.integer(name).map { Instant(milliseconds: $0) }
            case "public":
                for (name, value) in try reader.members(name) ?? [:] { published[name] = value.stringValue }
            default: try reader.skip()
            }
        }
        self.init(expiresAt: expiresAt, published: published)
    }

    /// The stored form.
    package var storedText: String {
        JSONValue.object([
            "expires_at_ms": expiresAt.map { .integer($0.milliseconds) } ?? .null,
            "public": .object(JSONObject(published)),
        ]).storedText
    }
}

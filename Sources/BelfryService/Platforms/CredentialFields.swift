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

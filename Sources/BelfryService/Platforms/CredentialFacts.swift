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

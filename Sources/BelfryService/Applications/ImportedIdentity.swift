package import FoundationEssentials

// The UUID of an application or a platform at another server, and the secrets that apps and back ends hold for it. Only
// operators may give them: a UUID does not show who may have it. Parts that are nil are made here.

/// The identity that an application brings along.
package struct ApplicationIdentity: Sendable, Hashable {
    package let uuid: UUID?
    package let apiKey: ImportedSecret?
    /// The bytes that the hex digits of the shared secret stand for.
    package let sharedSecret: [UInt8]?

    /// HMAC-SHA256 takes keys of any length; one of more bytes is no stronger. Source: RFC 2104 §3.
    package static let sharedSecretBytes = 8...128

    package init(uuid: UUID? = nil, apiKey: String? = nil, sharedSecret: String? = nil) throws(InvalidInput) {
        self.uuid = uuid
        self.apiKey = if let apiKey { try ImportedSecret(apiKey, field: "api_key") } else { nil }
        self.sharedSecret = if let sharedSecret { try Self.bytes(ofSharedSecret: sharedSecret) } else { nil }
    }

    private static func bytes(ofSharedSecret text: String) throws(InvalidInput) -> [UInt8] {
        guard let bytes = [UInt8](hex: text.utf8), sharedSecretBytes.contains(bytes.count) else {
            throw InvalidInput(
                field: "shared_secret",
                "has to be \(2 * sharedSecretBytes.lowerBound) to \(2 * sharedSecretBytes.upperBound) hex digits, an even number"
            )
        }
        return bytes
    }

    package var isEmpty: Bool { uuid == nil && apiKey == nil && sharedSecret == nil }
}

/// The identity that a platform brings along.
package struct PlatformIdentity: Sendable, Hashable {
    package let uuid: UUID?
    package let secret: ImportedSecret?

    package init(uuid: UUID? = nil, secret: String? = nil) throws(InvalidInput) {
        self.uuid = uuid
        self.secret = if let secret { try ImportedSecret(secret, field: "platform_secret") } else { nil }
    }

    package var isEmpty: Bool { uuid == nil && secret == nil }
}

/// An API key or a platform secret of another server. Only its hash is kept.
package struct ImportedSecret: Sendable, Hashable {
    package let text: String

    /// A UUID's text has 36; a secret shorter than this could be guessed.
    package static let characters = 16...255

    package init(_ text: String, field: String) throws(InvalidInput) {
        guard Self.characters.contains(text.utf8.count), text.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
            throw InvalidInput(
                field: field,
                "has to be \(Self.characters.lowerBound) to \(Self.characters.upperBound) visible ASCII characters")
        }
        self.text = text
    }
}

package import FoundationEssentials

/// The access of a web site's pages that register browsers on a platform: a key that every visitor can read, and the sites that may
/// use it.
package struct WebAccess: Sendable, Hashable {
    package let key: RegistrationKey
    package let origins: [WebOrigin]
    /// Whether a browser has to return the content of a push before it is registered.
    package let provesRegistrations: Bool

    /// The most sites that one platform serves.
    package static let originsMax = 64

    package init(
        key: RegistrationKey, origins: [WebOrigin], provesRegistrations: Bool = true
    ) throws(InvalidInput) {
        guard 1...Self.originsMax ~= origins.count else {
            throw InvalidInput(field: "origins", "has \(origins.count) origins, it takes 1 to \(Self.originsMax)")
        }
        self.key = key
        self.origins = origins
        self.provesRegistrations = provesRegistrations
    }

    /// Decodes the stored form. Throws `InvalidInput` if it is malformed.
    package init(stored text: String) throws(InvalidInput) {
        var key: RegistrationKey?
        var origins: [WebOrigin] = []
        var provesRegistrations = true
        try JSONReader.document(Array(text.utf8)) { reader, name throws(InvalidInput) in
            switch name {
            case "key": key = try reader.string(name).flatMap { RegistrationKey($0) }
            case "origins": for origin in try reader.strings(name) ?? [] { origins.append(try WebOrigin(origin)) }
            case "proof": provesRegistrations = try reader.bool(name) ?? true
            default: try reader.skip()
            }
        }
        guard let key else { throw InvalidInput(field: "key", "is not a registration key") }
        try self.init(key: key, origins: origins, provesRegistrations: provesRegistrations)
    }

    /// The stored form.
    package var storedText: String {
        JSONValue.object([
            "key": .string(key.text), "origins": .strings(origins.map(\.text)), "proof": .bool(provesRegistrations),
        ]).storedText
    }
}

/// Names a web platform in a page and lets the page register browsers there, and nothing else. It is no secret.
///
/// Its text is `pk_`, the platform's UUID and 16 random bytes, in hex digits: a replaced key is refused, and a platform is found by it
/// without an index.
package struct RegistrationKey: Sendable, Hashable {
    package let text: String
    package let platform: UUID

    private static let prefix = "pk_"

    /// A new key for a platform.
    package init(for platform: UUID, random: UUID) {
        self.platform = platform
        text = Self.prefix + (platform.bytes + random.bytes).hex
    }

    /// nil for anything that is not the text of a key.
    package init?(_ text: String) {
        guard text.hasPrefix(Self.prefix), text.utf8.count == Self.prefix.utf8.count + 64,
            let bytes = [UInt8](hex: Array(text.utf8.dropFirst(Self.prefix.utf8.count))), bytes.count == 32,
            let platform = bytes[..<16].withUnsafeBytes(UUID.init(bytes:))
        else { return nil }
        self.text = text
        self.platform = platform
    }
}

/// The scheme, host and port of a web site, as browsers write them in the `Origin` header.
///
/// Source: RFC 6454 §6.1.
package struct WebOrigin: Sendable, Hashable {
    package let text: String

    package static let bytesMax = 300

    /// Browsers give no subscriptions to sites without TLS, except on their own machine.
    ///
    /// Source: W3C, "Secure Contexts" §3.1.
    package init(_ written: String, field: String = "origins") throws(InvalidInput) {
        let text = written.lowercased()
        guard let authority = Self.authority(of: text), Self.isPlain(authority) else {
            throw InvalidInput(
                field: field,
                "is '\(written.prefix(Self.bytesMax))', it has to be https://host or https://host:port without a path, "
                    + "or http:// with localhost, 127.0.0.1 or [::1]")
        }
        self.text = text.hasSuffix(":443") && text.hasPrefix("https") ? String(text.dropLast(4)) : text
    }

    private static func authority(of text: String) -> Substring? {
        guard text.utf8.count <= bytesMax else { return nil }
        if text.hasPrefix("https://") { return text.dropFirst(8) }
        guard text.hasPrefix("http://") else { return nil }
        let authority = text.dropFirst(7)
        let isLocal = ["localhost", "127.0.0.1", "[::1]"].contains { authority == $0 || authority.hasPrefix("\($0):") }
        return isLocal ? authority : nil
    }

    private static func isPlain(_ authority: Substring) -> Bool {
        let isNamed = authority.utf8.first.map { $0 != UInt8(ascii: ":") } ?? false
        return isNamed
            && authority.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x61...0x7A: true
                default: "-._:[]".utf8.contains(byte)
                }
            }
    }
}

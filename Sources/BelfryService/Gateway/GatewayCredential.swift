/// A client certificate that senders of the binary gateway present: it chooses the platform.
package struct GatewayCredential: Sendable, Hashable {
    package let key: Key<GatewayCredential>
    package let platform: Key<Platform>
    /// SHA-256 of the certificate in DER.
    package let fingerprint: [UInt8]
    /// nil when it is not known.
    package let expiresAt: Instant?
    package let createdAt: Instant

    package static let fingerprintBytes = 32
    /// The most credentials of one platform.
    package static let countMax = 100

    package init(
        key: Key<GatewayCredential>, platform: Key<Platform>, fingerprint: [UInt8], expiresAt: Instant?,
        createdAt: Instant
    ) {
        self.key = key
        self.platform = platform
        self.fingerprint = fingerprint
        self.expiresAt = expiresAt
        self.createdAt = createdAt
    }

    /// Reads 64 hex digits, with colons between pairs or without.
    package static func fingerprint(_ text: String) throws(InvalidInput) -> [UInt8] {
        let digits = text.utf8.filter { $0 != UInt8(ascii: ":") }
        guard let bytes = [UInt8](hex: digits), bytes.count == fingerprintBytes else {
            throw InvalidInput(field: "fingerprint", "has to be the SHA-256 of a certificate: 64 hex digits")
        }
        return bytes
    }
}

import BelfryService
import FoundationEssentials

/// The user and password of HTTP Basic authentication, where the user is a UUID.
///
/// Lenient, since the client SDKs write two spaces after `Basic`. Source: docs/compatibility/pcf.md.
struct BasicCredentials: Sendable, Hashable {
    let user: UUID
    let secret: [UInt8]

    /// nil when the header is not Basic authentication, or its user is not a UUID.
    init?(header: String) {
        guard let (name, secret) = Self.parts(of: header), let user = UUID(text: name) else { return nil }
        self.user = user
        self.secret = secret
    }

    /// The user and the password as they were sent; nil when the header is no Basic authentication.
    static func parts(of header: String) -> (user: ArraySlice<UInt8>, secret: [UInt8])? {
        let utf8 = header.utf8
        guard let end = utf8.firstIndex(of: 0x20), utf8[..<end].elementsEqual("basic".utf8, by: { $0 | 0x20 == $1 })
        else { return nil }
        let encoded = utf8[end...].drop { $0 == 0x20 }
        guard let decoded = Base64.decode(encoded), let colon = decoded.firstIndex(of: UInt8(ascii: ":")) else {
            return nil
        }
        return (decoded[..<colon], Array(decoded[(colon + 1)...]))
    }
}

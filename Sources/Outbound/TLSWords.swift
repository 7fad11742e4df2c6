import HTTP2Client
import NIOSSL
import Synchronization

extension Outbound {
    /// A human-readable form of a TLS error; without the library's own wrapping.
    ///
    /// - Parameter error: the description of an error of NIOSSL. BoringSSL has no other access to its reason.
    public static func tlsWords(_ error: String) -> String {
        for (mark, words) in knownTLSErrors where error.contains(mark) { return words }
        // As in `SSL routines:OPENSSL_internal:UNSUPPORTED_PROTOCOL`.
        guard let reason = error.firstMatch(of: #/OPENSSL_internal:([A-Z0-9_]+)/#) else {
            return "the handshake failed"
        }
        return reason.1.lowercased().replacing("_", with: " ")
    }

    private static let knownTLSErrors = [
        (
            "CERTIFICATE_VERIFY_FAILED",
            "the server's certificate is not trusted: its issuer is unknown, or it has expired"
        ),
        ("failedToValidateHostname", "the server's certificate is for another host"),
        ("unableToValidateCertificate", "the server's certificate is not trusted"),
        ("WRONG_VERSION_NUMBER", "the server does not speak TLS"),
        ("ALERT_UNKNOWN_CA", "the server does not trust our certificate: it knows no issuer of it"),
        ("ALERT_BAD_CERTIFICATE", "the server refuses our certificate"),
        ("ALERT_CERTIFICATE_EXPIRED", "the server refuses our certificate: it has expired"),
        ("ALERT_CERTIFICATE_REVOKED", "the server refuses our certificate: it was revoked"),
        ("CERTIFICATE_REQUIRED", "the server wants a certificate of ours, and was given none"),
    ]

    /// A third party's text, made safe for a log or a page: visible ASCII and spaces, 200 characters at most.
    public static func plain(_ text: some Sequence<UInt8>) -> String {
        String(decoding: text.lazy.map { 0x20...0x7E ~= $0 ? $0 : UInt8(ascii: " ") }.prefix(200), as: UTF8.self)
    }

    /// Whether a text can be put into a header unescaped: visible ASCII, and not empty.
    public static func isWord(_ text: String) -> Bool { !text.isEmpty && text.utf8.allSatisfy { 0x21...0x7E ~= $0 } }

    /// Letters, digits and `kept` as they are, all else as `%XX`.
    public static func percentEncoded(_ text: some Sequence<UInt8>, keeping kept: StaticString = "-._~") -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var encoded: [UInt8] = []
        for byte in text {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: encoded.append(byte)
            default:
                let isKept = kept.withUTF8Buffer { $0.contains(byte) }
                encoded += isKept ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }
}

/// TLS configurations by what they say, as far as NIOSSL can compare them.
struct TLSKey: Hashable {
    let configuration: TLSConfiguration

    init(_ configuration: TLSConfiguration) { self.configuration = configuration }

    static func == (one: TLSKey, other: TLSKey) -> Bool { one.configuration.bestEffortEquals(other.configuration) }

    func hash(into hasher: inout Hasher) { configuration.bestEffortHash(into: &hasher) }
}

/// Contexts of TLS, each made once: to read trust roots takes long.
final class TLSContexts: Sendable {
    private let held = Mutex<[TLSKey?: NIOSSLContext]>([:])

    /// Tenants have trust roots of their own.
    private static let heldMax = 256

    /// - Parameter key: nil for the standard.
    func context(for key: TLSKey?) throws(HTTP2ConnectError) -> NIOSSLContext {
        if let known = held.withLock({ $0[key] }) { return known }
        let made = try HTTP2Endpoint.makeContext(
            key?.configuration ?? Outbound.standardTLS, protocols: ["h2", "http/1.1"])
        held.withLock { held in
            if held.count >= Self.heldMax { held = [:] }
            held[key] = made
        }
        return made
    }
}

/// How a client authenticates to APNs: with a signing key or with a certificate.
///
/// Clients that share a value also share the signed token, as APNs requires: one token for each team and key.
public struct APNsCredentials: Sendable {
    enum Kind: Sendable {
        case token(ProviderToken)
        case certificate(APNsCertificate)
    }

    let kind: Kind

    /// Token authentication with a key from the developer account.
    ///
    /// - Parameters:
    ///   - p8: the text of the `.p8` file, PKCS#8 in PEM, a P-256 key.
    ///   - keyID: ten letters and digits, as the developer account shows them.
    ///   - teamID: the same.
    public static func token(
        p8: String, keyID: String, teamID: String
    ) throws(APNsCredentialsError) -> APNsCredentials {
        let key = try APNsSigningKey(p8: p8, keyID: keyID, teamID: teamID)
        return APNsCredentials(kind: .token(ProviderToken(sign: key.token(issuedAt:))))
    }

    /// Certificate authentication.
    ///
    /// - Parameters:
    ///   - p12: the bytes of a PKCS#12 file with the certificate and its key.
    ///   - now: Unix seconds, for the certificate's validity.
    public static func certificate(
        p12: [UInt8], passphrase: String, now: Int64 = wallClockSeconds()
    ) throws(APNsCredentialsError) -> APNsCredentials {
        APNsCredentials(kind: .certificate(try APNsCertificate(p12: p12, passphrase: passphrase, now: now)))
    }

    /// Certificate authentication with what a PKCS#12 file held.
    ///
    /// - Parameters:
    ///   - chain: certificates in DER, that of the key first.
    ///   - key: its private key, PKCS#8 in DER.
    ///   - now: Unix seconds, for the certificate's validity.
    public static func certificate(
        chain: [[UInt8]], key: [UInt8], now: Int64 = wallClockSeconds()
    ) throws(APNsCredentialsError) -> APNsCredentials {
        APNsCredentials(kind: .certificate(try APNsCertificate(chain: chain, key: key, now: now)))
    }

    /// Until when the certificate is valid, in Unix seconds; nil for a token, whose key does not expire.
    public var notAfter: Int64? { certificate?.notAfter }

    /// The topic in the certificate's subject; nil for a token, whose key serves all topics of the team.
    public var topic: String? { certificate?.topic }

    var certificate: APNsCertificate? {
        if case .certificate(let certificate) = kind { certificate } else { nil }
    }

    var token: ProviderToken? {
        if case .token(let token) = kind { token } else { nil }
    }
}

/// Why credentials cannot be used.
public struct APNsCredentialsError: Error, Sendable, Hashable, CustomStringConvertible {
    public struct Code: Sendable, Hashable {
        private let number: UInt8

        /// The p8 text is not PEM, not PKCS#8, or not a P-256 key.
        public static let key = Code(number: 1)
        /// The key id is not ten letters and digits.
        public static let keyIdentifier = Code(number: 2)
        /// The team id is not ten letters and digits.
        public static let teamIdentifier = Code(number: 12)
        /// The bytes are not PKCS#12, or use an encryption that is not supported.
        public static let p12 = Code(number: 3)
        public static let passphrase = Code(number: 4)
        /// The file contains no certificate, or no private key.
        public static let incomplete = Code(number: 5)
        /// The private key belongs to none of the certificates.
        public static let keyMismatch = Code(number: 6)
        public static let expired = Code(number: 7)
        public static let notYetValid = Code(number: 8)
        public static let trustRoots = Code(number: 9)
        /// TLS did not accept the certificate and key.
        public static let tls = Code(number: 10)
        /// Signing failed.
        public static let signing = Code(number: 11)
    }

    public let code: Code
    /// A human-readable reason; contains no secret.
    public let reason: String

    public var description: String { reason }

    init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }
}

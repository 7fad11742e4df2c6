import Crypto
import FoundationEssentials
import HTTP2Client
import KeyFiles
import NIOSSL
import SwiftASN1
import Synchronization
import X509

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

/// Signs provider tokens: JWTs with ES256.
///
/// Source: Apple, "Establishing a token-based connection to APNs"; RFC 7515 for the form, RFC 7518 §3.4 for ES256.
struct APNsSigningKey: Sendable {
    private let key: P256.Signing.PrivateKey
    private let keyID: String
    private let teamID: String

    init(p8: String, keyID: String, teamID: String) throws(APNsCredentialsError) {
        try Self.check(keyID, "key id", .keyIdentifier)
        try Self.check(teamID, "team id", .teamIdentifier)
        self.keyID = keyID
        self.teamID = teamID
        // The key of a certificate signs no tokens.
        guard let file = try? PEMFile(p8), !file.blocks.contains(where: { $0.label == "CERTIFICATE" }),
            let der = try? file.privateKey(), let key = try? P256.Signing.PrivateKey(derRepresentation: der)
        else {
            throw APNsCredentialsError(
                .key, "the p8 text is not a P-256 private key in PEM, but \(PEMFile.words(for: p8))")
        }
        self.key = key
    }

    /// - Parameter issuedAt: Unix seconds.
    func token(issuedAt: Int64) throws(APNsCredentialsError) -> [UInt8] {
        let head = Base64.encode(#"{"alg":"ES256","kid":"\#(keyID)","typ":"JWT"}"#.utf8)
        let claims = Base64.encode(#"{"iss":"\#(teamID)","iat":\#(issuedAt)}"#.utf8)
        let signed = "\(head).\(claims)"
        do {
            let signature = try key.signature(for: Array(signed.utf8))
            return Array("\(signed).\(Base64.encode(signature.rawRepresentation))".utf8)
        } catch {
            throw APNsCredentialsError(.signing, "the provider token could not be signed: \(error)")
        }
    }

    /// They are put into JSON unescaped. Source: Apple, "Establishing a token-based connection to APNs", both have ten
    /// characters.
    private static func check(
        _ identifier: String, _ name: String, _ code: APNsCredentialsError.Code
    ) throws(APNsCredentialsError) {
        guard identifier.utf8.count == 10, identifier.utf8.allSatisfy(\.isAlphanumeric) else {
            throw APNsCredentialsError(code, "the \(name) must be letters and digits, ten of them")
        }
    }
}

/// The signed token of one team and key, shared by all connections that use it.
final class ProviderToken: Sendable {
    private let held = Mutex(Held())
    private let sign: @Sendable (Int64) throws -> [UInt8]

    private struct Held {
        var schedule = TokenSchedule()
        var header: HTTP2Header?
    }

    init(sign: @escaping @Sendable (Int64) throws -> [UInt8]) { self.sign = sign }

    /// Distinguishes the present token from one that was replaced after APNs reported it expired.
    var generation: Int { held.withLock { $0.schedule.generation } }

    func header(at now: Int64) throws -> HTTP2Header {
        try held.withLock { held in
            if !held.schedule.advance(at: now), let header = held.header { return header }
            let header = HTTP2Header(
                name: Array("authorization".utf8),
                value: Array("bearer ".utf8) + (try sign(held.schedule.issuedAt ?? now)))
            held.header = header
            return header
        }
    }

    /// Replaces a token of `generation` that APNs reported expired; false if that has already been done.
    func expire(_ generation: Int, at now: Int64) -> Bool {
        held.withLock { held in
            guard held.schedule.expire(generation, at: now) else { return false }
            held.header = nil
            return true
        }
    }
}

/// Decides when a provider token is signed anew, and its time of issue. Times in Unix seconds.
///
/// The time of issue lies on a grid that all nodes share, so that nodes behind one address present tokens of the same
/// age. APNs refuses a token older than an hour, and a change within 20 minutes on one connection.
/// Source: Apple, "Establishing a token-based connection to APNs".
struct TokenSchedule: Equatable {
    /// Distance between two grid points.
    static let grid: Int64 = 30 * 60
    /// How far behind the clock a grid point is used, so that a fast clock signs nothing in the future.
    static let lag: Int64 = 2 * 60
    /// The least time between two tokens.
    static let ageMin: Int64 = 20 * 60

    private(set) var issuedAt: Int64?
    /// Counts the tokens that APNs reported expired and that were replaced.
    private(set) var generation = 0

    /// Moves to a new time of issue if one is due; true if a token must be signed.
    mutating func advance(at now: Int64) -> Bool {
        let point = (now - Self.lag) / Self.grid * Self.grid
        // A clock that was set back leaves a token from the future, which APNs refuses.
        if let issuedAt, issuedAt <= now, point - issuedAt < Self.ageMin { return false }
        issuedAt = point
        return true
    }

    /// APNs reported a token of `generation` expired. Only the first of many reports causes a new one, issued now: the
    /// grid point may be the very time that was refused.
    mutating func expire(_ generation: Int, at now: Int64) -> Bool {
        guard generation == self.generation else { return false }
        self.generation += 1
        issuedAt = now
        return true
    }
}

/// Seconds since 1970 by the system's clock.
public func wallClockSeconds() -> Int64 { Int64(Date().timeIntervalSince1970) }

/// A client certificate with its key and chain.
struct APNsCertificate: Sendable {
    /// Unix seconds.
    let notAfter: Int64
    /// The UID of the subject, which is the bundle id, or the topic of an MDM certificate.
    let topic: String?
    private let chain: [NIOSSLCertificate]
    private let key: NIOSSLPrivateKey

    init(p12: [UInt8], passphrase: String, now: Int64) throws(APNsCredentialsError) {
        let file: PKCS12File
        do throws(KeyFileError) {
            file = try PKCS12File(p12, passphrase: passphrase)
        } catch {
            throw APNsCredentialsError(error)
        }
        try self.init(chain: file.certificates, key: file.key, now: now)
    }

    /// - Parameters:
    ///   - chain: certificates in DER, that of the key first.
    ///   - key: PKCS#8 in DER.
    init(chain: [[UInt8]], key: [UInt8], now: Int64) throws(APNsCredentialsError) {
        do {
            self.chain = try chain.map { try NIOSSLCertificate(bytes: $0, format: .der) }
            self.key = try NIOSSLPrivateKey(bytes: key, format: .der)
        } catch {
            throw APNsCredentialsError(
                .p12, "the certificate or its key is damaged, or of a kind that is not supported")
        }
        guard let leaf = self.chain.first else { throw APNsCredentialsError(.incomplete, "there is no certificate") }
        notAfter = Int64(leaf.notValidAfter)
        guard now <= notAfter else {
            throw APNsCredentialsError(.expired, "the certificate expired on \(Self.date(notAfter))")
        }
        guard now >= Int64(leaf.notValidBefore) else {
            throw APNsCredentialsError(
                .notYetValid, "the certificate is valid from \(Self.date(Int64(leaf.notValidBefore))) on")
        }
        topic = chain.first.flatMap { APNsCertificateFacts(der: $0) }?.topic
    }

    func present(in tls: inout TLSConfiguration) {
        tls.certificateChain = chain.map { .certificate($0) }
        tls.privateKey = .privateKey(key)
    }

    private static func date(_ time: Int64) -> String {
        Date(timeIntervalSince1970: Double(time)).formatted(.iso8601)
    }
}

extension APNsCredentialsError {
    fileprivate init(_ error: KeyFileError) {
        let code: Code =
            switch error.kind {
            case .passphrase: .passphrase
            case .incomplete: .incomplete
            case .mismatch: .keyMismatch
            case .format, .cost, .unsupported: .p12
            }
        self.init(code, error.reason)
    }
}

/// The facts that a client certificate states about itself. They tell an operator what it is for.
public struct APNsCertificateFacts: Sendable, Hashable {
    /// Its distinguished name, as in RFC 4514.
    public let subject: String
    /// The UID of the subject, which is the bundle id, or the topic of an MDM certificate.
    public let topic: String?
    /// `development`, `production`, both, or none where it does not say.
    public let environments: [String]

    /// - Parameter der: the certificate. nil where it cannot be read.
    public init?(der: [UInt8]) {
        guard let certificate = try? Certificate(derEncoded: der) else { return nil }
        // The library knows no short name for it.
        subject = String(describing: certificate.subject).replacing("\(Self.uid)=", with: "UID=")
        topic = certificate.subject.lazy.flatMap { $0 }.first { $0.type == Self.uid }.flatMap { String($0.value) }
        environments = Self.marks.filter { certificate.extensions[oid: $0.oid] != nil }.map(\.name)
    }

    /// Source: RFC 4519 §2.39; Apple puts the bundle id there.
    private static let uid: ASN1ObjectIdentifier = [0, 9, 2_342, 19_200_300, 100, 1, 1]
    /// Source: Apple Worldwide Developer Relations, Certification Practice Statement, §4.11.7: Apple Push Services.
    private static let marks: [(oid: ASN1ObjectIdentifier, name: String)] = [
        ([1, 2, 840, 113_635, 100, 6, 3, 1], "development"), ([1, 2, 840, 113_635, 100, 6, 3, 2], "production"),
    ]
}

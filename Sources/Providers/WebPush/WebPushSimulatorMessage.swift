import Crypto
import FoundationEssentials
import Synchronization

/// Bytes in the content coding `aes128gcm`. Source: RFC 8188 §2.
package struct EncryptedContent: Sendable {
    package enum Problem: Error, Equatable {
        case tooShort
        case recordSizeTooSmall
        case severalRecords
        /// The key id is not a public key on the curve.
        case badKey
        /// A record cannot be decrypted with the key.
        case forged
        /// A record has invalid padding.
        case badPadding
    }

    private static let tagBytes = 16
    private let salt: [UInt8]
    private let recordSize: Int
    let keyID: [UInt8]
    private let records: [UInt8]

    package init(_ body: [UInt8]) throws(Problem) {
        guard body.count >= 21, body.count >= 21 + Int(body[20]) else { throw .tooShort }
        self.salt = Array(body[..<16])
        self.recordSize = body[16..<20].reduce(0) { $0 << 8 | Int($1) }
        self.keyID = Array(body[21..<21 + Int(body[20])])
        self.records = Array(body[(21 + Int(body[20]))...])
        guard recordSize >= 18 else { throw .recordSizeTooSmall }
        guard records.count > Self.tagBytes else { throw .tooShort }
    }

    var isOneRecord: Bool { records.count <= recordSize }

    /// - Parameter material: the input keying material (IKM).
    package func open(with material: [UInt8]) throws(Problem) -> [UInt8] {
        let prk = HMACText.sign(material, key: salt)
        let key = HMACText.sign(Array("Content-Encoding: aes128gcm".utf8) + [0, 1], key: prk).prefix(16)
        let nonce = Array(HMACText.sign(Array("Content-Encoding: nonce".utf8) + [0, 1], key: prk).prefix(12))
        var clear: [UInt8] = []
        var start = 0
        var number: UInt64 = 0
        while start < records.count {
            let end = min(start + recordSize, records.count)
            let record = try Self.open(records[start..<end], key: Array(key), nonce: Self.nonce(nonce, number))
            clear += try Self.withoutPadding(record, isLast: end == records.count)
            start = end
            number += 1
        }
        return clear
    }

    private static func open(_ record: ArraySlice<UInt8>, key: [UInt8], nonce: [UInt8]) throws(Problem) -> [UInt8] {
        guard record.count > tagBytes,
            let nonce = try? AES.GCM.Nonce(data: nonce),
            let box = try? AES.GCM.SealedBox(
                nonce: nonce, ciphertext: record.dropLast(tagBytes), tag: record.suffix(tagBytes)),
            let clear = try? AES.GCM.open(box, using: SymmetricKey(data: key))
        else { throw .forged }
        return Array(clear)
    }

    /// The last eight bytes are XORed with the number of the record.
    private static func nonce(_ nonce: [UInt8], _ number: UInt64) -> [UInt8] {
        var nonce = nonce
        for index in 0..<8 { nonce[4 + index] ^= UInt8(truncatingIfNeeded: number >> UInt64(56 - 8 * index)) }
        return nonce
    }

    /// A record ends in a delimiter, 2 for the last one and 1 for the others, and zeros.
    private static func withoutPadding(_ record: [UInt8], isLast: Bool) throws(Problem) -> ArraySlice<UInt8> {
        guard let delimiter = record.lastIndex(where: { $0 != 0 }), record[delimiter] == (isLast ? 2 : 1) else {
            throw .badPadding
        }
        return record[..<delimiter]
    }
}

/// The keys of a receiving browser, which only it knows.
package struct WebPushReceiver: Sendable {
    let key: P256.KeyAgreement.PrivateKey
    let auth: [UInt8]

    package init() {
        self.key = P256.KeyAgreement.PrivateKey()
        self.auth = (0..<16).map { _ in UInt8.random(in: 0...255) }
    }

    /// - Parameters:
    ///   - privateKey: the 32 bytes of a P-256 private key, in base64url.
    ///   - auth: 16 bytes, in base64url.
    package init(privateKey: String, auth: String) throws {
        self.key = try P256.KeyAgreement.PrivateKey(rawRepresentation: Base64URL.decode(privateKey[...]) ?? [])
        self.auth = Base64URL.decode(auth[...]) ?? []
    }

    var publicKey: [UInt8] { Array(key.publicKey.x963Representation) }

    /// The clear text of a push message.
    ///
    /// Source: RFC 8291 §3, §4: one record, the sender's public key as its key id.
    package func open(_ body: [UInt8]) throws(EncryptedContent.Problem) -> [UInt8] {
        let content = try EncryptedContent(body)
        guard content.isOneRecord else { throw .severalRecords }
        guard let sender = try? P256.KeyAgreement.PublicKey(x963Representation: content.keyID),
            let shared = try? key.sharedSecretFromKeyAgreement(with: sender)
        else { throw .badKey }
        let ecdh = shared.withUnsafeBytes { Array($0) }
        let prk = HMACText.sign(ecdh, key: auth)
        let info = Array("WebPush: info".utf8) + [0] + publicKey + content.keyID
        return try content.open(with: HMACText.sign(info + [1], key: prk))
    }
}

/// HMAC with SHA-256 over bytes.
enum HMACText {
    static func sign(_ bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: bytes, using: SymmetricKey(data: key)))
    }
}

/// The header fields of a push message. Source: RFC 8030 §5.2 to §5.4; RFC 8291 §4.
struct WebPushHeaders {
    let ttl: Int64?
    private let request: ServiceRequest

    init(_ request: ServiceRequest) {
        self.request = request
        let digits = request.field("ttl") ?? ""
        let isNumber = !digits.isEmpty && digits.utf8.allSatisfy { (48...57).contains($0) }
        // Source: RFC 8030 §5.2: a number that is too large counts as 2^31.
        self.ttl = isNumber ? min(Int64(digits) ?? 1 << 31, 1 << 31) : nil
    }

    func complaint(_ configuration: WebPushConfiguration) -> WebPushProblem? {
        if request.values(of: "ttl").isEmpty { return .missingTTL }
        guard let ttl, request.values(of: "ttl").count == 1 else { return .badTTL }
        let urgencies = request.values(of: "urgency")
        guard urgencies.count <= 1, urgencies.allSatisfy(Self.urgencies.contains) else { return .badUrgency }
        let topics = request.values(of: "topic")
        guard topics.count <= 1, topics.allSatisfy(Self.isTopic) else { return .badTopic }
        if request.body.count > configuration.bodyBytesMax { return .tooLarge }
        if !request.body.isEmpty, request.field("content-encoding") != "aes128gcm" { return .badEncoding }
        return configuration.dialect == .microsoft ? complaintOfMicrosoft(ttl) : nil
    }

    /// WNS as a Web Push service: no chunks, and a TTL that fits the cache policy.
    private func complaintOfMicrosoft(_ ttl: Int64) -> WebPushProblem? {
        if !request.isHTTP2, request.field("content-length") == nil { return .lengthRequired }
        let caches = request.field("x-wns-cache-policy") != "no-cache"
        return caches == (ttl > 0) ? nil : .cachePolicyConflict
    }

    private static let urgencies: Set = ["very-low", "low", "normal", "high"]

    /// Whether a text has at most 32 characters, all of the URL-safe alphabet of base64.
    private static func isTopic(_ text: String) -> Bool {
        (1...32).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0) || $0 == 0x2D || $0 == 0x5F
            }
    }
}

/// The sender, from `Authorization: vapid t=…, k=…`. Source: RFC 8292 §2, §3.
struct VAPIDHeader: Hashable {
    var token: String
    /// base64url of an uncompressed P-256 point.
    var key: String

    /// - Parameter credentials: the text after the scheme `vapid`.
    init?(_ credentials: String) {
        var parameters: [String: String] = [:]
        for part in credentials.split(separator: ",") {
            let sides = part.split(separator: "=", maxSplits: 1)
            guard sides.count == 2 else { return nil }
            parameters[Words.trim(sides[0])] = Words.trim(sides[1])
        }
        guard let token = parameters["t"], let key = parameters["k"] else { return nil }
        self.token = token
        self.key = key
    }
}

/// The claims of a VAPID token whose signature matches its key.
struct VAPIDClaims: Sendable, Equatable {
    /// Source: RFC 8292 §2: no more than 24 hours.
    static let lifeMaxSeconds: Int64 = 24 * 3600

    var audience: String
    /// Seconds since 1970.
    var expires: Int64
    var subject: String?

    /// The fault of the claims; nil when there is none.
    func complaint(origin: String, at now: Int64, requiresSubject: Bool) -> String? {
        if audience != origin { return "aud is \(audience), not \(origin)" }
        if expires <= now { return "exp is over" }
        if expires > now + Self.lifeMaxSeconds { return "exp is more than 24 hours ahead" }
        guard let subject else { return requiresSubject ? "sub is missing" : nil }
        return Self.isSubject(subject) ? nil : "sub is neither a mailto: nor an https: address"
    }

    private static func isSubject(_ text: String) -> Bool {
        let isAddress = text.hasPrefix("mailto:") && text.contains("@") || text.hasPrefix("https://")
        return isAddress && !text.contains(where: { $0 == " " || $0 == "<" || $0 == ">" })
    }
}

/// Reads VAPID tokens, and does the expensive part (JSON and signature) once for each.
final class VAPIDCheck: Sendable {
    private let findings = Mutex<[VAPIDHeader: VAPIDClaims?]>([:])
    /// Bounds the memory for a sender that makes a new token for each message.
    private static let findingsMax = 4096

    /// The claims, if the token is signed by the key beside it.
    func claims(of header: VAPIDHeader) -> VAPIDClaims? {
        if let known = findings.withLock({ $0[header] }) { return known }
        let claims = Self.examine(header)
        findings.withLock { findings in
            if findings.count >= Self.findingsMax { findings.removeAll() }
            findings.updateValue(claims, forKey: header)
        }
        return claims
    }

    private static func examine(_ header: VAPIDHeader) -> VAPIDClaims? {
        let parts = header.token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3,
            let head = Base64URL.decode(parts[0]).flatMap(JSON.init), head["alg"]?.string == "ES256",
            let claims = Base64URL.decode(parts[1]).flatMap(JSON.init),
            let audience = claims["aud"]?.string, let expires = claims["exp"]?.integer,
            let signature = Base64URL.decode(parts[2]).flatMap({
                try? P256.Signing.ECDSASignature(rawRepresentation: $0)
            }),
            let point = Base64URL.decode(header.key[...]),
            let key = try? P256.Signing.PublicKey(x963Representation: point),
            key.isValidSignature(signature, for: Array("\(parts[0]).\(parts[1])".utf8))
        else { return nil }
        return VAPIDClaims(audience: audience, expires: expires, subject: claims["sub"]?.string)
    }
}

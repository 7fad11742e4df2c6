import FoundationEssentials
import HTTP2Client
import KeyFiles
import MessageEncryption
import Outbound

/// The part of a push that is the same for all browsers.
public struct WebPushMessage: Sendable, Hashable {
    /// The decrypted payload for the service worker.
    public let payload: [UInt8]
    /// Seconds for which the push service stores it; 0 for one attempt.
    public let ttl: Int
    public let urgency: WebPushUrgency
    /// A waiting message is replaced by a later one of the same topic.
    public let topic: String?
    /// The whole body where its sender encrypted it for the one browser; then there is no payload.
    package let sealed: SealedBody?

    /// A body that was encrypted elsewhere, with the headers of its coding.
    package struct SealedBody: Sendable, Hashable {
        let bytes: [UInt8]
        let headers: [HTTP2Header]

        package init(_ bytes: [UInt8], headers: [(name: String, value: String)]) {
            self.bytes = bytes
            self.headers = headers.map { HTTP2Header($0.name, $0.value) }
        }
    }

    /// The most bytes of a payload, so that its message has the 4,096 bytes that every service has to take. Source: RFC 8030 §7.2.
    public static let payloadBytesMax = 4_096 - MessageCipher.overheadBytes
    /// Source: RFC 8030 §5.4.
    public static let topicBytesMax = 32

    public init(
        payload: [UInt8], ttl: Int, urgency: WebPushUrgency = .normal, topic: String? = nil
    ) throws(WebPushError) {
        guard payload.count <= Self.payloadBytesMax else {
            throw WebPushError("payload is \(payload.count) bytes, Web Push takes \(Self.payloadBytesMax)")
        }
        guard ttl >= 0 else { throw WebPushError("ttl is \(ttl), it counts seconds from 0") }
        if let topic { try Self.check(topic: topic) }
        self.payload = payload
        self.ttl = min(ttl, Int(Int32.max))
        self.urgency = urgency
        self.topic = topic
        sealed = nil
    }

    /// Passes on what another sender encrypted.
    package init(
        relaying sealed: SealedBody, ttl: Int, urgency: WebPushUrgency, topic: String?
    ) throws(WebPushError) {
        if let topic { try Self.check(topic: topic) }
        payload = []
        self.ttl = max(0, min(ttl, Int(Int32.max)))
        self.urgency = urgency
        self.topic = topic
        self.sealed = sealed
    }

    private static func check(topic: String) throws(WebPushError) {
        let isPlain = topic.utf8.allSatisfy { $0.isAlphanumeric || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
        guard 1...topicBytesMax ~= topic.utf8.count, isPlain else {
            throw WebPushError("topic has to be 1 to \(topicBytesMax) letters, digits, - and _")
        }
    }
}

/// How much of a device's power a message is worth. Source: RFC 8030 §5.3.
public enum WebPushUrgency: String, Sendable, Hashable, CaseIterable {
    case veryLow = "very-low"
    case low
    case normal
    case high
}

/// Why something cannot be sent, detected beforehand.
public struct WebPushError: Error, Sendable, Hashable, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
}

/// The endpoint of one browser, and the keys that only it can decrypt for.
public struct WebPushSubscription: Sendable, Hashable {
    /// Kept byte for byte.
    public let endpoint: String
    /// `https://host`, with the port where it is not 443: the audience of a VAPID token.
    public let origin: String
    /// An uncompressed point of P-256, 65 bytes.
    public let publicKey: [UInt8]
    /// 16 bytes.
    public let authSecret: [UInt8]

    /// Keys are in Base64 of either alphabet, as browsers give them.
    public init(endpoint: String, p256dh: String, auth: String) throws(WebPushError) {
        try self.init(endpoint: endpoint, p256dh: p256dh.utf8, auth: auth.utf8)
    }

    private init(
        endpoint: String, p256dh: some Collection<UInt8>, auth: some Collection<UInt8>
    ) throws(WebPushError) {
        guard let origin = Self.origin(of: endpoint) else {
            throw WebPushError("endpoint has to be an https URL of visible ASCII without a user")
        }
        guard let key = Base64.decode(p256dh, isExact: true), key.count == 65, key[0] == 4 else {
            throw WebPushError("p256dh has to be an uncompressed point of P-256 in Base64, 65 bytes")
        }
        guard let secret = Base64.decode(auth, isExact: true), secret.count == 16 else {
            throw WebPushError("auth has to be 16 bytes in Base64")
        }
        self.endpoint = endpoint
        self.origin = origin
        publicKey = key
        authSecret = secret
    }

    /// Reads what `JSON.stringify(subscription)` returns in a browser. Source: W3C Push API, `toJSON`.
    public init(json: [UInt8]) throws(WebPushError) {
        if let usual = SubscriptionScanner(json) {
            let endpoint = String(decoding: usual.endpoint, as: UTF8.self)
            try self.init(endpoint: endpoint, p256dh: usual.p256dh, auth: usual.auth)
            return
        }
        let parsed: Written
        do {
            parsed = try JSONDecoder().decode(Written.self, from: Data(json))
        } catch {
            throw WebPushError("subscription has to be JSON with endpoint, keys.p256dh and keys.auth")
        }
        try self.init(endpoint: parsed.endpoint, p256dh: parsed.keys.p256dh, auth: parsed.keys.auth)
    }

    private struct Written: Decodable {
        let endpoint: String
        let keys: Keys

        struct Keys: Decodable {
            let p256dh: String
            let auth: String
        }
    }

    /// Source: RFC 6454 §6.2.
    private static func origin(of endpoint: String) -> String? {
        let scheme = "https://"
        guard endpoint.utf8.allSatisfy({ 0x21...0x7E ~= $0 }), endpoint.prefix(8).lowercased() == scheme else {
            return nil
        }
        let rest = endpoint.utf8.dropFirst(8)
        let end = rest.firstIndex { $0 == 0x2F || $0 == 0x3F || $0 == 0x23 } ?? rest.endIndex
        let authority = endpoint[rest.startIndex..<end].lowercased()
        guard !authority.isEmpty, !authority.hasPrefix(":"),
            !authority.utf8.contains(where: { $0 == 0x40 || $0 == 0x5C })
        else { return nil }
        return scheme + (authority.hasSuffix(":443") ? String(authority.dropLast(4)) : authority)
    }
}

/// Finds the three texts of a subscription in the JSON that browsers write, in one pass.
///
/// nil for anything unusual, such as an escape, a key twice or a list: then a parser of JSON has to read it.
struct SubscriptionScanner {
    private let bytes: [UInt8]
    private var position = 0
    private var found: [Name: Range<Int>] = [:]

    private enum Name { case endpoint, p256dh, auth }

    init?(_ bytes: [UInt8]) {
        self.bytes = bytes
        guard scanObject(isInner: false), skipSpace() == nil, found.count == 3 else { return nil }
    }

    var endpoint: ArraySlice<UInt8> { text(.endpoint) }
    var p256dh: ArraySlice<UInt8> { text(.p256dh) }
    var auth: ArraySlice<UInt8> { text(.auth) }

    private func text(_ name: Name) -> ArraySlice<UInt8> { found[name].map { bytes[$0] } ?? [] }

    private mutating func scanObject(isInner: Bool) -> Bool {
        guard take("{") else { return false }
        repeat {
            guard let name = scanString(), take(":"), scanValue(of: name, isInner: isInner) else { return false }
        } while take(",")
        return take("}")
    }

    private mutating func scanValue(of name: Range<Int>, isInner: Bool) -> Bool {
        if !isInner, bytes[name].elementsEqual("keys".utf8) { return scanObject(isInner: true) }
        guard skipSpace() == UInt8(ascii: "\"") else { return scanWord() }
        guard let value = scanString() else { return false }
        let known: Name? =
            switch (isInner, bytes[name]) {
            case (false, let name) where name.elementsEqual("endpoint".utf8): .endpoint
            case (true, let name) where name.elementsEqual("p256dh".utf8): .p256dh
            case (true, let name) where name.elementsEqual("auth".utf8): .auth
            default: nil
            }
        guard let known else { return true }
        return found.updateValue(value, forKey: known) == nil
    }

    /// A string without escapes; what stands between its quotes.
    private mutating func scanString() -> Range<Int>? {
        guard take("\"") else { return nil }
        let start = position
        while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
            guard bytes[position] >= 0x20, bytes[position] != UInt8(ascii: "\\") else { return nil }
            position += 1
        }
        guard position < bytes.count else { return nil }
        position += 1
        return start..<position - 1
    }

    /// `null`, `true`, a number.
    private mutating func scanWord() -> Bool {
        let start = position
        while position < bytes.count, isOfWord(bytes[position]) { position += 1 }
        return position > start
    }

    private func isOfWord(_ byte: UInt8) -> Bool {
        0x61...0x7A ~= byte || 0x30...0x39 ~= byte || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
    }

    private mutating func take(_ letter: Unicode.Scalar) -> Bool {
        guard skipSpace() == UInt8(ascii: letter) else { return false }
        position += 1
        return true
    }

    /// The next byte that is no space; nil at the end.
    private mutating func skipSpace() -> UInt8? {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            case let byte: return byte
            }
        }
        return nil
    }
}

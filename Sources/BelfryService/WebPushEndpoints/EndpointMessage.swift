import HTTPTypes
import KeyFiles

/// A message that an application server posts to an endpoint. Source: RFC 8030 §5.
struct EndpointMessage: Sendable, Hashable {
    let ciphertext: Ciphertext
    /// Seconds for which it waits for its device; 0 for now or never.
    let timeToLive: Int64
    let urgency: WebMessage.Urgency
    /// A message that waits is replaced by a later one with the same topic.
    let topic: String?

    /// Source: RFC 8030 §7.2.
    static let bytesMax = 4_096
    /// Longer times are cut to it, and the answer says so.
    static let timeToLiveMax = WebMessage.ttlMax
    /// The time in which a message for now or never reaches its provider, where that answers.
    static let nowSeconds: Int64 = 10

    init(_ headers: HTTPFields, body: [UInt8]) throws(InvalidInput) {
        timeToLive = try Self.timeToLive(headers.value(.ttl))
        urgency = try Self.urgency(headers.value(.urgency))
        topic = try Self.topic(headers.value(.topic))
        ciphertext = try Ciphertext(headers, body: body, isStored: timeToLive > 0)
    }

    func expiry(at now: Instant) -> Instant { now + .seconds(timeToLive > 0 ? timeToLive : Self.nowSeconds) }

    /// Source: RFC 8030 §5.2.
    private static func timeToLive(_ text: String?) throws(InvalidInput) -> Int64 {
        guard let text else {
            throw InvalidInput(field: "TTL", "is missing: it says for how many seconds the message waits")
        }
        guard !text.isEmpty, text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else {
            throw InvalidInput(field: "TTL", "is '\(text.prefix(24))', it has to be a number of seconds from 0")
        }
        return min(Int64(text) ?? .max, timeToLiveMax)
    }

    /// Source: RFC 8030 §5.3.
    private static func urgency(_ text: String?) throws(InvalidInput) -> WebMessage.Urgency {
        guard let text else { return .normal }
        guard let urgency = WebMessage.Urgency(rawValue: text.lowercased()) else {
            throw .value("Urgency", .string(text), notOneOf: WebMessage.Urgency.allCases.map(\.rawValue))
        }
        return urgency
    }

    /// Source: RFC 8030 §5.4.
    private static func topic(_ text: String?) throws(InvalidInput) -> String? {
        guard let text else { return nil }
        guard 1...WebMessage.topicBytesMax ~= text.utf8.count, text.utf8.allSatisfy(\.isOfBase64URL) else {
            throw InvalidInput(
                field: "Topic", "has to be 1 to \(WebMessage.topicBytesMax) letters, digits, - and _")
        }
        return text
    }

    var lane: Lane {
        switch urgency {
        case .high: .urgent
        case .normal: .normal
        case .low, .veryLow: .bulk
        }
    }

    /// The push for the endpoint's device: data for its app, or the ciphertext itself for a browser, which decrypts it.
    func content(for kind: PlatformKind, at endpoint: WebPushEndpoint) throws(InvalidInput) -> Push.Content {
        var content = Push.Content()
        // Its sender knows nothing of quiet hours, and its reader decides what is shown.
        content.pacing = .exempt
        let key = topic.map { "\(endpoint.key)-\($0)" }
        let texts = key.map { [SharedFields.Name.collapseKey: $0] } ?? [:]
        let data: JSONObject = [Self.endpointMember: .string("\(endpoint.key)")]
        switch kind.traits.payload {
        case .web:
            content.shared = SharedFields(texts, data: data)
            content.ciphertext = ciphertext
            return content
        case .apple:
            content.apple = try ApplePush(
                type: .alert, priority: applePriority, isStored: timeToLive > 0, payload: Self.applePayload)
        case .android:
            // What may wait for power and Wi-Fi leaves a dozing device alone. Source: RFC 8030 §5.3.
            content.custom = ["android": .object(["priority": .string(urgency.wakesDevices ? "high" : "normal")])]
        case .windows8, .windowsPhone, .bb10, .webhook: break
        }
        content.shared = SharedFields(texts, data: ciphertext.fields.merging(data) { $1 })
        return content
    }

    /// The member of the data that names the endpoint.
    static let endpointMember = "webpush_endpoint"

    /// The app's notification service extension decrypts the message and replaces the text, which is shown where it cannot.
    private static let applePayload: JSONObject = [
        "aps": .object(["alert": .string("New message"), "mutable-content": .integer(1)])
    ]

    private var applePriority: ApplePush.Priority {
        switch urgency {
        case .high, .normal: .immediate
        case .low: .considerate
        case .veryLow: .low
        }
    }
}

extension WebMessage.Urgency {
    fileprivate var wakesDevices: Bool { self == .normal || self == .high }
}

/// A body that only its receiver can read, with the headers of its coding.
package struct Ciphertext: Sendable, Hashable {
    package let body: [UInt8]
    /// `aes128gcm` (RFC 8188), or `aesgcm`, which Mastodon's older subscriptions use; nil for an empty body.
    package let encoding: String?
    /// The headers of `aesgcm`. Source: draft-ietf-webpush-encryption-04 §3.
    package let encryption: String?
    package let cryptoKey: String?
    /// Whether the push service of a browser keeps it; otherwise it is for now or never.
    package let isStored: Bool

    /// A salt, or a key, with its name and a key id.
    private static let headerBytesMax = 160

    init(_ headers: HTTPFields, body: [UInt8], isStored: Bool) throws(InvalidInput) {
        self.body = body
        self.isStored = isStored
        // Nothing is encrypted in nothing.
        let encoding = body.isEmpty ? nil : headers.value(.contentEncoding)?.lowercased()
        switch encoding {
        case "aes128gcm": (encryption, cryptoKey) = (nil, nil)
        case "aesgcm":
            encryption = try Self.checked(headers.value(.encryption), "Encryption", needs: "salt=")
            cryptoKey = try Self.checked(
                headers.value(.cryptoKey).flatMap(Self.keyOfMessage), "Crypto-Key", needs: "dh=")
        case nil where body.isEmpty: (encryption, cryptoKey) = (nil, nil)
        default:
            let found = encoding.map { "is '\($0.prefix(32))'" } ?? "is missing"
            throw InvalidInput(
                field: "Content-Encoding",
                "\(found), it has to be aes128gcm or aesgcm: messages are encrypted for their reader")
        }
        self.encoding = encoding
    }

    private static func checked(_ text: String?, _ field: String, needs part: String) throws(InvalidInput) -> String {
        guard let text, text.contains(part) else {
            throw InvalidInput(field: field, "has to have \(part.dropLast()), which decrypts a body in aesgcm")
        }
        guard text.utf8.count <= headerBytesMax, text.utf8.allSatisfy({ 0x20...0x7E ~= $0 }) else {
            throw InvalidInput(field: field, "has to be \(headerBytesMax) ASCII characters at most")
        }
        return text
    }

    /// The part of `Crypto-Key` that decrypts the message, without the key of its sender.
    private static func keyOfMessage(_ header: String) -> String? {
        let parts = header.split(separator: ",").map { element in
            element.split(separator: ";").map(\.trimmedSpaces).filter { !$0.hasPrefix("p256ecdsa=") }
        }
        return parts.first { $0.contains { $0.hasPrefix("dh=") } }?.joined(separator: ";")
    }
}

extension Ciphertext {
    /// Its form for apps: the body in Base64 for URLs, and what their coding needs beside it.
    var fields: JSONObject {
        var fields: JSONObject = ["webpush": .string(Base64.encode(body))]
        // The usual coding goes unsaid, which leaves room for the body.
        if encoding != "aes128gcm" { fields["webpush_encoding"] = encoding.map(JSONValue.string) }
        fields["webpush_encryption"] = encryption.map(JSONValue.string)
        fields["webpush_crypto_key"] = cryptoKey.map(JSONValue.string)
        return fields
    }

    var stored: JSONValue {
        var members = fields
        members["is_stored"] = .bool(isStored)
        return .object(members)
    }

    init(stored members: JSONObject) throws(InvalidInput) {
        guard let body = members["webpush"]?.stringValue.flatMap({ Base64.decode($0.utf8, of: .url) }) else {
            throw InvalidInput(field: "webpush", "is not in Base64")
        }
        self.body = body
        encoding = members["webpush_encoding"]?.stringValue ?? (body.isEmpty ? nil : "aes128gcm")
        encryption = members["webpush_encryption"]?.stringValue
        cryptoKey = members["webpush_crypto_key"]?.stringValue
        isStored = members["is_stored"] != .bool(false)
    }
}

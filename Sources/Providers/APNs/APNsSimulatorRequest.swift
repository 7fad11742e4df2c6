import Foundation

/// The facts of one request to APNs, and the verdict on it. Reused for later requests, with its memory.
struct APNsRequest {
    static let idBytes = 36

    var facts = RequestFacts()
    var headersSeen: HeaderSet = []
    var tokenHash: UInt64 = 0
    var idHash: UInt64?
    var payload: [UInt8] = []
    var headers: [LedgerRequest.Header] = []
    var topic: String?

    /// nil is 200.
    var verdict: APNsVerdict?
    /// The device was notified, as far as the ledger knows.
    var isTold = false

    private let tokenStore: UnsafeMutableRawBufferPointer
    private var tokenCount = 0
    /// The `apns-id` of request and answer, as text.
    let id: UnsafeMutablePointer<UInt8>

    init(tokenBytesMax: Int) {
        tokenStore = .allocate(byteCount: tokenBytesMax, alignment: 8)
        id = .allocate(capacity: Self.idBytes)
        id.initialize(repeating: 0, count: Self.idBytes)
    }

    func deallocate() {
        tokenStore.deallocate()
        id.deallocate()
    }

    var token: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: tokenStore[..<tokenCount])
    }

    /// The path it was sent to, as far as APNs has it.
    var path: String {
        switch facts.path {
        case .device: "/3/device/\(Hex.encode(token))"
        case .broadcast: "/4/broadcasts/apps/\(topic ?? "")"
        case .missing, .foreign, .withoutToken, .badToken: ""
        }
    }

    /// Clears the previous request.
    mutating func begin() {
        facts = RequestFacts()
        headersSeen = []
        tokenCount = 0
        tokenHash = 0
        idHash = nil
        topic = nil
        verdict = nil
        if !payload.isEmpty { payload.removeAll(keepingCapacity: true) }
        if !headers.isEmpty { headers.removeAll(keepingCapacity: true) }
        isTold = false
    }

    /// Reads a token from hex digits; false when it is malformed or has a length that tokens do not have.
    mutating func readToken(_ digits: UnsafeRawBufferPointer, allowed: ClosedRange<Int>) -> Bool {
        guard digits.count.isMultiple(of: 2), allowed.contains(digits.count / 2) else { return false }
        for index in 0..<digits.count / 2 {
            guard let high = Hex.value(digits[2 * index]), let low = Hex.value(digits[2 * index + 1]) else {
                return false
            }
            tokenStore[index] = high << 4 | low
        }
        tokenCount = digits.count / 2
        tokenHash = StableHash.hash(token)
        return true
    }

    /// Stores the bytes in place of a token; false when they are too many.
    mutating func keepToken(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count <= tokenStore.count else { return false }
        tokenStore.copyMemory(from: bytes)
        tokenCount = bytes.count
        tokenHash = StableHash.hash(token)
        return true
    }

    /// Stores an `apns-id` if it has the canonical form, 8-4-4-4-12 hex digits.
    mutating func readID(_ value: UnsafeRawBufferPointer) -> Bool {
        guard value.count == Self.idBytes, let start = value.baseAddress else { return false }
        for (index, byte) in value.enumerated() {
            let isDash = index == 8 || index == 13 || index == 18 || index == 23
            guard isDash ? byte == UInt8(ascii: "-") : Hex.value(byte) != nil else { return false }
        }
        memcpy(id, start, Self.idBytes)
        idHash = StableHash.hash(value)
        return true
    }

    /// Makes an `apns-id` for a request without one.
    func writeID(from random: (UInt64, UInt64)) {
        UUIDText.write(random, to: id)
    }
}

/// Writes 128 bits as a UUID of version 4.
enum UUIDText {
    static func write(_ bits: (UInt64, UInt64), to text: UnsafeMutablePointer<UInt8>) {
        var high = bits.0 & ~0xF000 | 0x4000
        var low = bits.1 & ~(3 << 62) | (2 << 62)
        var index = 0
        for digit in 0..<32 {
            if digit == 8 || digit == 12 || digit == 16 || digit == 20 {
                text[index] = UInt8(ascii: "-")
                index += 1
            }
            if digit == 16 { swap(&high, &low) }
            text[index] = Hex.digit(UInt8(high >> 60))
            high <<= 4
            index += 1
        }
    }
}

/// The headers that APNs refuses when repeated.
struct HeaderSet: OptionSet {
    let rawValue: UInt16
    static let authorization = HeaderSet(rawValue: 1 << 0)
    static let topic = HeaderSet(rawValue: 1 << 1)
    static let pushType = HeaderSet(rawValue: 1 << 2)
    static let id = HeaderSet(rawValue: 1 << 3)
    static let priority = HeaderSet(rawValue: 1 << 4)
    static let expiration = HeaderSet(rawValue: 1 << 5)
    static let collapseID = HeaderSet(rawValue: 1 << 6)
    static let channelID = HeaderSet(rawValue: 1 << 7)
}

/// The facts of one request that validation needs, collected from its headers.
struct RequestFacts: Equatable {
    enum Method: Equatable { case missing, post, other }
    enum Path: Equatable { case missing, foreign, withoutToken, badToken, device, broadcast }
    enum Form: Equatable { case absent, good, bad }
    enum Kind: Equatable { case absent, unknown, known(PushType) }

    /// The topic, as far as its suffix and the list of known topics tell.
    struct Topic: Equatable {
        var suffix: TopicSuffix
        var isMDM = false
        var isAllowed = true
    }

    var method = Method.missing
    var path = Path.missing
    var id = Form.absent
    var topic: Topic?
    var pushType = Kind.absent
    var priority = Form.absent
    /// The figure of `apns-priority`; meaningful when `priority` is good.
    var priorityLevel: UInt8 = 10
    var expiration = Form.absent
    /// Whether `apns-expiration` is 0.
    var expiresAtOnce = false
    /// `apns-channel-id`, of a broadcast.
    var channel = Form.absent
    var collapseIDBytes = 0
    var repeatsHeader = false
    var authorization = Authorization.absent
    var payloadBytes = 0
    /// The first byte of the payload that is not white space.
    var payloadOpening: UInt8?

    enum Authorization: Equatable {
        case absent
        case good
        case refused(APNsReason)
    }
}

/// The values of `apns-push-type`, and the suffix that each requires of the topic.
///
/// Source: Apple, "Sending notification requests to APNs"; `widgets` and `controls` from the WidgetKit documentation.
enum PushType: String, CaseIterable {
    case alert, background, voip, complication, fileprovider, mdm, location, liveactivity, pushtotalk, widgets, controls

    var topicSuffix: TopicSuffix {
        switch self {
        case .alert, .background, .mdm: .none
        case .voip: .voip
        case .complication: .complication
        case .fileprovider: .fileprovider
        case .location: .location
        case .liveactivity: .liveactivity
        case .pushtotalk: .pushtotalk
        case .widgets: .widgets
        case .controls: .controls
        }
    }
}

enum TopicSuffix: String, CaseIterable {
    case none = ""
    case voip = ".voip"
    case complication = ".complication"
    case fileprovider = ".pushkit.fileprovider"
    case location = ".location-query"
    case liveactivity = ".push-type.liveactivity"
    case pushtotalk = ".voip-ptt"
    case widgets = ".push-type.widgets"
    case controls = ".push-type.controls"

    init(of topic: String) {
        self = Self.allCases.first { $0 != .none && topic.hasSuffix($0.rawValue) } ?? .none
    }
}

/// The checks APNs makes of a request; the first failed one is the answer.
///
/// Apple does not publish its order. This one is that of pushy's `ValidatingPushNotificationHandler`; the checks it
/// lacks stand beside their nearest relative.
struct Validation {
    var payloadBytesMax = 4096
    /// Source: Apple, "Generating a remote notification": 5 KB for VoIP.
    var voipPayloadBytesMax = 5120
    static let collapseIDBytesMax = 64

    /// Steps 1 to 7: what is wrong with the headers, whatever the connection.
    func complaintAboutForm(of request: RequestFacts) -> APNsReason? {
        if request.repeatsHeader { return .duplicateHeaders }
        if request.id == .bad { return .badMessageID }
        if request.method != .post { return .methodNotAllowed }
        if request.topic == nil { return .missingTopic }
        if request.collapseIDBytes > Self.collapseIDBytesMax { return .badCollapseID }
        if let complaint = complaintAboutPriority(of: request) { return complaint }
        if let complaint = complaintAboutPushType(of: request) { return complaint }
        if request.expiration == .bad { return .badExpirationDate }
        return complaintAboutPath(of: request)
    }

    /// Step 10: who sent it, and whether they may push to this topic.
    func complaintAboutSender(of request: RequestFacts) -> APNsReason? {
        switch request.authorization {
        case .absent: .missingProviderToken
        case .refused(let reason): reason
        case .good: request.topic?.isAllowed == false ? .topicDisallowed : nil
        }
    }

    /// Steps 11 and 12: what is wrong with the payload.
    func complaintAboutPayload(of request: RequestFacts) -> APNsReason? {
        if request.payloadBytes == 0 { return .payloadEmpty }
        let limit = request.pushType == .known(.voip) ? voipPayloadBytesMax : payloadBytesMax
        if request.payloadBytes > limit { return .payloadTooLarge }
        return request.payloadOpening == UInt8(ascii: "{") ? nil : .badRequestPayload
    }

    private func complaintAboutPriority(of request: RequestFacts) -> APNsReason? {
        guard request.priority != .bad else { return .badPriority }
        let isBackground = request.pushType == .known(.background)
        // An absent priority counts as 10, which background pushes may not have.
        return isBackground && request.priorityLevel != 5 ? .badPriority : nil
    }

    private func complaintAboutPushType(of request: RequestFacts) -> APNsReason? {
        switch request.pushType {
        case .absent: nil
        case .unknown: .invalidPushType
        case .known(.mdm): request.topic?.isMDM == true ? nil : .badTopic
        case .known(let type): request.topic?.suffix == type.topicSuffix ? nil : .badTopic
        }
    }

    private func complaintAboutPath(of request: RequestFacts) -> APNsReason? {
        switch request.path {
        case .withoutToken: .missingDeviceToken
        case .missing, .foreign: .badPath
        case .badToken: .badDeviceToken
        case .device, .broadcast: nil
        }
    }
}

/// The simulator's answer to one request: a status and, unless it is 200, a reason.
///
/// The reason is free text, so that a script can also name reasons that Apple does not have yet.
struct APNsVerdict {
    var status: Int
    var reason: String?
    /// When the token was last known to be invalid, in milliseconds since 1970. Comes with 410.
    var timestamp: Int64?
    var fields: [(name: String, value: String)] = []
    /// The body that a script names.
    var scriptedBody: String?

    /// The ledger's form of it; nil is 200.
    static func entry(_ verdict: APNsVerdict?) -> LedgerAnswer {
        LedgerAnswer(status: verdict?.status ?? 200, reason: verdict.map { $0.reason ?? "" })
    }

    /// The body of the answer: empty for 200, JSON otherwise.
    var body: String {
        if let scriptedBody { return scriptedBody }
        guard let reason else { return "" }
        guard let timestamp else { return #"{"reason":"\#(reason)"}"# }
        return #"{"reason":"\#(reason)","timestamp":\#(timestamp)}"#
    }
}

extension APNsVerdict {
    init(_ reason: APNsReason, timestamp: Int64? = nil) {
        self.init(status: reason.status, reason: reason.rawValue, timestamp: timestamp)
    }

    init(_ answer: ScriptedAnswer) {
        status = answer.status ?? answer.reason.flatMap { APNsReason(rawValue: $0)?.status } ?? 500
        reason = answer.reason
        timestamp = answer.timestamp
        fields = (answer.headers ?? [:]).sorted { $0.key < $1.key }.map { ($0.key.lowercased(), $0.value) }
        if let retryAfter = answer.retryAfter { fields.append(("retry-after", retryAfter)) }
        scriptedBody = answer.body
    }
}

/// The reasons APNs gives for refusing a request, as written in the body of its answer.
///
/// Source: Apple, "Handling notification responses from APNs". `BadRequestPayload` is Apple's word for broadcast
/// requests; the simulator also uses it for a payload that is not a JSON object, for which Apple publishes no reason.
package enum APNsReason: String, Sendable, Hashable, CaseIterable {
    case badCollapseID = "BadCollapseId"
    case badDeviceToken = "BadDeviceToken"
    case badExpirationDate = "BadExpirationDate"
    case badMessageID = "BadMessageId"
    case badPriority = "BadPriority"
    case badRequestPayload = "BadRequestPayload"
    case badTopic = "BadTopic"
    case deviceTokenNotForTopic = "DeviceTokenNotForTopic"
    case duplicateHeaders = "DuplicateHeaders"
    case idleTimeout = "IdleTimeout"
    case invalidPushType = "InvalidPushType"
    case missingDeviceToken = "MissingDeviceToken"
    case missingTopic = "MissingTopic"
    case payloadEmpty = "PayloadEmpty"
    case topicDisallowed = "TopicDisallowed"
    case badCertificate = "BadCertificate"
    case badCertificateEnvironment = "BadCertificateEnvironment"
    case badEnvironmentKeyIDInToken = "BadEnvironmentKeyIdInToken"
    case expiredProviderToken = "ExpiredProviderToken"
    case forbidden = "Forbidden"
    case invalidProviderToken = "InvalidProviderToken"
    case missingProviderToken = "MissingProviderToken"
    case unrelatedKeyIDInToken = "UnrelatedKeyIdInToken"
    case badPath = "BadPath"
    case methodNotAllowed = "MethodNotAllowed"
    case expiredToken = "ExpiredToken"
    case unregistered = "Unregistered"
    case payloadTooLarge = "PayloadTooLarge"
    case tooManyProviderTokenUpdates = "TooManyProviderTokenUpdates"
    case tooManyRequests = "TooManyRequests"
    case internalServerError = "InternalServerError"
    case serviceUnavailable = "ServiceUnavailable"
    case shutdown = "Shutdown"
    // Of broadcast channels. Source: Apple, "Handling error responses from Apple Push Notification service".
    case featureNotEnabled = "FeatureNotEnabled"
    case missingChannelID = "MissingChannelId"
    case badChannelID = "BadChannelId"
    case channelNotRegistered = "ChannelNotRegistered"
    case badRequestParams = "BadRequestParams"
    case missingPushType = "MissingPushType"
    case cannotCreateChannelConfig = "CannotCreateChannelConfig"
    case topicMismatch = "TopicMismatch"

    package var status: Int {
        switch self {
        case .badCertificate, .badCertificateEnvironment, .badEnvironmentKeyIDInToken, .expiredProviderToken,
            .forbidden, .invalidProviderToken, .missingProviderToken, .topicMismatch, .unrelatedKeyIDInToken:
            403
        case .badPath: 404
        case .methodNotAllowed: 405
        case .expiredToken, .unregistered: 410
        case .payloadTooLarge: 413
        case .tooManyProviderTokenUpdates, .tooManyRequests: 429
        case .internalServerError: 500
        case .serviceUnavailable, .shutdown: 503
        default: 400
        }
    }
}

enum JSONObject {
    static func isObject(_ bytes: [UInt8]) -> Bool {
        (try? JSONDecoder().decode([String: Anything].self, from: Data(bytes))) != nil
    }

    /// Any JSON value, ignored.
    private struct Anything: Decodable {
        init(from decoder: any Decoder) throws {}
    }
}

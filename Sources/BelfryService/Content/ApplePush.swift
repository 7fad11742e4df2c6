/// The part of a push for Apple's devices: a push type, its headers, and the payload in Apple's format.
///
/// A value has been validated against APNs' rules; only the size is checked later, when it is rendered.
package struct ApplePush: Sendable, Hashable {
    package let type: Kind
    /// nil for the default of the type.
    package let priority: Priority?
    /// nil for the push's own.
    package let collapseID: String?
    /// Whether APNs keeps it for devices that cannot be reached at once.
    package let isStored: Bool
    /// `aps` and, beside it, the app's own members.
    package var payload: JSONObject
    /// Whether the payload is sent as it is, without a receipt id: a sender of Apple's own protocol wrote it.
    package let isVerbatim: Bool

    /// The values of `apns-push-type`. Source: Apple, "Sending notification requests to APNs".
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        case alert, background, voip, complication
        case fileProvider = "fileprovider"
        case location, mdm
        case liveActivity = "liveactivity"
        case pushToTalk = "pushtotalk"
        case widgets, controls
    }

    /// The values of `apns-priority`.
    package enum Priority: Int64, Sendable, Hashable, CaseIterable {
        case immediate = 10
        case considerate = 5
        case low = 1
    }

    /// The `event` of a Live Activity's payload.
    package enum Event: String, Sendable, Hashable, CaseIterable {
        case start, update, end
    }

    /// The most bytes of a collapse id. Source: Apple, `apns-collapse-id`.
    package static let collapseIDBytesMax = 64
    /// The time for which a call, or a push-to-talk turn, is worth a notification when the sender names no expiry.
    package static let callTimeout = Duration.seconds(60)

    package var event: Event? { payload["aps"]?["event"]?.stringValue.flatMap(Event.init) }

    /// The uses of the tokens that APNs accepts the push for.
    package var tokenUses: Set<AppleTokenUse> {
        switch type {
        case .alert, .background: [.app]
        case .voip: [.voip]
        case .complication: [.complication]
        case .fileProvider: [.fileProvider]
        case .location: [.location]
        case .mdm: [.mdm]
        // A channel takes no start: no device has subscribed to it for an activity that does not exist yet.
        case .liveActivity: event == .start ? [.liveActivityStart] : [.liveActivity, .broadcast]
        case .pushToTalk: [.pushToTalk]
        case .widgets: [.widgets]
        case .controls: [.controls]
        }
    }

    /// The time for which a push without an expiry is retried; nil for the usual time.
    package var window: Duration? {
        if type.isCall { return Self.callTimeout }
        // A sender of Apple's own protocol means now or never.
        return isVerbatim && !isStored ? .seconds(EndpointMessage.nowSeconds) : nil
    }

    package init(
        type: Kind, priority: Priority? = nil, collapseID: String? = nil, isStored: Bool? = nil,
        payload: JSONObject = [:], field: String = "message.apns"
    ) throws(InvalidInput) {
        self.type = type
        self.priority = priority
        self.collapseID = collapseID
        self.isStored = isStored ?? !type.isCall
        isVerbatim = false
        self.payload = try ApplePayloadRules.checked(payload, of: type, field: "\(field).payload")
        try check(field)
    }

    /// Creates a value that was validated before.
    init(
        unchecked type: Kind, priority: Priority?, collapseID: String?, isStored: Bool, payload: JSONObject,
        isVerbatim: Bool = false
    ) {
        self.isVerbatim = isVerbatim
        self.type = type
        self.priority = priority
        self.collapseID = collapseID
        self.isStored = isStored
        self.payload = payload
    }

    /// Takes a payload for the app, or for calls, without checking it: keys that Apple added later pass.
    ///
    /// APNs takes background updates at the lower priority only.
    package init(verbatim payload: JSONObject, for use: AppleTokenUse, isConsiderate: Bool, isStored: Bool) {
        let aps = payload["aps"]
        let isShown = ["alert", "badge", "sound"].contains { aps?[$0] != nil }
        let type: Kind =
            use == .voip ? .voip : !isShown && aps?["content-available"] == .integer(1) ? .background : .alert
        self.init(
            unchecked: type, priority: isConsiderate || type == .background ? .considerate : .immediate,
            collapseID: nil, isStored: isStored, payload: payload, isVerbatim: true)
    }

    /// Takes a payload from a sender that named push type, priority and collapse id, as Apple's provider API has them. A priority that the
    /// type does not take gives way to the default.
    package init(
        verbatim payload: JSONObject, for use: AppleTokenUse, kind: Kind?, priority: Priority?,
        collapseID: String?, isStored: Bool
    ) {
        let usual = ApplePush(
            verbatim: payload, for: use, isConsiderate: priority == .considerate, isStored: isStored)
        let type = kind ?? usual.type
        self.init(
            unchecked: type, priority: type.priorities.first { $0 == priority } ?? type.priorities[0],
            collapseID: collapseID, isStored: isStored, payload: payload, isVerbatim: true)
    }

    /// Returns the push with another payload of the same shape.
    func saying(_ payload: JSONObject) -> ApplePush {
        ApplePush(
            unchecked: type, priority: priority, collapseID: collapseID, isStored: isStored, payload: payload,
            isVerbatim: isVerbatim)
    }

    private func check(_ field: String) throws(InvalidInput) {
        if let priority, !type.priorities.contains(priority) {
            let known = type.priorities.map { "\($0.rawValue)" }.joined(separator: ", ")
            throw InvalidInput(
                field: "\(field).priority", "is \(priority.rawValue), type \(type.rawValue) takes \(known)")
        }
        if ApplePayloadRules.isCritical(payload), let priority, priority != .immediate {
            throw InvalidInput(field: "\(field).priority", "is \(priority.rawValue), a critical alert takes 10")
        }
        guard let collapseID else { return }
        let bytes = collapseID.utf8
        guard 1...Self.collapseIDBytesMax ~= bytes.count else {
            throw InvalidInput(
                field: "\(field).collapse_id", "is \(bytes.count) bytes, APNs takes 1 to \(Self.collapseIDBytesMax)")
        }
        guard Self.isPlain(collapseID) else { throw InvalidInput(field: "\(field).collapse_id", Self.notPlain) }
    }

    /// Whether a text can go into a header as it is. Source: RFC 9110 §5.5.
    package static func isPlain(_ text: String) -> Bool {
        let bytes = text.utf8
        return bytes.first != 0x20 && bytes.last != 0x20 && bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }

    static let notPlain = "begins or ends with a space, or holds control characters"
}

extension ApplePush.Kind {
    /// Whether the push is useless after a minute.
    package var isCall: Bool { self == .voip || self == .pushToTalk }

    /// The priorities APNs accepts, the default first. Source: Apple, `apns-priority`.
    package var priorities: [ApplePush.Priority] {
        switch self {
        case .background: [.considerate]
        case .liveActivity, .location: [.immediate, .considerate]
        case .pushToTalk: [.immediate]
        default: [.immediate, .considerate, .low]
        }
    }

    /// The most bytes of a payload. Source: Apple, "Generating a remote notification"; "Sending broadcast push
    /// notification requests to APNs".
    package func payloadBytesMax(for use: AppleTokenUse) -> Int {
        self == .voip || use == .broadcast ? 5_120 : 4_096
    }
}

// MARK: - As senders write it

extension ApplePush {
    private static let fields = ["type", "priority", "collapse_id", "store", "payload"]

    /// Reads `{"type": …, "priority": …, "collapse_id": …, "store": …, "payload": {…}}`. Unknown members are refused.
    package init(_ value: JSONValue, field: String = "message.apns") throws(InvalidInput) {
        let members = try value.members(field)
        for name in members.keys.sorted() where !Self.fields.contains(name) {
            throw .unknown("'\(field).\(name)'", name, notOf: "a field of this request", known: Self.fields)
        }
        var priority: Priority?
        if let value = members["priority"], !value.isNull {
            guard case .integer(let number) = value, let known = Priority(rawValue: number) else {
                throw InvalidInput(field: "\(field).priority", "has to be 10, 5 or 1")
            }
            priority = known
        }
        try self.init(
            type: try members["type"]?.choice("\(field).type") ?? .alert, priority: priority,
            collapseID: try members["collapse_id"]?.text("\(field).collapse_id"),
            isStored: try members["store"]?.flag("\(field).store"),
            payload: try members["payload"]?.members("\(field).payload") ?? [:], field: field)
    }
}

/// Strictly typed accessors; `null` counts as missing.
extension JSONValue {
    fileprivate func members(_ field: String) throws(InvalidInput) -> JSONObject {
        try isNull ? [:] : demandObject(field)
    }

    fileprivate func text(_ field: String) throws(InvalidInput) -> String? {
        try isNull ? nil : demandText(field)
    }

    fileprivate func flag(_ field: String) throws(InvalidInput) -> Bool? {
        switch self {
        case .null: nil
        case .bool(let flag): flag
        default: throw InvalidInput(field: field, "has to be true or false, it is \(typeName)")
        }
    }

    fileprivate func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ field: String
    ) throws(InvalidInput) -> Choice? {
        guard let text = try text(field) else { return nil }
        guard let choice = Choice(rawValue: text) else {
            throw .choice(field, text, of: Choice.allCases.map(\.rawValue))
        }
        return choice
    }
}

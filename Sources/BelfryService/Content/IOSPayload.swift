package import FoundationEssentials

/// The payload for an iOS device, and the headers that follow from it.
///
/// Source: Apple, "Generating a remote notification"; PCF Push API, "Custom fields for iOS pushes".
package struct IOSPayload: Sendable, Hashable {
    package let bytes: [UInt8]
    /// The push type: the sender's own, or else derived from whether there is anything to show, play or count.
    package let type: ApplePush.Kind

    package static let bytesMax = 4_096

    /// A background update, which APNs accepts at priority 5 only.
    package var isBackground: Bool { type == .background }

    /// - Parameters:
    ///   - use: the use of the tokens that the payload is sent to.
    ///   - receiptID: goes to the root of the payload, where the client SDKs look for it; nil leaves it out.
    ///   - sentAt: when the message leaves, for devices that measure latency by heartbeats.
    /// - Throws: `InvalidInput` when a field has the wrong type, a key is reserved, or the whole exceeds APNs' limit.
    package init(
        _ content: Push.Content, for use: AppleTokenUse = .app, receiptID: UUID?, sentAt: Instant
    ) throws(InvalidInput) {
        if let apple = content.apple {
            type = apple.type
            bytes = try Self.root(of: apple, content, receiptID: receiptID).encoded
            try check("message.apns.payload", limit: type.payloadBytesMax(for: use))
            return
        }
        let custom = try content.members("ios") ?? [:]
        var aps = try Self.aps(custom, body: content.body)
        if aps["badge"] == nil, let badge = content.badge { aps["badge"] = badge.inPayload }
        var extra = try Self.extra(custom["extra"])
        content.shared.fill(&aps, in: &extra)
        if content.pacing.isPassive { aps.quieten() }
        var root = extra
        root["aps"] = .object(aps)
        if let receiptID { root["receiptId"] = .string(receiptID.lowercased) }
        if root[HeartbeatPush.sentAtKey] != nil {
            root[HeartbeatPush.sentToDeviceAtKey] = .string(String(sentAt.milliseconds))
        }
        bytes = JSONValue.object(root).encoded
        let isSilent = aps["alert"] == nil && aps["badge"] == nil && aps["sound"] == nil
        type = isSilent && aps["content-available"] == .integer(1) ? .background : .alert
        try check("message", limit: Self.bytesMax)
    }

    /// Throws `InvalidInput` where a field for iOS has the wrong type, whichever platforms are targeted.
    package static func checkTypes(of content: Push.Content) throws(InvalidInput) {
        let custom = try content.members("ios") ?? [:]
        _ = try aps(custom, body: content.body)
        _ = try extra(custom["extra"])
    }

    private func check(_ field: String, limit: Int) throws(InvalidInput) {
        guard bytes.count <= limit else {
            throw .tooLarge(field: field, "an iOS", bytes: bytes.count, "APNs takes", limit: limit)
        }
    }

    /// A payload in Apple's format, with the push's text where an alert has none of its own.
    private static func root(
        of apple: ApplePush, _ content: Push.Content, receiptID: UUID?
    ) throws(InvalidInput) -> JSONValue {
        var root = apple.payload
        guard apple.tokenUses == [.app], !apple.isVerbatim else { return .object(root) }
        if let receiptID { root["receiptId"] = .string(receiptID.lowercased) }
        guard case .object(var aps)? = root["aps"] else { return .object(root) }
        if let own = aps["badge"]?.stringValue.flatMap(BadgeChange.init(counting:)) {
            aps["badge"] = own.inPayload
            root["aps"] = .object(aps)
        }
        guard apple.type == .alert else {
            content.shared.fillData(in: &root)
            return .object(root)
        }
        if aps["badge"] == nil, let badge = content.badge { aps["badge"] = badge.inPayload }
        if let body = content.body { aps["alert"] = (aps["alert"] ?? .null).alert(saying: body) }
        content.shared.fill(&aps, in: &root)
        if content.pacing.isPassive { aps.quieten() }
        guard aps["alert"] != nil || aps["badge"] != nil || aps["sound"] != nil else {
            throw InvalidInput(
                field: "message.apns.payload.aps", "has no alert, badge or sound, which type alert needs")
        }
        guard aps["mutable-content"] == nil || aps["alert"] != nil else {
            throw InvalidInput(field: "message.apns.payload.aps.mutable-content", "needs an alert")
        }
        root["aps"] = .object(aps)
        return .object(root)
    }

    private static func aps(_ custom: JSONObject, body: String?) throws(InvalidInput) -> JSONObject {
        var members: [JSONObject.Member] = []
        for (key, value) in custom where key != "extra" && !value.isNull {
            let value =
                switch key {
                case "alert": try alert(value, body: body)
                case "content-available", "mutable-content": try flag(value, field: "message.custom.ios.\(key)")
                case "badge": try number(value, field: "message.custom.ios.badge")
                case "sound": try sound(value)
                case "category": try string(value, field: "message.custom.ios.category")
                default: value
                }
            members.append((key, value))
        }
        var aps = JSONObject(members.sorted { $0.key < $1.key })
        if let body, aps.own("alert") == nil { aps["alert"] = .string(body) }
        return aps
    }

    private static func alert(_ value: JSONValue, body: String?) throws(InvalidInput) -> JSONValue {
        let field = "message.custom.ios.alert"
        guard case .object(let members) = value else { return try string(value, field: field) }
        var alert = members.filter { !$0.value.isNull }
        for key in ["body", "title", "title-loc-key", "action-loc-key", "loc-key", "launch-image"] {
            if let value = alert[key] { alert[key] = try string(value, field: "\(field).\(key)") }
        }
        for key in ["loc-args", "title-loc-args"] {
            if let value = alert[key] { alert[key] = try strings(value, field: "\(field).\(key)") }
        }
        if let body, alert.own("body") == nil { alert["body"] = .string(body) }
        return JSONValue.object(alert).sorted
    }

    /// A name, or a dictionary for critical alerts.
    private static func sound(_ value: JSONValue) throws(InvalidInput) -> JSONValue {
        if case .object = value { return value.sorted }
        return try string(value, field: "message.custom.ios.sound")
    }

    private static func extra(_ value: JSONValue?) throws(InvalidInput) -> JSONObject {
        let field = "message.custom.ios.extra"
        guard let value, !value.isNull else { return [:] }
        let members = try value.demandObject(field)
        for reserved in ["aps", "receiptId"] where members[reserved] != nil {
            throw InvalidInput(field: "\(field).\(reserved)", "is reserved: the server writes it")
        }
        return members
    }

    /// Reads the documented boolean, which goes to APNs as 1 or 0. Senders that know APNs send the number.
    private static func flag(_ value: JSONValue, field: String) throws(InvalidInput) -> JSONValue {
        switch value {
        case .bool(let flag): return .integer(flag ? 1 : 0)
        case .integer(0), .integer(1): return value
        default: throw InvalidInput(field: field, "has to be a boolean, it is \(value.typeName)")
        }
    }

    private static func number(_ value: JSONValue, field: String) throws(InvalidInput) -> JSONValue {
        switch value {
        case .integer: return value
        case .number:
            guard let number = value.wholeNumber else { throw .value(field, value, not: "a whole number") }
            return .integer(number)
        case .string(let text):
            if let change = try BadgeChange(counting: text, field: field) { return change.inPayload }
            guard let number = Int64(text) else { fallthrough }
            return .integer(number)
        default: throw .value(field, value, not: "a whole number")
        }
    }

    private static func string(_ value: JSONValue, field: String) throws(InvalidInput) -> JSONValue {
        .string(try value.demandText(field))
    }

    private static func strings(_ value: JSONValue, field: String) throws(InvalidInput) -> JSONValue {
        guard case .array(let items) = value else {
            throw InvalidInput(field: field, "has to be an array of strings, it is \(value.typeName)")
        }
        for (index, item) in items.enumerated() { _ = try string(item, field: "\(field)[\(index)]") }
        return value
    }
}

extension JSONObject {
    /// Leaves the screen dark, and makes no sound. Source: Apple, `interruption-level`.
    fileprivate mutating func quieten() {
        self["sound"] = nil
        if self["alert"] != nil { self["interruption-level"] = .string("passive") }
    }
}

extension BadgeChange {
    /// The number, or a mark that is replaced by each device's number.
    var inPayload: JSONValue {
        switch self {
        case .set(let number): .integer(number)
        case .add: .string(PayloadTemplate.badgeMark)
        }
    }
}

extension SharedFields {
    /// The member from which a notification service extension, such as BelfryKit's, reads the address of a picture.
    package static let pictureKey = "attachment_url"

    /// Adds fields that the sender's own part for Apple's devices does not have. A push with data only wakes the app.
    fileprivate func fill(_ aps: inout JSONObject, in root: inout JSONObject) {
        guard !isEmpty else { return }
        if let title { aps["alert"] = (aps["alert"] ?? .null).alert(titled: title) }
        for (key, name) in [("sound", Name.sound), ("category", .category), ("thread-id", .thread)] {
            guard let text = self[name], aps.own(key) == nil else { continue }
            aps[key] = .string(text)
        }
        if image != nil, aps["alert"] != nil, aps["mutable-content"] == nil { aps["mutable-content"] = .integer(1) }
        fillData(in: &root)
        let isShown = aps["alert"] != nil || aps["badge"] != nil || aps["sound"] != nil
        if !data.isEmpty, !isShown, aps["content-available"] == nil { aps["content-available"] = .integer(1) }
    }

    /// Adds the app's own members, and behind them those for the link and the picture.
    fileprivate func fillData(in root: inout JSONObject) {
        root = root.merging(data) { own, _ in own }
        for (name, text) in [("link", link), (Self.pictureKey, image)] where root[name] == nil {
            root[name] = text.map(JSONValue.string)
        }
    }
}

extension JSONValue {
    /// An alert with this title, unless it has its own.
    fileprivate func alert(titled title: String) -> JSONValue {
        switch self {
        case .null, .string(""): return .object(["title": .string(title)])
        case .string(let body): return .object(["title": .string(title), "body": .string(body)])
        case .object(var members) where members.own("title") == nil && members.own("title-loc-key") == nil:
            members["title"] = .string(title)
            return .object(members)
        default: return self
        }
    }

    /// An alert's dictionary with this text, unless it has its own.
    fileprivate func alert(saying body: String) -> JSONValue {
        switch self {
        case .null, .string(""): return .string(body)
        case .object(var members) where members.own("body") == nil && members.own("loc-key") == nil:
            members["body"] = .string(body)
            return .object(members)
        default: return self
        }
    }
}

/// Apple's rules for the payload of each push type: the keys of `aps`, their types, and which require one another.
///
/// Source: Apple, "Generating a remote notification"; "Starting and updating Live Activities with ActivityKit push
/// notifications"; WidgetKit for `content-changed`.
package enum ApplePayloadRules {
    /// The payload in the form that is sent: a required key that has only one value is filled in.
    static func checked(
        _ payload: JSONObject, of type: ApplePush.Kind, field: String
    ) throws(InvalidInput) -> JSONObject {
        try checkRoot(payload, of: type, field)
        var payload = payload
        var aps = try payload["aps"]?.demandObject("\(field).aps") ?? [:]
        for (key, value) in type.filled where aps[key] == nil { aps[key] = value }
        let shapes = type.shapes
        for (key, value) in aps.sorted(by: { $0.key < $1.key }) {
            guard let shape = shapes[key] else {
                let meant = shapes.keys.nearest(to: key).map { " (is \($0) meant?)" } ?? ""
                throw InvalidInput(
                    field: "\(field).aps.\(key)", "is not a key of type \(type.rawValue)\(meant)\(type.inWords)")
            }
            // Senders write 3.0 for 3, which Apple refuses.
            let value = shape.isWhole ? value.wholeNumber.map(JSONValue.integer) ?? value : value
            aps[key] = value
            try shape.check(value, "\(field).aps.\(key)")
        }
        if type == .liveActivity { try checkActivity(aps, "\(field).aps") }
        if type != .mdm { payload["aps"] = .object(aps) }
        return payload
    }

    /// Checks PCF's part for iOS in the sender's form; its keys are those of `aps`, and `extra`.
    ///
    /// Values that `IOSPayload` checks and corrects itself are left to it, such as `true` for 1.
    static func check(custom members: JSONObject, _ field: String) throws(InvalidInput) {
        for (key, value) in members.sorted(by: { $0.key < $1.key }) where !value.isNull {
            try PayloadShape.check(customKey: key, value, field)
        }
    }

    /// Whether its sound is played despite silent mode and Focus. Source: Apple, `sound` as a dictionary.
    package static func isCritical(_ payload: JSONObject) -> Bool {
        payload["aps"]?["sound"]?["critical"] == .integer(1)
    }

    private static func checkRoot(
        _ payload: JSONObject, of type: ApplePush.Kind, _ field: String
    ) throws(InvalidInput) {
        switch type {
        case .mdm:
            guard payload["mdm"]?.stringValue?.isEmpty == false else {
                throw InvalidInput(field: "\(field).mdm", "is missing: it is the device's PushMagic, a string")
            }
            for key in payload.keys.sorted() where key != "mdm" {
                throw InvalidInput(field: "\(field).\(key)", "is not a key of type mdm, which takes mdm alone")
            }
        case .liveActivity:
            // The system reads it, not the app: the app's own members are in content-state.
            for key in payload.keys.sorted() where key != "aps" {
                throw InvalidInput(field: "\(field).\(key)", "is not a key of type liveactivity, which takes aps alone")
            }
        case .alert, .background:
            guard payload["receiptId"] == nil else {
                throw InvalidInput(field: "\(field).receiptId", "is reserved: the server writes it")
            }
        default: return
        }
    }

    private static func checkActivity(_ aps: JSONObject, _ field: String) throws(InvalidInput) {
        for key in ["timestamp", "event", "content-state"] where aps[key] == nil {
            throw InvalidInput(field: "\(field).\(key)", "is missing: type liveactivity needs it")
        }
        let event = aps["event"]?.stringValue.flatMap(ApplePush.Event.init)
        if event == .start {
            for key in ["attributes-type", "attributes", "alert"] where aps[key] == nil {
                throw InvalidInput(field: "\(field).\(key)", "is missing: event start needs it")
            }
        } else {
            for key in ["attributes-type", "attributes", "input-push-token", "input-push-channel"]
            where aps[key] != nil {
                throw InvalidInput(field: "\(field).\(key)", "goes with event start alone")
            }
        }
        guard aps["dismissal-date"] == nil || event == .end else {
            throw InvalidInput(field: "\(field).dismissal-date", "goes with event end alone")
        }
        guard aps["input-push-token"] == nil || aps["input-push-channel"] == nil else {
            throw InvalidInput(field: "\(field).input-push-token", "and input-push-channel exclude each other")
        }
    }
}

extension ApplePush.Kind {
    /// The keys of `aps`.
    fileprivate var shapes: [String: PayloadShape] {
        switch self {
        case .alert: PayloadShape.notification
        // PushKit passes the whole payload to the app, which may show it.
        case .voip, .complication: PayloadShape.notification
        case .background: ["content-available": .one]
        case .liveActivity: PayloadShape.activity
        case .widgets, .controls: ["content-changed": .yes]
        case .fileProvider, .location, .mdm, .pushToTalk: [:]
        }
    }

    /// The members that the type always has.
    fileprivate var filled: JSONObject {
        switch self {
        case .background: ["content-available": .integer(1)]
        case .widgets, .controls: ["content-changed": .bool(true)]
        default: [:]
        }
    }

    fileprivate var inWords: String {
        shapes.isEmpty ? ", which has none" : ", which takes \(shapes.keys.sorted().joined(separator: ", "))"
    }
}

/// The required shape of a key's value.
private enum PayloadShape {
    case text, texts, object
    /// The number 1; leaving the key out means no.
    case one
    case yes
    /// A whole number, 0 or more.
    case count
    /// A whole number, 0 or more, or a text that counts up.
    case badge
    /// Unix seconds.
    case seconds
    case fraction, number
    case level, event
    case alert, activityAlert
    case sound

    static let notification: [String: PayloadShape] = [
        "alert": .alert, "badge": .badge, "sound": .sound, "thread-id": .text, "category": .text,
        "content-available": .one, "mutable-content": .one, "target-content-id": .text, "interruption-level": .level,
        "relevance-score": .fraction, "filter-criteria": .text, "url-args": .texts,
    ]

    static let activity: [String: PayloadShape] = [
        "timestamp": .seconds, "event": .event, "content-state": .object, "alert": .activityAlert, "sound": .sound,
        "stale-date": .seconds, "dismissal-date": .seconds, "relevance-score": .number, "attributes-type": .text,
        "attributes": .object, "input-push-token": .one, "input-push-channel": .text,
    ]

    private static let alertKeys: [String: PayloadShape] = [
        "title": .text, "subtitle": .text, "body": .text, "launch-image": .text, "title-loc-key": .text,
        "title-loc-args": .texts, "subtitle-loc-key": .text, "subtitle-loc-args": .texts, "loc-key": .text,
        "loc-args": .texts, "summary-arg": .text, "summary-arg-count": .count,
    ]

    /// The keys of an alert in PCF's format: Apple's, `action-loc-key` and `action`.
    private static let customAlertKeys = alertKeys.merging(["action-loc-key": .text, "action": .text]) { $1 }

    fileprivate static func check(customKey key: String, _ value: JSONValue, _ field: String) throws(InvalidInput) {
        switch key {
        case "extra", "category", "content-available", "mutable-content": return
        case "badge":
            // A text of digits is taken as PCF took it.
            let number = value.stringValue.flatMap { Int64($0) } ?? value.wholeNumber
            guard number == nil || number.map({ 0...BadgeChange.keptMax ~= $0 }) == true else {
                throw .value("\(field).badge", value, not: BadgeChange.form)
            }
        case "aps":
            throw InvalidInput(
                field: "\(field).aps",
                "is not a key of aps: what it holds stands in \(field) itself, such as \(field).alert")
        case "alert":
            guard case .object(let alert) = value else { return }
            try check(alert.filter { !$0.value.isNull }, customAlertKeys, "\(field).alert")
        default:
            guard let shape = notification[key] else {
                throw .unknown(
                    "\(field).\(key)", key, notOf: "a key of aps (data for the app itself are members of extra)",
                    known: (notification.keys + ["extra"]).sorted())
            }
            try shape.check(value, "\(field).\(key)")
        }
    }

    fileprivate var isWhole: Bool { [.one, .count, .badge, .seconds].contains(self) }

    private static let levels = ["passive", "active", "time-sensitive", "critical"]

    func check(_ value: JSONValue, _ field: String) throws(InvalidInput) {
        switch (self, value) {
        case (.text, .string), (.yes, .bool(true)), (.one, .integer(1)), (.object, .object): return
        case (.count, .integer(0...)), (.seconds, .integer(0...)), (.badge, .integer(0...)): return
        case (.badge, .string(let text)) where try BadgeChange(counting: text, field: field) != nil: return
        case (.number, .integer), (.number, .number): return
        case (.fraction, .integer(0...1)): return
        case (.fraction, .number(let number)) where 0...1 ~= number.double: return
        case (.level, .string(let level)) where Self.levels.contains(level): return
        case (.event, .string(let event)) where ApplePush.Event(rawValue: event) != nil: return
        case (.texts, .array(let elements)):
            for (index, element) in elements.enumerated() { try Self.text.check(element, "\(field)[\(index)]") }
        case (.alert, .string): return
        case (.alert, .object(let members)): try Self.check(members, Self.alertKeys, field)
        case (.activityAlert, .object(let members)): try Self.checkActivityAlert(members, field)
        case (.sound, .string): return
        case (.sound, .object(let members)): try Self.checkSound(members, field)
        default: throw .value(field, value, not: expectation, known: self == .level ? Self.levels : [])
        }
    }

    private static func check(
        _ members: JSONObject, _ shapes: [String: PayloadShape], _ field: String
    ) throws(InvalidInput) {
        for (key, value) in members.sorted(by: { $0.key < $1.key }) {
            guard let shape = shapes[key] else {
                throw .unknown("\(field).\(key)", key, notOf: "a key of this dictionary", known: shapes.keys.sorted())
            }
            try shape.check(value, "\(field).\(key)")
        }
    }

    /// Title and body are texts, or a key and arguments each.
    private static func checkActivityAlert(_ members: JSONObject, _ field: String) throws(InvalidInput) {
        for (key, value) in members.sorted(by: { $0.key < $1.key }) {
            switch (key, value) {
            case ("title", .object(let words)), ("body", .object(let words)):
                try check(words, ["loc-key": .text, "loc-args": .texts], "\(field).\(key)")
            default: try check([key: value], ["title": .text, "body": .text, "sound": .sound], field)
            }
        }
    }

    /// A dictionary makes a critical alert. Source: Apple, `critical`, `name`, `volume`.
    private static func checkSound(_ members: JSONObject, _ field: String) throws(InvalidInput) {
        try check(members, ["critical": .count, "name": .text, "volume": .fraction], field)
        guard members["name"] != nil else { throw InvalidInput(field: "\(field).name", "is missing") }
        switch members["critical"] {
        case nil, .integer(0), .integer(1): return
        default: throw InvalidInput(field: "\(field).critical", "has to be 1 or 0")
        }
    }

    private var expectation: String {
        switch self {
        case .text: "a string"
        case .texts: "an array of strings"
        case .object: "an object"
        case .one: "1, or left out"
        case .yes: "true"
        case .count: "a whole number from 0"
        case .badge: #"a whole number from 0, or a text such as "+1""#
        case .seconds: "seconds since 1970, a whole number"
        case .fraction: "a number from 0 to 1"
        case .number: "a number"
        case .level: "one of \(Self.levels.joined(separator: ", "))"
        case .event: "one of \(ApplePush.Event.allCases.map(\.rawValue).joined(separator: ", "))"
        case .alert: "a string or an object"
        case .activityAlert: "an object"
        case .sound: "a string, or an object for a critical alert"
        }
    }
}

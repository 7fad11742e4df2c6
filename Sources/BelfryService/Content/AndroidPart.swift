/// The fields of `message.custom.android` and similar parts that have a meaning; all others are data for the app.
///
/// An invalid value of such a field would arrive as data, and have no effect. So would a field of the provider's own API that has
/// another name here. Source: Firebase, REST reference, AndroidConfig and AndroidNotification.
package enum AndroidPart {
    /// The part for all of Android's services, and those for one alone.
    static let names = ["android"] + PlatformKind.allCases.flatMap(\.androidForm.parts)

    private static let forms = Dictionary(
        uniqueKeysWithValues: PlatformKind.allCases.flatMap { kind in
            kind.androidForm.parts.map { ($0, kind.androidForm) }
        })

    private static let priorities = ["high", "normal"]

    /// Google writes it in both cases.
    static func isHigh(_ priority: JSONValue?) -> Bool { priority?.stringValue?.lowercased() == "high" }

    /// Throws with the first field that has an invalid value, or that is the provider's and not read here.
    static func check(_ members: JSONObject, of part: String) throws(InvalidInput) {
        let form = forms[part] ?? PlatformKind.androidFCM.androidForm
        // Senders that fill in every field send empty texts.
        for (key, value) in members where !value.isNull && value != .string("") {
            let field = "message.custom.\(part).\(key)"
            switch key {
            case "message", "collapse_key": try checkText(value, field)
            case "priority" where form.hasGoogleKeys: try checkPriority(value, field)
            case "category" where !form.categories.isEmpty: try check(value, among: form.categories, field)
            default:
                guard let own = form.foreignFields[key], own.isMeant(by: value) else { continue }
                throw InvalidInput(
                    field: field,
                    "is not sent as a field of the provider's: \(own.advice); for the app it goes into message.data")
            }
        }
    }

    private static func checkText(_ value: JSONValue, _ field: String) throws(InvalidInput) {
        switch value {
        case .string, .integer, .number: return
        default: throw .value(field, value, not: "a text")
        }
    }

    /// Numbers are those of Android's own notifications, which apps read by themselves. Source: Android, `Notification.priority`.
    private static func checkPriority(_ value: JSONValue, _ field: String) throws(InvalidInput) {
        if let text = value.stringValue, priorities.contains(text.lowercased()) { return }
        if let number = value.wholeNumber ?? value.stringValue.flatMap({ Int64($0) }), -2...2 ~= number { return }
        throw .value(field, value, not: "high or normal", known: priorities)
    }

    /// Services add categories, so only names that are almost one of these are refused.
    private static func check(_ value: JSONValue, among categories: [String], _ field: String) throws(InvalidInput) {
        guard let text = value.stringValue else { throw .value(field, value, not: "a text such as MARKETING") }
        guard !categories.contains(text), let meant = categories.nearest(to: text) else { return }
        let isNear = NearestName.plain(text).edits(to: NearestName.plain(meant)) <= 2
        guard isNear else { return }
        throw .value(field, value, not: "one of the service's categories, such as MARKETING", known: categories)
    }
}

/// A field of a service's own API that a message has under another name, or not at all.
struct ForeignField: Sendable {
    enum Values { case any, words, object }

    let advice: String
    let values: Values

    init(_ advice: String, _ values: Values = .any) {
        self.advice = advice
        self.values = values
    }

    /// Numbers under some names are read by apps' own plug-ins.
    func isMeant(by value: JSONValue) -> Bool {
        switch (values, value) {
        case (.any, _), (.object, .object): true
        case (.words, .string(let text)): Int64(text) == nil
        default: false
        }
    }

    static let lifetime = ForeignField("expires_at of the push says how long it is kept, expiryTime in PCF's API")
    static let whole = ForeignField("title, body, image and the others stand in message itself", .object)
    static let collapseKey = ForeignField("collapse_key is its name")
    static let none = ForeignField("it has no counterpart in a message")
    static let visibility = ForeignField("the channel says what a locked screen shows", .words)

    /// Google's, and of services that took its names over.
    static let google: [String: ForeignField] = [
        "ttl": lifetime, "time_to_live": lifetime, "timeToLive": lifetime, "notification": whole,
        "visibility": visibility,
        "notification_priority": ForeignField("the channel says how much it interrupts"),
        "restricted_package_name": none, "direct_boot_ok": none, "fcm_options": none,
    ]
}

/// Checks the parts of `message.custom`, and the keys of parts whose keys a platform defines.
///
/// Providers accept keys that a platform does not know: the notification arrives without the intended effect. So requests with such
/// keys are refused, and messages that were accepted before are sent unchanged. Source: Apple, "Generating a remote notification";
/// PCF Push API, "Custom fields".
package enum CustomParts {
    package static let names = ["ios"] + AndroidPart.names + ["web", "windows8", "windowsPhone", "bb10"]

    /// The most unknown names that are compared with the known ones.
    package static let misspeltMax = 8

    package static func isKnown(_ name: String) -> Bool { names.contains(name) }

    /// Throws `InvalidInput` with the first key of a part that its platform does not know, or that has an invalid value.
    package static func check(_ value: JSONValue, of name: String) throws(InvalidInput) {
        let field = "message.custom.\(name)"
        guard case .object(let members) = value else {
            guard isKnown(name), name != "bb10", !value.isNull else { return }
            throw InvalidInput(field: field, "has to be an object, it is \(value.typeName)")
        }
        switch name {
        case "ios": try ApplePayloadRules.check(custom: members, field)
        case "windows8":
            try check(members, field, known: ["type", "template_name", "template_fields", "options"])
        case "windowsPhone": try check(members, field, known: ["template", "template_fields"])
        case "web": try checkWeb(members, field)
        case _ where AndroidPart.names.contains(name): try AndroidPart.check(members, of: name)
        default: return
        }
    }

    /// Checks an object for a sender's own worker; the worker that comes with the server reads some of its members.
    private static func checkWeb(_ members: JSONObject, _ field: String) throws(InvalidInput) {
        for (key, value) in members where !value.isNull {
            let path = "\(field).\(key)"
            switch (key, value) {
            case ("urgency", _), ("ttl", _):
                throw InvalidInput(
                    field: path,
                    "is not sent as a header: it stands in message.web; for the app it goes into message.data")
            case ("requireInteraction", .bool), ("actions", .array), ("navigate", .string): continue
            case ("requireInteraction", _): throw .value(path, value, not: "true or false")
            case ("actions", _): throw .value(path, value, not: "an array")
            case ("navigate", _): throw .value(path, value, not: "a URL")
            case ("app_badge", _):
                guard let number = value.wholeNumber, 0...BadgeChange.keptMax ~= number else {
                    throw .value(
                        path, value, not: "a whole number from 0; message.badge and message.web count by \"+1\"")
                }
            default: continue
            }
        }
    }

    /// Throws where the name is probably misspelt.
    package static func checkName(_ name: String) throws(InvalidInput) {
        guard !isKnown(name), let meant = names.nearest(to: name) else { return }
        throw .unknown("message.custom.\(name)", name, notOf: "a part of custom", known: names, meant: meant)
    }

    private static func check(
        _ members: JSONObject, _ field: String, known: [String]
    ) throws(InvalidInput) {
        for (key, value) in members.sorted(by: { $0.key < $1.key }) where !value.isNull && !known.contains(key) {
            throw .unknown("\(field).\(key)", key, notOf: "a field of this part", known: known)
        }
    }
}

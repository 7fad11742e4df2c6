/// The fields of `message.custom.android` and similar parts that have a meaning; all others are data for the app.
///
/// An invalid value of such a field would arrive as data, and have no effect. So would a field of the provider's own API that has
/// another name here. Source: Firebase, REST reference, AndroidConfig and AndroidNotification; Huawei, Push Kit, AndroidConfig;
/// Amazon, ADM, "Sending a message".
package enum AndroidPart {
    static let names = ["android", "android-fcm", "androidFcm", "android-baidu", "huawei", "amazon"]

    private static let priorities = ["high", "normal"]

    /// Google writes it in both cases.
    static func isHigh(_ priority: JSONValue?) -> Bool { priority?.stringValue?.lowercased() == "high" }

    /// Throws with the first field that has an invalid value, or that is the provider's and not read here.
    static func check(_ members: JSONObject, of part: String) throws(InvalidInput) {
        let foreign = foreign(to: part)
        // Senders that fill in every field send empty texts.
        for (key, value) in members where !value.isNull && value != .string("") {
            let field = "message.custom.\(part).\(key)"
            switch key {
            case "message", "collapse_key": try checkText(value, field)
            case "priority" where part.isOfGoogle: try checkPriority(value, field)
            case "category" where part == "huawei": try checkCategory(value, field)
            default:
                guard let own = foreign[key], own.isMeant(by: value) else { continue }
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
        if let text = value.stringValue, priorities.contains(text.lowercased()) || text.contains("{{") { return }
        if let number = value.wholeNumber ?? value.stringValue.flatMap({ Int64($0) }), -2...2 ~= number { return }
        throw .value(field, value, not: "high or normal", known: priorities)
    }

    /// Huawei adds categories, so only names that are almost one of these are refused. Source: Huawei, Push Kit, `category`.
    private static let categories = [
        "ACCOUNT", "CUSTOMER_SERVICE", "DEVICE_REMINDER", "EXPRESS", "FINANCE", "HEALTH", "IM", "MAIL", "MARKETING",
        "PLAY_VOICE", "SUBSCRIPTION", "TRAVEL", "VOIP", "WORK",
    ]

    private static func checkCategory(_ value: JSONValue, _ field: String) throws(InvalidInput) {
        guard let text = value.stringValue else { throw .value(field, value, not: "a text such as MARKETING") }
        guard !categories.contains(text), let meant = categories.nearest(to: text) else { return }
        let isNear = NearestName.plain(text).edits(to: NearestName.plain(meant)) <= 2
        guard isNear else { return }
        throw .value(field, value, not: "one of Huawei's categories, such as MARKETING", known: categories)
    }

    // MARK: Fields of the provider's

    private struct ForeignField {
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
    }

    private static let lifetime = ForeignField(
        "expires_at of the push says how long it is kept, expiryTime in PCF's API")
    private static let whole = ForeignField("title, body, image and the others stand in message itself", .object)
    private static let none = ForeignField("it has no counterpart in a message")
    private static let key = ForeignField("collapse_key is its name")

    private static let google: [String: ForeignField] = [
        "ttl": lifetime, "time_to_live": lifetime, "timeToLive": lifetime, "notification": whole,
        "visibility": ForeignField("the channel says what a locked screen shows", .words),
        "notification_priority": ForeignField("the channel says how much it interrupts"),
        "restricted_package_name": none, "direct_boot_ok": none, "fcm_options": none,
    ]

    private static let huawei: [String: ForeignField] = [
        "ttl": lifetime, "notification": whole, "urgency": ForeignField("what is shown is sent at once"),
        "importance": ForeignField("the channel says how much it interrupts", .words),
        "visibility": ForeignField("the channel says what a locked screen shows", .words),
        "bi_tag": none, "fast_app_target": none,
    ]

    private static let amazon: [String: ForeignField] = [
        "consolidationKey": key, "consolidation_key": key, "expiresAfter": lifetime, "expires_after": lifetime,
        "ttl": lifetime, "md5": none,
    ]

    private static func foreign(to part: String) -> [String: ForeignField] {
        switch part {
        case "huawei": huawei
        case "amazon": amazon
        default: google
        }
    }
}

extension String {
    /// Whether a part goes to FCM or its predecessor.
    fileprivate var isOfGoogle: Bool { hasPrefix("android") && self != "android-baidu" }
}

/// The part of a push for browsers: a notification in the terms of the web, and how the push service treats it.
///
/// A value has been validated; only the size is checked later, when it is rendered.
package struct WebMessage: Sendable, Hashable {
    /// The members of the notification: `title`, `body`, `icon`, … as `WebNotificationRules` knows them.
    package let notification: JSONObject
    /// The number on the app's icon; 0 takes it away.
    package var appBadge: BadgeChange?
    /// A message that waits at the push service, or is shown already, is replaced by a later one of the same topic.
    package let topic: String?
    package let urgency: Urgency?
    /// Seconds for which the push service keeps it; 0 for immediate delivery or none.
    package let ttl: Int64?

    /// Source: RFC 8030 §5.3.
    package enum Urgency: String, Sendable, Hashable, CaseIterable {
        case veryLow = "very-low"
        case low, normal, high
    }

    /// Source: RFC 8030 §5.4.
    package static let topicBytesMax = 32
    /// 28 days, the most that browsers' push services keep a message.
    package static let ttlMax: Int64 = 2_419_200

    /// Reads a sender's message. Throws on the first member that is unknown or invalid.
    ///
    /// - Parameter needsTitle: false where the message may have one for all platforms.
    package init(
        _ value: JSONValue, field: String = "message.web", needsTitle: Bool = true
    ) throws(InvalidInput) {
        var members = try value.demandObject(field)
        let topic = members.removeValue(forKey: "topic")
        let urgency = members.removeValue(forKey: "urgency")
        let ttl = members.removeValue(forKey: "ttl")
        let appBadge = members.removeValue(forKey: "app_badge")
        self.topic = try Self.topic(topic, "\(field).topic")
        self.urgency = try Self.urgency(urgency, "\(field).urgency")
        self.ttl = try Self.count(ttl, atMost: Self.ttlMax, "\(field).ttl")
        self.appBadge = try Self.badge(appBadge, "\(field).app_badge")
        notification = try WebNotificationRules.checked(members, field: field)
        guard !needsTitle || notification["title"] != nil else {
            throw InvalidInput(field: "\(field).title", "is missing")
        }
    }

    /// Reads the stored form, which was validated before.
    init(stored members: JSONObject) {
        var members = members
        topic = members.removeValue(forKey: "topic")?.stringValue
        urgency = members.removeValue(forKey: "urgency")?.stringValue.flatMap(Urgency.init)
        ttl = members.removeValue(forKey: "ttl")?.wholeNumber
        appBadge = BadgeChange(stored: members.removeValue(forKey: "app_badge"))
        notification = members
    }

    /// Makes a notification without fields.
    init() { self.init(stored: [:]) }

    /// Copies a message and replaces some of it.
    init(_ other: WebMessage, notification: JSONObject? = nil, appBadge: BadgeChange? = nil) {
        self.notification = notification ?? other.notification
        self.appBadge = appBadge ?? other.appBadge
        topic = other.topic
        urgency = other.urgency
        ttl = other.ttl
    }

    func saying(_ notification: JSONObject) -> WebMessage { WebMessage(self, notification: notification) }

    /// In the form that a sender writes.
    package var json: JSONValue {
        var members = notification
        members["topic"] = topic.map(JSONValue.string)
        members["urgency"] = urgency.map { .string($0.rawValue) }
        members["ttl"] = ttl.map(JSONValue.integer)
        members["app_badge"] = appBadge?.json
        return .object(members)
    }

    private static func topic(_ value: JSONValue?, _ field: String) throws(InvalidInput) -> String? {
        guard let value, !value.isNull else { return nil }
        guard let topic = value.stringValue, topic.utf8.allSatisfy(\.isOfBase64URL),
            1...topicBytesMax ~= topic.utf8.count
        else {
            throw .value(field, value, not: "1 to \(topicBytesMax) letters, digits, - and _")
        }
        return topic
    }

    private static func urgency(_ value: JSONValue?, _ field: String) throws(InvalidInput) -> Urgency? {
        guard let value, !value.isNull else { return nil }
        guard let urgency = value.stringValue.flatMap(Urgency.init) else {
            throw .value(field, value, notOneOf: Urgency.allCases.map(\.rawValue))
        }
        return urgency
    }

    private static func badge(_ value: JSONValue?, _ field: String) throws(InvalidInput) -> BadgeChange? {
        if let text = value?.stringValue, let change = try BadgeChange(counting: text, field: field) { return change }
        return try count(value, atMost: 999_999, field).map { .set($0) }
    }

    private static func count(
        _ value: JSONValue?, atMost limit: Int64, _ field: String
    ) throws(InvalidInput) -> Int64? {
        guard let value, !value.isNull else { return nil }
        guard let count = value.wholeNumber, 0...limit ~= count else {
            throw .value(field, value, not: "a whole number from 0 to \(limit)")
        }
        return count
    }
}

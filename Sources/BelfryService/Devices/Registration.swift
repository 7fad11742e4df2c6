/// The values an app registers. In an update, a missing value keeps its previous one.
package struct Registration: Sendable, Hashable {
    package let token: DeviceToken
    package let about: Device.About
    package let customUserID: Change<String>
    package let topics: TopicChange

    /// The most topics one device may have, and one push may name.
    /// Source: PCF Push API, "Register a device", LIMITS.
    package static let topicsMax = 1_024
    /// Counted in the string that the app sends, so in the signed form where ids are signed. Source: both PCF SDKs refuse longer ones.
    package static let customUserIDCharactersMax = 255
    /// The longest topic name, in bytes of UTF-8.
    package static let topicBytesMax = 255
    /// The limit on each field of `Device.About`, in bytes of UTF-8.
    package static let aboutBytesMax = 1_024

    package enum Change<Value: Sendable & Hashable>: Sendable, Hashable {
        case keep, clear
        case set(Value)
    }

    package enum TopicChange: Sendable, Hashable {
        /// The full set.
        case replace(Set<String>)
        /// Topics to add and to remove; a topic in both is added.
        case change(subscribe: Set<String>, unsubscribe: Set<String>)

        /// The resulting topics of a new device.
        package var wanted: Set<String> {
            switch self {
            case .replace(let all): all
            case .change(let subscribe, _): subscribe
            }
        }

        package static let keep = TopicChange.change(subscribe: [], unsubscribe: [])

        package func applied(to topics: Set<String>) -> Set<String> {
            switch self {
            case .replace(let all): all
            case .change(let subscribe, let unsubscribe): topics.subtracting(unsubscribe).union(subscribe)
            }
        }
    }

    /// Takes the values as they were sent; throws on the first field over its limit.
    package init(
        token: DeviceToken, about: Device.About, customUserID: Change<String>, topics: TopicChange
    ) throws(InvalidInput) {
        self.token = token
        self.about = about.normalized
        if case .set(let id) = customUserID {
            self.customUserID = .set(try id.asName(field: "custom_user_id"))
        } else {
            self.customUserID = customUserID
        }
        self.topics = topics
        try self.about.check()
        if case .replace(let all) = topics { try Self.check(all.count, in: "tags") }
        if case .change(let subscribe, let unsubscribe) = topics {
            try Self.check(subscribe.count, in: "tags.subscribe")
            try Self.check(unsubscribe.count, in: "tags.unsubscribe")
        }
    }

    private static func check(_ count: Int, in field: String) throws(InvalidInput) {
        guard count <= topicsMax else {
            throw InvalidInput(field: field, "has \(count) topics, the limit is \(topicsMax)")
        }
    }
}

extension Device.About {
    fileprivate var normalized: Self {
        Self(
            os: os?.normalized, osVersion: osVersion?.normalized, model: model?.normalized,
            manufacturer: manufacturer?.normalized, alias: alias?.asName)
    }

    fileprivate func check() throws(InvalidInput) {
        let fields = [
            ("os", os), ("os_version", osVersion), ("device_model", model), ("device_manufacturer", manufacturer),
            ("device_alias", alias),
        ]
        for case (let name, let value?) in fields where value.utf8.count > Registration.aboutBytesMax {
            throw InvalidInput(
                field: name, "is \(value.utf8.count) bytes, the limit is \(Registration.aboutBytesMax)")
        }
    }
}

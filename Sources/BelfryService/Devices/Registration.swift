import FoundationEssentials

/// The values an app registers. In an update, a missing value keeps its previous one.
package struct Registration: Sendable, Hashable {
    package let token: DeviceToken
    package let about: Device.About
    package let customUserID: Change<String>
    package let topics: TopicChange
    package let detail: DeviceDetail.Change
    /// The properties by which audiences find the device.
    package let labels: LabelChange
    /// Whether a caller of a gateway gave the token. One that comes back has no user and no topics until its app registers: the app or an
    /// operator may have ended the device.
    package private(set) var isOfGateway = false
    let profile: DeviceProfile
    /// The request of the app, where an old server is to get it too.
    package var mirrorCall: MirrorCall?
    /// Whether it is a change by an operator, not by the app. The token, the time and the import mark of the device stay.
    package var isEdit = false

    /// The most topics one device may have, and one push may name.
    /// Source: PCF Push API, "Register a device", LIMITS.
    package static let topicsMax = 1_024
    /// The most topics and labels of a device's row.
    static let topicIDsMax = topicsMax + DeviceLabel.perDevice
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
        token: DeviceToken, about: Device.About, customUserID: Change<String>, topics: TopicChange,
        detail: DeviceDetail.Change = DeviceDetail.Change(), profile: DeviceProfile = DeviceProfile()
    ) throws(InvalidInput) {
        self.token = token
        self.detail = detail
        self.profile = profile
        labels = profile.labels(detail)
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

    /// Registers a token that a caller of a gateway gave.
    package init(ofToken token: DeviceToken) throws(InvalidInput) {
        try self.init(token: token, about: Device.About(), customUserID: .keep, topics: .keep)
        isOfGateway = true
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

/// Decides which device a registration belongs to, when a token and a UUID may each lead to another.
///
/// One token has one active device. A UUID that was once issued stays valid for ever, since an app repeats it for ever.
/// Source: the registration behaviour of the PCF SDKs, `docs/compatibility/pcf.md`.
package enum RegistrationRules: Sendable, Hashable {
    /// No device has the token, and no known UUID was named.
    case create
    /// The device takes the values; `evicted`, which had the token, loses it and becomes inactive.
    case update(Key<Device>, evicted: Key<Device>?)

    /// - Parameters:
    ///   - named: the device of the caller's UUID, if the platform knows it.
    ///   - holder: the device that has the token now.
    package init(named: Key<Device>?, holder: Key<Device>?) {
        switch (named, holder) {
        case (nil, nil): self = .create
        case (nil, let holder?): self = .update(holder, evicted: nil)
        case (let named?, let holder): self = .update(named, evicted: holder == named ? nil : holder)
        }
    }
}

extension Registration.Change<String> {
    /// The change to the custom user id that was sent, with its signature unchecked; none and `""` clear it.
    static func user(_ sent: String?) throws(InvalidInput) -> Self {
        guard let sent, !sent.isEmpty else { return .clear }
        let limit = Registration.customUserIDCharactersMax
        guard sent.utf16.count <= limit else {
            throw InvalidInput(field: "custom_user_id", "is \(sent.utf16.count) characters, the limit is \(limit)")
        }
        return .set(sent)
    }
}

package import FoundationEssentials

/// The intended recipients, as the sender names them; `Targeting` resolves them when the push is sent.
package struct Target: Sendable, Hashable {
    /// Exactly these devices, whatever else was named; nil where devices were not named individually.
    package let devices: [UUID]?
    /// As `Topic.normalized` has them. A device needs one of them, or one of the custom user ids.
    package let topics: [String]
    package let customUserIDs: [String]
    /// nil for every type.
    package let platforms: [PlatformKind]?
    /// Leaves out devices whose system shows no notifications with buttons.
    package let isInteractiveOnly: Bool
    /// The devices as an expression means them; then nothing else is named.
    package private(set) var expression: AudienceExpression?
    /// Whether a schedule keeps the segments of the expression as they are when it is made. A stored target has none left then.
    package private(set) var fixesSegments = false
    /// The time by the clocks of each recipient, of a schedule that has one.
    package var local: LocalDelivery?

    /// Every device of the application.
    package static let everyone = Target(unchecked: nil)

    /// Takes names as they were sent; throws on the first that is invalid, and past the limits.
    ///
    /// Devices override everything else except `isInteractiveOnly`, even names that nothing can have: within the limits
    /// those are dropped unread.
    package init(
        devices: [UUID]? = nil, topics: [String] = [], customUserIDs: [String] = [], platforms: [PlatformKind]? = nil,
        isInteractiveOnly: Bool = false
    ) throws(InvalidInput) {
        self.devices = devices
        self.isInteractiveOnly = isInteractiveOnly
        try Self.check(topics.count, "topics", "topics", PushLimits.topicsMax)
        try Self.check(customUserIDs.count, "custom_user_ids", "ids", PushLimits.customUserIDsMax)
        if let devices {
            try Self.checkCount(ofDevices: devices.count)
            self.topics = []
            self.customUserIDs = []
            self.platforms = nil
            return
        }
        self.topics = try Topic.normalized(topics, field: "target.topics")
        self.customUserIDs = try Self.names(customUserIDs, field: "target.custom_user_ids")
        self.platforms = platforms?.withoutRepeats
    }

    package init(_ expression: AudienceExpression, isInteractiveOnly: Bool = false, fixesSegments: Bool = false) {
        self.init(unchecked: nil, isInteractiveOnly: isInteractiveOnly)
        self.expression = expression
        self.fixesSegments = fixesSegments
    }

    private static func names(_ texts: [String], field: String) throws(InvalidInput) -> [String] {
        var names: [String] = []
        names.reserveCapacity(texts.count)
        for (index, text) in texts.enumerated() {
            do { names.append(try text.asName(field: "")) } catch {
                throw InvalidInput(field: "\(field)[\(index)]", error.problem)
            }
        }
        return names
    }

    /// Creates a value that was validated before.
    init(
        unchecked devices: [UUID]?, topics: [String] = [], customUserIDs: [String] = [],
        platforms: [PlatformKind]? = nil, isInteractiveOnly: Bool = false
    ) {
        self.devices = devices
        self.topics = topics
        self.customUserIDs = customUserIDs
        self.platforms = platforms
        self.isInteractiveOnly = isInteractiveOnly
    }

    /// The target with its names in their normal forms, each once.
    package var normalized: Target {
        expression != nil
            ? self
            : Target(
                unchecked: devices, topics: topics.map(\.asName.caseFolded).withoutRepeats,
                customUserIDs: customUserIDs.map(\.asName).withoutRepeats, platforms: platforms,
                isInteractiveOnly: isInteractiveOnly)
    }

    /// The target as an expression of all that it names.
    package var asExpression: AudienceExpression {
        if let expression { return expression }
        if let devices { return devices.isEmpty ? .not(.term(.everyone)) : .term(.devices(devices)) }
        var named: [AudienceExpression] = []
        if !topics.isEmpty { named.append(.term(.topics(topics))) }
        if !customUserIDs.isEmpty { named.append(.term(.users(customUserIDs))) }
        let base: AudienceExpression = named.isEmpty ? .term(.everyone) : named.count == 1 ? named[0] : .any(named)
        guard let platforms else { return base }
        return platforms.isEmpty ? .not(.term(.everyone)) : .all([base, .term(.platforms(platforms))])
    }

    /// Returns the target with other UUIDs for some of its devices.
    package func renamed(_ names: [UUID: UUID]) -> Target {
        expression != nil
            ? self
            : Target(
                unchecked: devices?.map { names[$0] ?? $0 }, topics: topics, customUserIDs: customUserIDs,
                platforms: platforms, isInteractiveOnly: isInteractiveOnly)
    }

    package static func checkCount(ofDevices count: Int) throws(InvalidInput) {
        try check(count, "devices", "devices", PushLimits.devicesMax)
    }

    private static func check(_ count: Int, _ field: String, _ noun: String, _ limit: Int) throws(InvalidInput) {
        guard count <= limit else {
            throw InvalidInput(field: "target.\(field)", "has \(count) \(noun), the limit is \(limit)")
        }
    }
}

// The stored form of a target. It was validated when it was accepted, and is not validated again when it is read.

extension Target {
    /// Decodes the stored JSON. Throws `InvalidInput` if it is malformed.
    package init(stored text: [UInt8]) throws(InvalidInput) {
        var devices: [UUID]?
        var topics: [String] = []
        var customUserIDs: [String] = []
        var platforms: [PlatformKind]?
        var isInteractiveOnly = false
        var expression: AudienceExpression?
        var local: LocalDelivery?
        try JSONReader.document(text) { reader, key throws(InvalidInput) in
            switch key {
            case "devices": devices = try Self.parsed(reader.strings(key), key) { UUID(text: $0) }
            case "topics": topics = try reader.strings(key) ?? []
            case "customUserIDs": customUserIDs = try reader.strings(key) ?? []
            case "platforms": platforms = try Self.parsed(reader.strings(key), key) { PlatformKind(rawValue: $0) }
            case "isInteractiveOnly": isInteractiveOnly = try reader.bool(key) ?? false
            case "where": expression = try AudienceExpression(stored: reader.value(key))
            case "local":
                local = try reader.string(key).map { (text) throws(InvalidInput) in
                    try LocalDelivery(stored: Array(text.utf8))
                }
            default: try reader.skip()
            }
        }
        self.init(
            unchecked: devices, topics: topics, customUserIDs: customUserIDs, platforms: platforms,
            isInteractiveOnly: isInteractiveOnly)
        self.expression = expression
        self.local = local
    }

    private static func parsed<Element>(
        _ names: [String]?, _ field: String, _ parse: (String) -> Element?
    ) throws(InvalidInput) -> [Element]? {
        guard let names else { return nil }
        let elements = names.compactMap(parse)
        guard elements.count == names.count else { throw InvalidInput(field: field, "has an unknown name") }
        return elements
    }

    /// The stored form.
    package var storedText: String {
        var members: JSONObject = [
            "topics": .strings(topics), "customUserIDs": .strings(customUserIDs),
            "isInteractiveOnly": .bool(isInteractiveOnly),
        ]
        members["devices"] = devices.map { .strings($0.map(\.uuidString)) }
        members["platforms"] = platforms.map { .strings($0.map(\.rawValue)) }
        members["where"] = expression?.json
        members["local"] = local.map { .string($0.storedText) }
        return JSONValue.object(members).storedText
    }
}

/// The names in a push's target that no device has.
package struct UnresolvedTargets: Sendable, Hashable {
    package var devices = UnknownDevices()
    package var topics: [String] = []
    package var customUserIDs: [String] = []

    /// The most topics and users that are looked up for a receipt.
    package static let lookedUpMax = 64

    package var isEmpty: Bool { devices.count == 0 && topics.isEmpty && customUserIDs.isEmpty }
}

/// UUIDs of a target that no device had when the push was accepted.
package struct UnknownDevices: Sendable, Hashable {
    package let count: Int
    /// The first of them.
    package let uuids: [UUID]

    package static let namedMax = 20

    package init(count: Int = 0, uuids: [UUID] = []) {
        self.count = count
        self.uuids = uuids
    }

    package init(_ unknown: [UUID]) { self.init(count: unknown.count, uuids: Array(unknown.prefix(Self.namedMax))) }

    /// Decodes the stored form: the UUIDs, separated by commas.
    package init(count: Int, stored text: String) {
        self.init(count: count, uuids: text.split(separator: ",").compactMap { UUID(text: String($0)) })
    }

    package var storedText: String { uuids.map(\.lowercased).joined(separator: ",") }
}

extension Audience {
    /// The topics and users that are named in it.
    package var names: [PostingList] {
        switch self {
        case .list(let list):
            switch list {
            case .topic, .customUser: [list]
            case .active, .interactive, .registered, .devices, .sent, .reported, .geofence, .label, .labels, .platforms:
                []
            }
        case .any(let parts), .all(let parts): parts.flatMap(\.names)
        case .except(let first, _): first.names
        case .checked(let whole, _): whole.names
        // Who writes an expression means what there is.
        case .meant: []
        }
    }
}

extension UnresolvedTargets {
    /// Adds a topic or a user without devices.
    package mutating func add(_ list: PostingList) {
        switch list {
        case .topic(let name): topics.append(name)
        case .customUser(let id): customUserIDs.append(id)
        case .active, .interactive, .registered, .devices, .sent, .reported, .geofence, .label, .labels, .platforms:
            break
        }
    }
}

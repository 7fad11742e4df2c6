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

    /// Every device of the application.
    package static let everyone = Target(platforms: nil, isInteractiveOnly: false)

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
        self.platforms = platforms
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

    private init(platforms: [PlatformKind]?, isInteractiveOnly: Bool) {
        self.init(
            unchecked: nil, topics: [], customUserIDs: [], platforms: platforms, isInteractiveOnly: isInteractiveOnly)
    }

    /// Creates a value that was validated before.
    init(
        unchecked devices: [UUID]?, topics: [String], customUserIDs: [String], platforms: [PlatformKind]?,
        isInteractiveOnly: Bool
    ) {
        self.devices = devices
        self.topics = topics
        self.customUserIDs = customUserIDs
        self.platforms = platforms
        self.isInteractiveOnly = isInteractiveOnly
    }

    /// The target with its names in their normal forms, each once.
    package var normalized: Target {
        Target(
            unchecked: devices, topics: topics.map(\.asName.caseFolded).withoutRepeats,
            customUserIDs: customUserIDs.map(\.asName).withoutRepeats, platforms: platforms,
            isInteractiveOnly: isInteractiveOnly)
    }

    /// Returns the target with other UUIDs for some of its devices.
    package func renamed(_ names: [UUID: UUID]) -> Target {
        Target(
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

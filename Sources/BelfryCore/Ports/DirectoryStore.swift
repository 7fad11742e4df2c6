/// Devices as operators look them up, and their custom user ids. Lists are in the order of registration.
package protocol DirectoryStore: Sendable {
    /// A page of the matching devices, and the number of all that match.
    func devices(_ search: DeviceSearch, skip: Int, limit: Int) async throws -> ListPage<Device>
    /// The next matching devices after a device, for readers of the whole list.
    func devices(_ search: DeviceSearch, after: Key<Device>?, limit: Int) async throws -> [Device]
    /// The number of matching devices.
    func deviceCount(_ search: DeviceSearch) async throws -> Int
    /// The next custom user ids of active devices after an id, each once, in the order of their bytes.
    ///
    /// - Parameter text: a part of the id; case matters.
    func customUserIDs(
        on platforms: [Key<Platform>], containing text: String?, after id: String?, limit: Int
    ) async throws -> [String]
}

/// Selects devices: those that meet all of the given conditions.
package struct DeviceSearch: Sendable, Hashable {
    /// All of one application. Finds nothing when empty.
    package let platforms: [Key<Platform>]
    /// A part of the UUID, the token, the custom user id or the alias; case does not matter.
    package let text: String?
    /// A topic that the device is subscribed to. Only active devices are subscribed.
    package let topic: String?

    package init(platforms: [Key<Platform>], text: String? = nil, topic: String? = nil) {
        self.platforms = platforms
        self.text = text.flatMap { $0.isEmpty ? nil : $0.lowercased() }
        self.topic = topic
    }
}

/// Devices as a person looks them up, and the custom user ids they go by. Lists ascend in the order devices came.
package protocol DirectoryStore: Sendable {
    /// A slice of the devices that match, and how many match in all.
    func devices(_ search: DeviceSearch, skip: Int, limit: Int) async throws -> Listing<Device>
    /// The next devices that match behind a device: for readers of the whole list.
    func devices(_ search: DeviceSearch, after: Key<Device>?, limit: Int) async throws -> [Device]
    /// How many devices match.
    func deviceCount(_ search: DeviceSearch) async throws -> Int
    /// The next custom user ids of active devices behind an id, each once, in the order of their bytes.
    ///
    /// - Parameter text: what the id has to contain, with case.
    func customUserIDs(
        on platforms: [Key<Platform>], containing text: String?, after id: String?, limit: Int
    ) async throws -> [String]
}

/// Which devices are looked for: those that meet all that is given.
package struct DeviceSearch: Sendable, Hashable {
    /// All of one application. No device is found when empty.
    package let platforms: [Key<Platform>]
    /// What the UUID, the token, the custom user id or the alias has to contain, without regard to case.
    package let text: String?
    /// A topic that the device is subscribed to. Only active devices are.
    package let topic: String?

    package init(platforms: [Key<Platform>], text: String? = nil, topic: String? = nil) {
        self.platforms = platforms
        self.text = text.flatMap { $0.isEmpty ? nil : $0.lowercased() }
        self.topic = topic
    }
}

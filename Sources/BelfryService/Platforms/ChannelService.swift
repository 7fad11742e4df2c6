package import FoundationEssentials

/// Creates and deletes broadcast channels, which the provider stores, and registers each as a device, so that pushes
/// reach it the usual way. So it does with topics and conditions of FCM, which nobody creates.
package struct ChannelService: Sendable {
    private let store: any Store
    private let provider: any BroadcastChannels

    /// The most channels that one push may name.
    package static let channelsMax = 100

    /// - Parameter provider: the channels at the provider.
    package init(store: any Store, provider: any BroadcastChannels) {
        self.store = store
        self.provider = provider
    }

    /// All channels of the provider, created here or elsewhere.
    package func channels(on platform: Platform) async throws -> [String] { try await provider.channels(on: platform) }

    package func channel(_ id: String, on platform: Platform) async throws -> BroadcastChannel {
        try await provider.channel(id, on: platform)
    }

    package func create(
        _ storage: BroadcastChannel.Storage, on platform: Platform, of application: Application, by author: AuditAuthor
    ) async throws -> (channel: BroadcastChannel, device: Device) {
        let channel = try await provider.createChannel(storage, on: platform)
        let details = ["channel": channel.id, "storage": storage.rawValue]
        let change = AuditedChange(by: author, "channel.create", platform, of: application, details)
        let device = try await store.audited(change) { try await self.device(of: channel.id, on: platform) }
        return (channel, device)
    }

    package func delete(
        _ id: String, on platform: Platform, of application: Application, by author: AuditAuthor
    ) async throws {
        try await provider.deleteChannel(id, on: platform)
        let change = AuditedChange(by: author, "channel.delete", platform, of: application, ["channel": id])
        try await store.audited(change) {
            try await store.unregister(try await device(of: id, on: platform).uuid, on: platform.key)
        }
    }

    /// The token of a topic or condition of FCM.
    func topic(_ text: String) throws(InvalidInput) -> DeviceToken {
        try provider.checkTopic(text)
        return try DeviceToken(text, for: .fcmTopic)
    }

    /// The device that stands for a channel; one that was unknown or inactive is registered.
    private func device(of channel: String, on platform: Platform) async throws -> Device {
        let registration = try Registration(
            token: try channel.isTopic ? topic(channel) : DeviceToken(channel, for: .apple(.broadcast)),
            about: Device.About(), customUserID: .keep, topics: .keep)
        return try await store.registerAlone(registration, as: nil, on: platform)
    }

    /// The devices that stand for the channels and topics, on the application's one platform of their type.
    ///
    /// Throws `InvalidInput` when there is no such platform, or more than one: a channel of one is unknown to the
    /// other.
    package func devices(of channels: [String], of application: Key<Application>) async throws -> [UUID] {
        let field = "target.channels"
        guard channels.count <= Self.channelsMax else {
            throw InvalidInput(field: field, "has \(channels.count) channels, the limit is \(Self.channelsMax)")
        }
        let known = try await store.platforms(of: application)
        var devices: [UUID] = []
        for (index, channel) in channels.enumerated() {
            let kind: PlatformKind = channel.isTopic ? .fcmTopic : .apple(.broadcast)
            let platforms = known.filter { $0.kind == kind }
            guard let platform = platforms.first, platforms.count == 1 else {
                throw InvalidInput(
                    field: field,
                    "are those of a platform of type \(kind.rawValue), of which the app has "
                        + (platforms.isEmpty
                            ? "none" : "\(platforms.count): name them by their device_uuid in target.devices"))
            }
            do {
                devices.append(try await device(of: channel, on: platform).uuid)
            } catch let error as InvalidInput {
                throw InvalidInput(field: "\(field)[\(index)]", error.problem)
            }
        }
        return devices
    }
}

extension String {
    /// Tells a topic or condition of FCM from a channel of APNs, which is Base64 of 16 bytes.
    fileprivate var isTopic: Bool { hasPrefix("/topics/") || contains("'") }
}

/// The broadcast channels of a platform, which its provider stores.
package protocol BroadcastChannels: Sendable {
    func createChannel(_ storage: BroadcastChannel.Storage, on platform: Platform) async throws(BroadcastChannelError)
        -> BroadcastChannel
    func channel(_ id: String, on platform: Platform) async throws(BroadcastChannelError) -> BroadcastChannel
    func deleteChannel(_ id: String, on platform: Platform) async throws(BroadcastChannelError)
    /// The ids of all channels.
    func channels(on platform: Platform) async throws(BroadcastChannelError) -> [String]
    /// Throws where FCM knows no such topic or condition.
    func checkTopic(_ text: String) throws(InvalidInput)
}

extension BroadcastChannels {
    package func checkTopic(_ text: String) {}
}

/// The error of an operation, with a human-readable reason.
package enum BroadcastChannelError: Error, Sendable, Hashable {
    /// Platforms of this type have no channels.
    case unsupported(String)
    /// The provider has no channel with that id.
    case unknown
    /// The provider refused.
    case refused(String)
    /// The provider cannot be reached at present, or did not answer.
    case unavailable(String)
}

extension BroadcastChannelError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unsupported(let words), .refused(let words), .unavailable(let words): words
        case .unknown: "the provider has no such channel"
        }
    }
}

/// The channels of a provider that has none.
package struct NoChannels: BroadcastChannels {
    package init() {}

    package func createChannel(
        _ storage: BroadcastChannel.Storage, on platform: Platform
    ) async throws(BroadcastChannelError) -> BroadcastChannel { throw Self.none }

    package func channel(_ id: String, on platform: Platform) async throws(BroadcastChannelError) -> BroadcastChannel {
        throw Self.none
    }

    package func deleteChannel(_ id: String, on platform: Platform) async throws(BroadcastChannelError) {
        throw Self.none
    }

    package func channels(on platform: Platform) async throws(BroadcastChannelError) -> [String] { throw Self.none }

    private static let none = BroadcastChannelError.unsupported("there are no channels here")
}

/// A broadcast channel: devices subscribe to it at the provider, and one message to it reaches them all.
///
/// The provider stores it. To Belfry it is a device of a platform of type `ios-broadcast`, whose token is the channel's
/// id.
package struct BroadcastChannel: Sendable, Hashable {
    package let id: String
    package let storage: Storage

    /// Whether a channel stores messages for devices that cannot be reached.
    package enum Storage: String, Sendable, Hashable, CaseIterable {
        case nothing, latest
    }

    package init(id: String, storage: Storage) {
        self.id = id
        self.storage = storage
    }
}

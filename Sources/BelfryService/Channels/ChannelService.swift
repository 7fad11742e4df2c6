package import FoundationEssentials

/// Creates and deletes broadcast channels, which the provider stores, and registers each as a device, so that pushes
/// reach it the usual way.
package struct ChannelService: Sendable {
    private let store: any ApplicationStore & DeviceStore & AuditStore
    private let provider: any BroadcastChannels

    /// The most channels that one push may name.
    package static let channelsMax = 100

    /// - Parameter provider: the channels at the provider.
    package init(store: any ApplicationStore & DeviceStore & AuditStore, provider: any BroadcastChannels) {
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

    /// The device that stands for a channel; one that was unknown or inactive is registered.
    private func device(of channel: String, on platform: Platform) async throws -> Device {
        let registration = try Registration(
            token: try DeviceToken(channel, for: .apple(.broadcast)), about: Device.About(), customUserID: .keep,
            topics: .keep)
        return try await store.register(registration, as: nil, on: platform)
    }

    /// The devices that stand for the channels, on the application's one platform for broadcasts.
    ///
    /// Throws `InvalidInput` when there is no such platform, or more than one: a channel of one is unknown to the
    /// other.
    package func devices(of channels: [String], of application: Key<Application>) async throws -> [UUID] {
        let field = "target.channels"
        guard channels.count <= Self.channelsMax else {
            throw InvalidInput(field: field, "has \(channels.count) channels, the limit is \(Self.channelsMax)")
        }
        let platforms = try await store.platforms(of: application).filter { $0.kind == .apple(.broadcast) }
        guard let platform = platforms.first, platforms.count == 1 else {
            throw InvalidInput(
                field: field,
                "are those of a platform of type ios-broadcast, of which the app has \(platforms.count); "
                    + "with more than one, name channels by their device_uuid in target.devices")
        }
        var devices: [UUID] = []
        for (index, channel) in channels.enumerated() {
            do {
                devices.append(try await device(of: channel, on: platform).uuid)
            } catch let error as InvalidInput {
                throw InvalidInput(field: "\(field)[\(index)]", error.problem)
            }
        }
        return devices
    }
}

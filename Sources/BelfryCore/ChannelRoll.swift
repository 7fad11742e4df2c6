package import FoundationEssentials

/// Knows the broadcast channels of applications as devices, so that a push reaches them as it reaches anybody.
package struct ChannelRoll: Sendable {
    private let store: any ApplicationStore & DeviceStore

    /// The most channels that one push may name.
    package static let channelsMax = 100

    package init(store: any ApplicationStore & DeviceStore) { self.store = store }

    /// The device that a channel is; one that was not known, or was dropped, is taken in.
    package func device(of channel: String, on platform: Platform) async throws -> Device {
        let registration = try Registration(
            token: try DeviceToken(channel, for: .apple(.broadcast)), about: Device.About(), customUserID: .keep,
            topics: .keep)
        return try await store.register(registration, as: nil, on: platform)
    }

    /// The devices that the channels are, on the one platform of the application that broadcasts.
    ///
    /// Throws `InvalidInput` when there is none, or more than one: a channel of the one is unknown to the other.
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

    /// The channel's device gets no more pushes.
    package func drop(_ channel: String, on platform: Platform) async throws {
        try await store.unregister(try await device(of: channel, on: platform).uuid, on: platform.key)
    }
}

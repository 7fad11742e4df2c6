import BelfryService

/// The first devices that a push would go to.
enum AudienceSample {
    static let size = 5

    static func of(_ push: NewPush, in store: any DeliveryStore & DeviceSearchStore) async throws -> [Device] {
        var devices: [Device] = []
        for platform in push.platformKeys where devices.count < size {
            for key in try await keys(push, on: platform, in: store).prefix(size - devices.count) {
                // The next device after the one before it is the device itself.
                let found = try await store.devices(
                    DeviceSearch(platforms: [platform]), after: Key(key.rawValue - 1), limit: 1)
                if let device = found.first, device.key == key { devices.append(device) }
            }
        }
        return devices
    }

    private static func keys(
        _ push: NewPush, on platform: Key<Platform>, in store: any DeliveryStore & DeviceSearchStore
    ) async throws -> [Key<Device>] {
        if let placed = push.devices { return placed[platform] ?? [] }
        let fanOut = FanOut(
            pushKey: Key(0), platformKey: platform, lane: push.lane, audience: push.audience, cursor: nil, attempt: 0)
        return try await store.devices(in: fanOut, after: nil, limit: size)
    }
}

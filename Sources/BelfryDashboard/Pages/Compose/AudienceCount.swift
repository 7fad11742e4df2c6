import BelfryService

/// How many devices a push would go to now.
struct AudienceCount: Sendable {
    let devices: Int
    /// Whether counting stopped before the end.
    let isMore: Bool

    /// Devices counted before it stops, so that a count costs little whatever the audience.
    private static let devicesMax = 200_000
    /// The number of devices from which a person is asked once more.
    private static let large = 1_000
    private static let step = 10_000
    private static let time = Duration.milliseconds(200)

    var isLarge: Bool { devices >= Self.large }

    var words: String {
        (isMore ? "more than " : "") + devices.grouped + (devices == 1 && !isMore ? " device" : " devices")
    }

    func with(_ more: Int) -> AudienceCount { AudienceCount(devices: devices + more, isMore: isMore) }

    static func of(_ push: NewPush, in store: any DeliveryStore) async throws -> AudienceCount {
        if let placed = push.devices {
            return AudienceCount(devices: placed.values.reduce(0) { $0 + $1.count }, isMore: false)
        }
        let deadline = ContinuousClock.now + time
        var count = 0
        for platform in push.platformKeys {
            let fanOut = FanOut(
                pushKey: Key(0), platformKey: platform, lane: push.lane, audience: push.audience, cursor: nil,
                attempt: 0)
            var after: Key<Device>?
            while true {
                let found = try await store.devices(in: fanOut, after: after, limit: step)
                count += found.count
                guard found.count == step, let last = found.last else { break }
                after = last
                guard count < devicesMax, ContinuousClock.now < deadline else {
                    return AudienceCount(devices: count, isMore: true)
                }
            }
        }
        return AudienceCount(devices: count, isMore: false)
    }
}

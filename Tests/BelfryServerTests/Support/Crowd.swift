import BelfryServer
import BelfryService
import BelfryTesting

/// Devices that a test registered, with the tokens that the provider knows them by.
struct Crowd: Sendable {
    let devices: [Device]

    var count: Int { devices.count }
    var tokens: [String] { devices.compactMap { $0.token?.text(for: .ios) } }

    private static let registrationsAtOnce = 64

    /// Registers straight through the store, which commits those that wait together.
    static func register(
        _ count: Int, topics: Set<String> = [], on platform: Platform, in store: any Store, seed: UInt64 = 1
    ) async throws -> Crowd {
        var dice = SplitMix64(seeds: seed, UInt64(platform.key.rawValue))
        let tokens = (0..<count).map { _ in (0..<4).flatMap { _ in dice.next().bytes } }
        let devices = try await withThrowingTaskGroup(of: (Int, Device).self) { group in
            var devices: [(Int, Device)] = []
            for (number, token) in tokens.enumerated() {
                if number >= registrationsAtOnce, let device = try await group.next() { devices.append(device) }
                group.addTask {
                    let registration = try Registration(
                        token: DeviceToken(bytes: token), about: Device.About(os: "ios", osVersion: "17.5"),
                        customUserID: .keep, topics: .replace(topics))
                    return (number, try await store.register(registration, as: nil, on: platform))
                }
            }
            for try await device in group { devices.append(device) }
            return devices
        }
        return Crowd(devices: devices.sorted { $0.0 < $1.0 }.map(\.1))
    }
}

extension UInt64 {
    var bytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }
}

import BelfryService
import Foundation

/// New devices with ten topics each.
struct RegistrationPart {
    private let installation: Installation

    /// Enough for a broadcast of some batches.
    private static let devices = 3_000
    private static let counted = 200

    init(_ installation: Installation) { self.installation = installation }

    /// Returns the UUIDs of the devices.
    func count() async throws -> [UUID] {
        var uuids: [UUID] = []
        for number in 0..<(Self.devices - Self.counted) { uuids.append(try await register(number)) }
        uuids += try await part("registration", of: Self.counted) {
            var counted: [UUID] = []
            for number in (Self.devices - Self.counted)..<Self.devices { counted.append(try await register(number)) }
            return counted
        }
        return uuids
    }

    private func register(_ number: Int) async throws -> UUID {
        let dice = SipHash(key0: 1, key1: 2)
        let words = (0..<4).map { dice.hash(UInt64(number * 4 + $0)) }
        let token = DeviceToken(bytes: words.flatMap { word in withUnsafeBytes(of: word.bigEndian) { Array($0) } })
        let topics = Set((0..<10).map { "topic-\((number &+ $0 &* 7) % 100)" })
        let registration = try Registration(
            token: token, about: Device.About(os: "ios", osVersion: "26.1", model: "iPhone18,1"), customUserID: .keep,
            topics: .replace(topics))
        return try await installation.store.register(registration, as: nil, on: installation.platform).uuid
    }
}

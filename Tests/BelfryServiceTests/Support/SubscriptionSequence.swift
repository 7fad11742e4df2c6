import BelfryService
import BelfryTesting

extension TestStore {
    /// Devices that come, go, change places and topics, as a seed has it.
    ///
    /// - Parameter pause: called after so many rounds each, and at the end.
    func tellOfSubscriptions(
        seed: UInt64, pausingEvery rounds: Int = 50, pause: () async throws -> Void
    ) async throws {
        var dice = SplitMix64(seed: seed)
        for round in 0..<300 {
            let topics = Set((0..<6).filter { _ in dice.chance(0.4) }.map { "t\($0)" })
            let device = try await register("\(Int.random(in: 0..<60, using: &dice))", topics: .replace(topics))
            if dice.chance(0.3) { try await ports.unregister(device.uuid, on: platform.key) }
            if dice.chance(0.2) { try await register("\(Int.random(in: 0..<60, using: &dice))", as: device.uuid) }
            if round.isMultiple(of: rounds) { try await pause() }
        }
        try await pause()
    }
}

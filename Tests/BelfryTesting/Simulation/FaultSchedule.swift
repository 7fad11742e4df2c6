import BelfryService
import Synchronization

/// The present faults outside the server: shared by all processes, and none at the end.
final class FaultSchedule: Sendable {
    private struct State {
        var random: SplitMix64
        var isCalm = false
        var credentialsRefused: Set<Key<Platform>> = []
        var useless: Set<Key<Platform>> = []
        /// The platforms whose credentials were ever in trouble.
        var troubled: Set<Key<Platform>> = []
        /// The device whose answer is that the credentials are refused, though they are not.
        var odd: Key<Device>?
    }

    private let faults: World.Faults
    private let plan: OutcomePlan
    private let state: Mutex<State>

    init(_ world: World) {
        faults = world.faults
        plan = OutcomePlan(seed: world.seed, rates: world.faults.rates)
        state = Mutex(State(random: SplitMix64(seeds: world.seed, 2)))
    }

    var isCalm: Bool { state.withLock(\.isCalm) }

    func calm() {
        state.withLock { state in
            state.isCalm = true
            state.credentialsRefused = []
            state.useless = []
        }
    }

    /// In a third of the worlds, one device is answered that the credentials are refused.
    func chooseOddDevice(among devices: [Key<Device>], seed: UInt64) {
        var random = SplitMix64(seeds: seed, 8)
        guard !devices.isEmpty, random.chance(1.0 / 3) else { return }
        state.withLock { $0.odd = random.pick(devices) }
    }

    func wasTroubled(_ platform: Key<Platform>) -> Bool { state.withLock { $0.troubled.contains(platform) } }
    func refusesCredentials(of platform: Key<Platform>) -> Bool {
        state.withLock { $0.credentialsRefused.contains(platform) }
    }

    func trouble(_ platform: Key<Platform>, isUseless: Bool) {
        state.withLock { state in
            state.troubled.insert(platform)
            if isUseless { state.useless.formUnion([platform]) } else { state.credentialsRefused.formUnion([platform]) }
        }
    }

    func mend(_ platform: Key<Platform>) {
        state.withLock { state in
            state.credentialsRefused.remove(platform)
            state.useless.remove(platform)
        }
    }

    func isUseless(_ platform: Key<Platform>) -> Bool { state.withLock { $0.useless.contains(platform) } }
    func storeFails() -> Bool { happens(faults.store) }
    func stall() -> Duration {
        guard happens(faults.stall) else { return .zero }
        return state.withLock { $0.random.duration(0.001...300) }
    }
    func processDies() -> Bool { happens(faults.crash) }
    func room() -> Int { happens(faults.full) ? 0 : 1_000 }
    /// The jitter of retries continues whatever faults there are.
    func fraction() -> Double { state.withLock { $0.random.fraction() } }

    func answer(
        on platform: Key<Platform>, push: Key<Push>, device: Key<Device>, attempt: Int, now: Instant
    ) -> (outcome: Outcome, isTold: Bool) {
        let (isCalm, areCredentialsRefused, isOdd) = state.withLock {
            ($0.isCalm, $0.credentialsRefused.contains(platform), $0.odd == device)
        }
        if areCredentialsRefused { return (.credentialsRefused("the key was revoked"), false) }
        if isCalm { return (.accepted, true) }
        if isOdd { return (.credentialsRefused("this device's are"), false) }
        return plan.outcome(of: push, to: device, attempt: attempt, now: now)
    }

    private func happens(_ chance: Double) -> Bool {
        state.withLock { state in !state.isCalm && chance > 0 && state.random.chance(chance) }
    }
}

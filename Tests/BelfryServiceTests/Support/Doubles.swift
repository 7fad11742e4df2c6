import BelfryService
import BelfryTesting
import FoundationEssentials
import Synchronization

/// Lets writes of a store fail.
final class WriteTrouble: Sendable {
    private struct State {
        var error: (any Error)?
        /// The number of writes that succeed before.
        var spared = 0
    }

    private let state = Mutex(State())

    /// Every write fails with the error, but for the next `spared` ones; with nil none does.
    func set(_ error: (any Error)?, sparing spared: Int = 0) {
        state.withLock { $0 = State(error: error, spared: spared) }
    }

    func check(_ access: InterceptedStore.Access) throws {
        guard access == .write else { return }
        let error = state.withLock { state in
            state.spared -= 1
            return state.spared < 0 ? state.error : nil
        }
        if let error { throw error }
    }
}

/// Writes secrets down as they are.
final class OpenVault: Vault {
    func seal(_ secret: [UInt8], for purpose: String) -> Sealed { Sealed(bytes: Array("\(purpose):".utf8) + secret) }

    func open(_ sealed: Sealed, for purpose: String) throws -> [UInt8] {
        let mark = Array("\(purpose):".utf8)
        guard sealed.bytes.starts(with: mark) else { throw VaultError.broken }
        return Array(sealed.bytes.dropFirst(mark.count))
    }
}

/// Stands at noon of a summer day until a test moves it. Nobody waits by it.
final class StoppedClock: WallClock {
    private let time = Mutex(Instant(milliseconds: 1_500_000_000_000))

    var now: Instant { time.withLock { $0 } }
    func advance(by duration: Duration) { time.withLock { $0 = $0 + duration } }
    func sleep(for duration: Duration) async throws {}
}

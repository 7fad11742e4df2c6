import Synchronization

/// The time for which a server is the one that writes, for all connections of a connection string.
///
/// A server that was demoted may keep its connections. One of them finds out by a write that is refused; the others, which may only
/// read or listen, would go on with what that server had then. Where every server refuses writes, an era lasts some seconds all the same, so
/// that not every refused write makes all connections anew.
final class ServerEra: Sendable {
    private struct State {
        var number = 0
        /// When the last era but the first began.
        var beganAt: ContinuousClock.Instant?
        /// When it ends, where that is known.
        var endsAt: ContinuousClock.Instant?
    }

    private let state = Mutex(State())

    static let shortest = Duration.seconds(5)
    private static let all = Mutex<[String: ServerEra]>([:])

    static func of(_ connection: String) -> ServerEra {
        all.withLock { all in
            if let era = all[connection] { return era }
            let era = ServerEra()
            all[connection] = era
            return era
        }
    }

    /// The number of the era.
    func number(at now: @autoclosure () -> ContinuousClock.Instant = .now) -> Int {
        state.withLock { state in
            if let endsAt = state.endsAt, now() >= endsAt {
                state = State(number: state.number + 1, beganAt: endsAt)
            }
            return state.number
        }
    }

    /// Ends an era, once.
    func end(_ era: Int, at now: ContinuousClock.Instant = .now) {
        guard number(at: now) == era else { return }
        state.withLock { state in
            guard state.number == era, state.endsAt == nil else { return }
            state.endsAt = max(now, state.beganAt.map { $0 + Self.shortest } ?? now)
        }
    }
}

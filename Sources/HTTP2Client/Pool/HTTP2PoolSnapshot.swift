/// A pool at one moment, for metrics and health pages.
public struct HTTP2PoolSnapshot: Sendable, Hashable {
    /// Whether the pool connects freely.
    public enum Circuit: Sendable, Hashable {
        case closed
        /// Connecting failed; the next attempt is due after this.
        case open(failures: Int, retryIn: Duration)
        /// The wait is over; one attempt decides.
        case probing(failures: Int)
    }

    public let connectionsOpen: Int
    public let connectionsOpening: Int
    public let connectionsDraining: Int
    /// Requests written and unanswered or waiting for a stream, over all connections.
    public let requestsOnConnections: Int
    /// Requests that wait for a connection.
    public let requestsWaiting: Int
    public let circuit: Circuit
    /// Why the last connect failed; nil once a connection has proven itself.
    public let lastFailure: HTTP2ConnectError?

    init(state: PoolState, load: Int, now: Duration) {
        func count(_ phase: PoolState.Phase) -> Int { state.members.count { $0.phase == phase } }
        connectionsOpen = count(.open)
        connectionsOpening = count(.connecting)
        connectionsDraining = count(.draining)
        requestsOnConnections = load
        requestsWaiting = state.waiters.reduce(0) { $0 + $1.count }
        lastFailure = state.lastFailure
        let failures = state.backOff.failures
        circuit =
            if failures == 0 { .closed } else if state.backOff.allows(at: now) { .probing(failures: failures) } else {
                .open(failures: failures, retryIn: state.backOff.nextAt - now)
            }
    }
}

import Synchronization

/// The time for which a server is the one that writes, for all connections of a connection string.
///
/// A server that was demoted may keep its connections. One of them finds out by a write that is refused; the others, which may only
/// read or listen, would go on with what that server had then.
final class ServerEra: Sendable {
    private let number = Atomic(0)

    private static let all = Mutex<[String: ServerEra]>([:])

    static func of(_ connection: String) -> ServerEra {
        all.withLock { all in
            if let era = all[connection] { return era }
            let era = ServerEra()
            all[connection] = era
            return era
        }
    }

    var now: Int { number.load(ordering: .acquiring) }

    /// Ends an era, once.
    func end(_ era: Int) {
        _ = number.compareExchange(expected: era, desired: era + 1, ordering: .acquiringAndReleasing)
    }
}

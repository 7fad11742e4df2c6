import Logging
import PostgreSQL
import Synchronization

/// Which kinds of events anything listens to, by application: where nothing does, an event costs this look-up alone.
///
/// What this node changes counts from its commit on, changes by others from the reading after their announcement
/// (`ChangeNotifier`), or within a second.
package final class WebhookListeners: Sendable {
    private struct State {
        var wanted: [Key<Application>: WebhookKinds] = [:] {
            didSet { all = WebhookKinds(bits: wanted.values.reduce(0) { $0 | $1.bits }) }
        }
        /// The kinds that any application wants. Each registration asks for them, and applications are many.
        private(set) var all = WebhookKinds(bits: 0)
        /// Raised by each change of our own, so that rows read before it do not undo it.
        var generation = 0
        var isBeingRead = false
    }

    private let state = Mutex(State())

    init() {}

    init(of db: some SQLConnection) throws { try read(db) }

    func wants(_ kind: WebhookEvent.Kind, _ application: Key<Application>) -> Bool {
        state.withLock { $0.wanted.isEmpty ? false : $0.wanted[application]?.contains(kind) ?? false }
    }

    /// Whether any application does.
    func wants(_ kind: WebhookEvent.Kind) -> Bool { state.withLock { $0.all.contains(kind) } }

    func apply(_ changes: [Key<Application>: WebhookKinds]) {
        guard !changes.isEmpty else { return }
        state.withLock { state in
            state.wanted.merge(changes) { $1 }
            state.generation += 1
        }
    }

    func read(_ db: some SQLConnection) throws {
        let generation = state.withLock(\.generation)
        let rows = try db.prepared(WebhookStatements.wanted).all { row in
            (Key<Application>(row.integer(0)), WebhookKinds(bits: row.integer(1)))
        }
        let wanted = Dictionary(uniqueKeysWithValues: rows)
        state.withLock { if $0.generation == generation { $0.wanted = wanted } }
    }

    /// Reads what other nodes have changed, unless that is under way.
    func refresh(in pool: ConnectionPool, _ logger: Logger) {
        let isUnderWay = state.withLock { state in
            defer { state.isBeingRead = true }
            return state.isBeingRead
        }
        guard !isUnderWay else { return }
        pool.enqueue { [self] in
            try read($0)
        } then: { [self] result in
            state.withLock { $0.isBeingRead = false }
            guard case .failure(let error) = result else { return }
            logger.debug("the webhooks of other nodes were not read", metadata: ["error": "\(error)"])
        }
    }
}

import BelfryCore
import FoundationEssentials
import Logging
import PostgreSQL
import Synchronization

/// Tells other nodes what changed, and hears it from them.
///
/// What it says is a hint, apart from the transactions it is about: those that `NOTIFY` commit one after the other in all of
/// the database. Words wait for the next round of `PostgresWatch`, so however much changes, little is said.
final class ChangeNotifier: Sendable {
    enum Word: String, Sendable, CaseIterable {
        /// Something may have fallen due.
        case due
        /// Applications or platforms are not what they were.
        case registryCache
    }

    private static let channel = "belfry"

    private let pool: ConnectionPool
    private let listener: Listener
    /// So that a node does not heed itself.
    private let name: String
    private let unsaid = Mutex<Set<Word>>([])
    private let logger: Logger

    init(
        node: UUID, pool: ConnectionPool, connecting: ConnectionOptions, registryCache: RegistryCache,
        signals: WorkHints, logger: Logger
    ) throws {
        self.pool = pool
        self.logger = logger
        let name = node.uuidString
        self.name = name
        listener = try Listener(connecting, channels: [Self.channel]) { event in
            switch event {
            case .listening:
                registryCache.forget()
                signals.fire()
            case .heard(_, let payload):
                let parts = payload.split(separator: " ")
                guard parts.count == 2, parts[1] != name else { return }
                switch Word(rawValue: String(parts[0])) {
                case .due?: signals.fire()
                case .registryCache?: registryCache.forget()
                case nil: break
                }
            case .lost(let error):
                logger.debug("other nodes are not heard", metadata: ["error": "\(error)"])
            }
        }
    }

    func notify(_ word: Word) { unsaid.withLock { _ = $0.insert(word) } }

    /// Says what waits to be said.
    func speak() {
        let words = unsaid.withLock { unsaid in
            defer { unsaid = [] }
            return unsaid
        }
        guard !words.isEmpty else { return }
        let payloads = words.map { "\($0.rawValue) \(name)" }
        pool.enqueue { connection in
            for payload in payloads {
                try connection.prepared(PostgresSessionStatements.notify).run(Self.channel, payload)
            }
        } then: { [logger] result in
            guard case .failure(let error) = result else { return }
            logger.debug("other nodes were not told", metadata: ["error": "\(error)"])
        }
    }

    func close() { listener.close() }
}

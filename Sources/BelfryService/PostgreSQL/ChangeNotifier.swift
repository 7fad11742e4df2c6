import FoundationEssentials
import Logging
import PostgreSQL
import Synchronization

/// Announces changes to other nodes, and receives their announcements.
///
/// An announcement is a hint, sent apart from the transactions it is about, because transactions that use `NOTIFY`
/// commit one after the other in the whole database. Changes are collected until the next round of `PostgresMaintenance`, so
/// however much changes, little is sent.
final class ChangeNotifier: Sendable {
    enum Change: String, Sendable, CaseIterable {
        /// Something may be due.
        case due
        /// Applications or platforms have changed.
        case registryCache
        /// Webhooks or feeds have changed.
        case listeners
    }

    private static let channel = "belfry"
    /// The number of connections that it opens for itself.
    static let connections = 1

    private let pool: ConnectionPool
    private let listener: Listener
    /// Lets a node ignore its own announcements.
    private let name: String
    private let pending = Mutex<Set<Change>>([])
    private let logger: Logger

    init(
        node: UUID, pool: ConnectionPool, connecting: ConnectionOptions, registryCache: ApplicationCache,
        listeners: WebhookListeners, signals: WorkHints, logger: Logger
    ) throws {
        self.pool = pool
        self.logger = logger
        let name = node.uuidString
        self.name = name
        listener = try Listener(connecting, channels: [Self.channel]) { event in
            switch event {
            case .listening:
                registryCache.forget()
                listeners.refresh(in: pool, logger)
                signals.fire(.all)
            case .heard(_, let payload):
                let parts = payload.split(separator: " ")
                guard parts.count == 2, parts[1] != name else { return }
                switch Change(rawValue: String(parts[0])) {
                case .due?: signals.fire(.all)
                case .registryCache?: registryCache.forget()
                case .listeners?: listeners.refresh(in: pool, logger)
                case nil: break
                }
            case .pooled: logger.debug("other nodes are not heard through a pooler")
            case .lost(let error):
                logger.debug("other nodes are not heard", metadata: ["error": "\(error)"])
            }
        }
    }

    func notify(_ change: Change) { pending.withLock { _ = $0.insert(change) } }

    /// Sends the collected changes.
    func flush() {
        let changes = pending.withLock { pending in
            defer { pending = [] }
            return pending
        }
        guard !changes.isEmpty else { return }
        let payloads = changes.map { "\($0.rawValue) \(name)" }
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

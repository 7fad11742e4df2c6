package import BelfryService
import FoundationEssentials
package import Logging

/// The location of a database: `sqlite:` and a path, or `postgres://…` in the form of libpq.
package enum DatabaseLocation: Sendable, Hashable {
    case sqlite(path: String)
    case postgres(url: String)

    /// nil for anything else.
    package init?(_ text: String) {
        if text.hasPrefix("postgres://") || text.hasPrefix("postgresql://") {
            guard PostgresStore.fault(of: text) == nil else { return nil }
            self = .postgres(url: text)
        } else if text.hasPrefix("sqlite:"), text.count > 7 {
            self = .sqlite(path: String(text.dropFirst(7)))
        } else {
            return nil
        }
    }

    /// Copies everything to an empty database, which is created if it is missing, and records that in its audit log.
    ///
    /// - Parameter keepsSource: whether this database stays in use; otherwise it is marked, and refused from then on.
    package func copy(
        to target: DatabaseLocation, keepsSource: Bool, by author: AuditAuthor, logger: Logger,
        _ report: (DatabaseCopy.Progress) -> Void
    ) async throws -> [DatabaseCopy.Verdict] {
        try demandFile()
        try target.demandFile(orMakes: true)
        try await demandNoServer(logger)
        try await target.demandNoServer(logger)
        var locks: [DirectoryLock] = []
        defer { withExtendedLifetime(locks) {} }
        for directory in Set([self, target].compactMap(\.directory)) { locks.append(try await .take(directory)) }
        let (secrets, earlier) = try await with(for: .copyingFrom, logger) {
            (try await $0.bulkSecrets(), try await $0.move())
        }
        try await target.with(for: .copyingTo, logger) {
            try await Self.demandNoNode(of: $0)
            try await $0.beginImport(with: secrets)
        }
        return try await target.with(for: .copyingTo, logger) { copy in
            let now = SystemClock().now
            let change = AuditedChange(by: author, "database.copy", "database", of: .everything, ["from": engine])
            let verdicts: [DatabaseCopy.Verdict]
            try await with(for: .copyingFrom, logger) { source in
                try await DatabaseCopy(source: source, target: copy).run(report)
                if !keepsSource { try await source.record(DatabaseMove(to: target.name, at: now)) }
            }
            do {
                // From the mark on nobody comes in. One who stayed could write behind the comparison.
                if !keepsSource { try await demandNoServer(logger) }
                verdicts = try await with(for: .copyingFrom, logger) {
                    try await DatabaseCopy(source: $0, target: copy).compare()
                }
            } catch {
                if !keepsSource {
                    try await with(for: .copyingFrom, logger) {
                        try await $0.record(earlier?.name == target.name ? nil : earlier)
                    }
                }
                throw error
            }
            // The end comes last: after an interruption before it the copy can be started again, and both databases are never
            // usable at once.
            try await copy.audited(change) { try await copy.endImport(of: name, at: now) }
            return verdicts
        }
    }

    /// Lets a database be used again that was copied to another. Returns where it had been copied to; nil when it was not.
    ///
    /// - Parameter force: even if the other has been used since, or does not tell.
    package func reopen(force: Bool, by author: AuditAuthor, logger: Logger) async throws -> DatabaseMove? {
        try demandFile()
        return try await with(for: .copyingFrom, logger) { store in
            guard let move = try await store.move() else { return nil }
            if !force, let use = await Self.use(since: move, of: store, logger) {
                throw DatabaseInUse(description: use)
            }
            try await store.record(nil)
            let change = AuditedChange(
                by: author, "database.reopen", "database", of: .everything, ["force": String(force)])
            try await store.audited(change) {}
            return move
        }
    }

    /// The reason not to go back to a database; nil when its copy has not been used since.
    private static func use(
        since move: DatabaseMove, of old: any Store, _ logger: Logger
    ) async -> String? {
        let way =
            "bring it all back into a new database with `belfry database copy --from \(move.name) --to sqlite:…`, or go back without "
            + "what it has taken since with --force"
        do {
            guard let target = DatabaseLocation(move.name) else { throw StoreError.damaged("the note of the copy") }
            try target.demandFile()
            let found = try await target.with(for: .copyingFrom, logger) { try await $0.use(beyond: old) }
            return found.isEmpty
                ? nil : "\(move.name) has been used since \(move.at): \(found.joined(separator: ", ")); \(way)"
        } catch {
            return
                "\(move.name), to which everything was copied at \(move.at), does not tell whether it has been used since: "
                + "\(error); \(way)"
        }
    }

    /// Its name as on a command line, without a password, which none may have.
    private var name: String {
        switch self {
        case .sqlite(let path): "sqlite:\(path.absolutePath)"
        case .postgres(let url): url
        }
    }

    /// The directory of an SQLite database, if it is there: its lock keeps servers away. Nodes of a PostgreSQL tell of themselves.
    private var directory: String? {
        guard case .sqlite(let path) = self else { return nil }
        let directory = path.absolutePath.parentDirectory.resolvingLinks
        return (try? directory.isThere()) == true ? directory : nil
    }

    /// Throws where an SQLite database is missing, or is no file.
    ///
    /// - Parameter makes: whether a missing one is made.
    private func demandFile(orMakes makes: Bool = false) throws {
        guard case .sqlite(let path) = self else { return }
        guard try makes || path.isThere() else { throw StoreError.unknown("database at \(path)") }
        guard try !(path + "/.").isThere() else {
            throw StoreError.unavailable("\(path) is a folder: name the file in it, such as \(path)/belfry.sqlite")
        }
    }

    /// Throws while a server has the database: what it writes during a copy would be lost.
    private func demandNoServer(_ logger: Logger) async throws {
        switch self {
        case .sqlite(let path):
            guard try path.isThere() else { return }
            do { try SQLiteBackup.demandAlone(path) } catch StoreError.unavailable(let why) {
                guard why.contains("another process") else { throw StoreError.unavailable(why) }
                throw DatabaseInUse(
                    description: "\(path) is in use, stop the server first, and commands such as an import")
            }
        case .postgres(let url):
            // A schema that is made here would look like a service without data, if the copy ended before it is marked.
            guard try await PostgresStore.schemaVersion(of: url).missing.isEmpty else { return }
            try await with(for: .copyingTo, logger) { try await Self.demandNoNode(of: $0) }
        }
    }

    private static func demandNoNode(of store: any Store) async throws {
        let nodes = try await store.nodes().filter { $0.state != .gone }
        guard !nodes.isEmpty else { return }
        let names = nodes.map { "\($0.host), heard of at \($0.lastSeenAt.text)" }.joined(separator: "; ")
        throw DatabaseInUse(
            description: "the PostgreSQL is in use, stop its nodes first (one that was killed is gone after 20 s): "
                + names)
    }

    private var engine: String {
        switch self {
        case .sqlite: "sqlite"
        case .postgres: "postgres"
        }
    }

    private func with<Value>(
        for use: StoreUse, _ logger: Logger, _ body: (any Store) async throws -> Value
    ) async throws -> Value {
        let migrates = use == .copyingTo
        switch self {
        case .sqlite(let path):
            try Backup.demandNone(in: path.absolutePath.resolvingLinks.parentDirectory)
            let store = try SQLiteStore.open(
                at: path, clock: SystemClock(), logger: logger, migrate: migrates, for: use)
            let result = await Result { try await body(store) }
            try await store.close()
            return try result.get()
        case .postgres(let url):
            let options = PostgresStore.Options(connection: url, connectionsMax: 2, use: use)
            let store = try await PostgresStore.open(options, logger: logger, migrate: migrates)
            let result = await Result { try await body(store) }
            await store.close()
            return try result.get()
        }
    }
}

/// Why a database is not copied.
package struct DatabaseInUse: Error, Sendable, CustomStringConvertible {
    package let description: String
}

extension Store {
    /// Signs that the database has been used since it was copied from `old`: nodes, and rows that have been added.
    fileprivate func use(beyond old: any Store) async throws -> [String] {
        var found = try await nodes().map { "node \($0.host) served, last at \($0.lastSeenAt.text)" }
        for (table, words) in Self.telling {
            let more = try await lastNumber(of: table) - old.lastNumber(of: table)
            // The copy itself left a line in the audit log.
            let added = table == "audit" ? more - 1 : more
            if added > 0 { found.append("\(words) \(added)") }
        }
        return found
    }

    /// The tables that any use adds rows to, and what a row is called.
    private static var telling: [(String, String)] {
        [("push", "new pushes:"), ("device", "new devices:"), ("schedule", "new schedules:"), ("audit", "changes:")]
    }
}

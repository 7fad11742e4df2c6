import BelfryCore
import PostgreSQL

/// One numbered step of the schema.
struct Migration: Sendable {
    let identifier: String
    let sql: String
}

/// The migrations, and what of them a database has.
enum Schema {
    static let migrations = [
        Migration0001.migration, Migration0002.migration, Migration0003.migration, Migration0004.migration,
        Migration0005.migration, Migration0006.migration, Migration0007.migration,
        Migration0008.migration, Migration0009.migration, Migration0010.migration, Migration0011.migration,
        Migration0012.migration, Migration0013.migration, Migration0014.migration,
    ]

    /// Brings the schema up to date, unless a newer program has been at it. One node does, while others wait; each
    /// migration is a transaction, so that one that dies leaves nothing behind.
    static func migrate(_ connection: Connection) throws {
        try connection.prepared(SchemaStatements.lock).run()
        defer { _ = try? connection.prepared(SchemaStatements.unlock).run() }
        let version = try SchemaVersion(of: connection)
        guard version.unknown.isEmpty else { return }
        for migration in migrations where version.missing.contains(migration.identifier) {
            try connection.prepared(SessionStatements.begin).run()
            try connection.prepared(SchemaStatements.table).run()
            try connection.run(script: migration.sql)
            if version.applied.isEmpty, migration.identifier == migrations[0].identifier {
                try Secrets.make(in: connection)
            }
            try connection.prepared(SchemaStatements.note).run(migration.identifier)
            try connection.prepared(SessionStatements.commit).run()
        }
    }
}

/// How far a database's schema is from the one this program knows.
package struct SchemaVersion: Sendable, Hashable {
    /// Migrations done, by their names.
    package let applied: [String]
    /// Migrations this program has and the database has not.
    package let missing: [String]
    /// Migrations the database has and this program does not know: a newer program has been here.
    package let unknown: [String]

    package var isCurrent: Bool { missing.isEmpty && unknown.isEmpty }

    init(of connection: Connection) throws {
        let known = Schema.migrations.map(\.identifier)
        let isThere = try connection.prepared(SchemaStatements.isThere).first { $0.bool(0) } ?? false
        let done = isThere ? try connection.prepared(SchemaStatements.applied).all { $0.text(0) } : []
        applied = done.sorted()
        missing = known.filter { !done.contains($0) }
        unknown = Set(done).subtracting(known).sorted()
    }

    /// Throws unless the schema is the one this program knows.
    func check() throws {
        guard unknown.isEmpty else {
            throw StoreError.unavailable(
                "the database was migrated by a newer version: it has \(unknown.joined(separator: ", "))")
        }
        guard missing.isEmpty else {
            throw StoreError.unavailable(
                "the database has to be migrated first: it lacks \(missing.joined(separator: ", "))")
        }
    }
}

enum SchemaStatements {
    /// Who holds this number migrates; others wait.
    static let lock = "SELECT pg_advisory_lock(7236828793) /* schema.lock */"
    static let unlock = "SELECT pg_advisory_unlock(7236828793) /* schema.unlock */"

    static let table = """
        CREATE TABLE IF NOT EXISTS belfry_migration /* schema.table */ (
            identifier text PRIMARY KEY,
            applied_at timestamptz NOT NULL DEFAULT now()
        )
        """

    static let isThere = "SELECT to_regclass('belfry_migration') IS NOT NULL /* schema.is_there */"

    static let applied = "SELECT identifier /* schema.applied */ FROM belfry_migration ORDER BY identifier"

    static let note = "INSERT INTO belfry_migration /* schema.note */ (identifier) VALUES ($1)"
}

import BelfryCore
import PostgreSQL

/// One numbered step of the schema.
struct Migration: Sendable {
    let identifier: String
    let sql: String
}

/// The migrations, and what of them a database has.
enum PostgresSchema {
    static let migrations = [
        PostgresMigration0001.migration, PostgresMigration0002.migration, PostgresMigration0003.migration,
        PostgresMigration0004.migration,
        PostgresMigration0005.migration, PostgresMigration0006.migration, PostgresMigration0007.migration,
        PostgresMigration0008.migration, PostgresMigration0009.migration, PostgresMigration0010.migration,
        PostgresMigration0011.migration,
        PostgresMigration0012.migration, PostgresMigration0013.migration, PostgresMigration0014.migration,
        PostgresMigration0015.migration,
    ]

    /// Brings the schema up to date, unless a newer program has been at it. One node does, while others wait; each
    /// migration is a transaction, so that one that dies leaves nothing behind.
    static func migrate(_ connection: Connection) throws {
        try connection.prepared(SchemaStatements.lock).run()
        defer { _ = try? connection.prepared(SchemaStatements.unlock).run() }
        let version = try version(of: connection)
        guard version.unknown.isEmpty else { return }
        for migration in migrations where version.missing.contains(migration.identifier) {
            try connection.prepared(PostgresSessionStatements.begin).run()
            try connection.prepared(SchemaStatements.table).run()
            try connection.run(script: migration.sql)
            if version.applied.isEmpty, migration.identifier == migrations[0].identifier {
                try Secrets.make(in: connection)
            }
            try connection.prepared(SchemaStatements.note).run(migration.identifier)
            try connection.prepared(PostgresSessionStatements.commit).run()
        }
    }

    /// What migrations the database has.
    static func version(of connection: Connection) throws -> SchemaVersion {
        let isThere = try connection.prepared(SchemaStatements.isThere).first { $0.bool(0) } ?? false
        let applied = isThere ? try connection.prepared(SchemaStatements.applied).all { $0.text(0) } : []
        return SchemaVersion(applied: applied, known: migrations.map(\.identifier))
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

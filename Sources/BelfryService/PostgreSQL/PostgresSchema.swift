import PostgreSQL

/// One numbered step of the schema.
struct Migration: Sendable {
    let identifier: String
    let run: @Sendable (Connection) throws -> Void
}

/// The migrations, and which of them a database has.
enum PostgresSchema {
    static let migrations =
        [
            Migration(identifier: Schema.identifier) { connection in
                for tables in Schema.tables { try connection.run(script: tables.postgres) }
                try connection.run(script: PostgresTables.script)
                try Secrets.make(in: connection)
            }
        ]
        + Schema.migrations.map { migration in
            Migration(identifier: migration.identifier) { connection in try migration.run(in: connection) }
        }

    /// Brings the schema up to date, unless a newer program has migrated it. One node migrates, while others wait; each
    /// migration is a transaction, so that an interrupted one leaves nothing behind.
    static func migrate(_ connection: Connection) throws {
        while try next(on: connection) != nil {
            try connection.prepared(PostgresSessionStatements.begin).run()
            // It ends with the transaction, so that a pooler hands it to no other.
            try connection.prepared(SchemaStatements.lock).run()
            if let migration = try next(on: connection) {
                try connection.prepared(SchemaStatements.table).run()
                try migration.run(connection)
                try connection.prepared(SchemaStatements.note).run(migration.identifier)
            }
            try connection.prepared(PostgresSessionStatements.commit).run()
        }
    }

    /// The first migration that the database lacks; nil where it has all, or is a newer program's.
    private static func next(on connection: Connection) throws -> Migration? {
        let version = try version(of: connection)
        return version.unknown.isEmpty ? migrations.first { version.missing.contains($0.identifier) } : nil
    }

    /// The migrations that a database has.
    static func version(of connection: Connection) throws -> SchemaVersion {
        let isThere = try connection.prepared(SchemaStatements.isThere).first { $0.bool(0) } ?? false
        let applied = isThere ? try connection.prepared(SchemaStatements.applied).all { $0.text(0) } : []
        return SchemaVersion(applied: applied, known: migrations.map(\.identifier))
    }
}

enum SchemaStatements {
    /// The advisory lock that lets one node migrate.
    static let lock = "SELECT pg_advisory_xact_lock(7236828793) /* schema.lock */"

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

import GRDB

/// The migrations, and which of them a database has.
enum SQLiteSchema {
    static let migrator: DatabaseMigrator = {
        var migrator = DatabaseMigrator()
        migrator.registerMigration(Schema.identifier) { db in
            for part in Schema.parts { try db.execute(sql: part.sql.sqlite) }
            try db.execute(sql: SQLiteTables.script)
            try Secrets.make(in: db)
        }
        for migration in Schema.migrations {
            migrator.registerMigration(migration.identifier) { db in try migration.run(in: db) }
        }
        return migrator
    }()

    /// Brings the schema up to date, unless a newer program has migrated it.
    static func migrate(_ pool: DatabasePool) throws {
        let version = try pool.read(version)
        if version.unknown.isEmpty, !version.missing.isEmpty { try migrator.migrate(pool) }
    }

    /// The migrations that a database has.
    static func version(of db: Database) throws -> SchemaVersion {
        SchemaVersion(applied: try migrator.appliedIdentifiers(db), known: migrator.migrations)
    }
}

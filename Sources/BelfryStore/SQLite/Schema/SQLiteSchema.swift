import BelfryCore
import FoundationEssentials
import GRDB

/// The migrations, and what of them a database has.
enum SQLiteSchema {
    static let migrator: DatabaseMigrator = {
        var migrator = DatabaseMigrator()
        migrator.registerMigration(Migration0001.identifier) { db in
            try db.execute(sql: Migration0001.sql)
            try Secrets.make(in: db)
        }
        migrator.registerMigration(Migration0002.identifier) { try $0.execute(sql: Migration0002.sql) }
        migrator.registerMigration(Migration0003.identifier) { try $0.execute(sql: Migration0003.sql) }
        migrator.registerMigration(Migration0004.identifier) { try $0.execute(sql: Migration0004.sql) }
        migrator.registerMigration(Migration0005.identifier) { try $0.execute(sql: Migration0005.sql) }
        migrator.registerMigration(Migration0006.identifier) { db in
            try db.execute(sql: Migration0006.sql)
            try db.prepared(Migration0006.firstTenant).run(UUID())
        }
        migrator.registerMigration(Migration0007.identifier) { try $0.execute(sql: Migration0007.sql) }
        migrator.registerMigration(Migration0008.identifier) { try $0.execute(sql: Migration0008.sql) }
        migrator.registerMigration(Migration0009.identifier) { try $0.execute(sql: Migration0009.sql) }
        migrator.registerMigration(Migration0010.identifier) { try $0.execute(sql: Migration0010.sql) }
        migrator.registerMigration(Migration0011.identifier) { try $0.execute(sql: Migration0011.sql) }
        migrator.registerMigration(Migration0012.identifier) { try $0.execute(sql: Migration0012.sql) }
        migrator.registerMigration(Migration0013.identifier) { try $0.execute(sql: Migration0013.sql) }
        migrator.registerMigration(Migration0014.identifier) { try $0.execute(sql: Migration0014.sql) }
        migrator.registerMigration(Migration0015.identifier) { try $0.execute(sql: Migration0015.sql) }
        migrator.registerMigration(Migration0016.identifier) { try $0.execute(sql: Migration0016.sql) }
        migrator.registerMigration(Migration0017.identifier) { db in
            try db.execute(sql: Migration0017.sql)
            try db.execute(sql: ContentUseStatements.countAll)
        }
        migrator.registerMigration(Migration0018.identifier) { try $0.execute(sql: Migration0018.sql) }
        migrator.registerMigration(Migration0019.identifier) { try $0.execute(sql: Migration0019.sql) }
        return migrator
    }()

    /// Brings the schema up to date, unless a newer program has been at it.
    static func migrate(_ pool: DatabasePool) throws {
        let version = try pool.read(version)
        if version.unknown.isEmpty, !version.missing.isEmpty { try migrator.migrate(pool) }
    }

    /// What migrations the database has.
    static func version(of db: Database) throws -> SchemaVersion {
        SchemaVersion(applied: try migrator.appliedIdentifiers(db), known: migrator.migrations)
    }
}

import BelfryCore
import FoundationEssentials
import GRDB

/// The migrations, and what of them a database has.
enum Schema {
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
        return migrator
    }()

    /// Brings the schema up to date, unless a newer program has been at it.
    static func migrate(_ pool: DatabasePool) throws {
        let version = try pool.read(SchemaVersion.init)
        if version.unknown.isEmpty, !version.missing.isEmpty { try migrator.migrate(pool) }
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

    init(of db: Database) throws {
        let known = Schema.migrator.migrations
        let done = try Set(Schema.migrator.appliedIdentifiers(db))
        applied = done.sorted()
        missing = known.filter { !done.contains($0) }
        unknown = done.subtracting(known).sorted()
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

/// The tables of both engines, in the order they are made; each feature has its own part. What only one engine has is in its own folder.
///
/// A later table or column is a migration of its own: one that was released is never edited.
enum Schema {
    static let identifier = "0001 belfry"
}

/// A numbered step of the schema after the first. It runs in a transaction of its own.
protocol SchemaMigration: SendableMetatype {
    /// The number of the migration and what it does, such as `0002 credential facts`. From release 0.2.0 on it ends in
    /// `SchemaVersion.additiveMark`.
    static var identifier: String { get }

    /// The tables that it adds.
    static var tables: [StoreTable] { get }

    static func run(in db: some SQLConnection) throws
}

extension SchemaMigration {
    static var tables: [StoreTable] { [] }
}

/// Tables that are made together.
struct SchemaPart: Sendable {
    let tables: [StoreTable]
    let sql: SQLText

    init(_ tables: [StoreTable], sql: SQLText) { (self.tables, self.sql) = (tables, sql) }
}

/// Adds the authors of links and admin keys made at the dashboard, so that shutting a person out can end them; and indexes that list links
/// for those who may see them.
enum LinkAndKeyAuthors: SchemaMigration {
    static let identifier = "0003 authors of links and keys"

    static func run(in db: some SQLConnection) throws { try db.run(script: script) }

    private static let script: SQLText = """
        ALTER TABLE invitation ADD COLUMN author_id \(.bigint);
        ALTER TABLE admin_key ADD COLUMN author_id \(.bigint);
        CREATE INDEX invitation_author ON invitation (author_id) WHERE author_id IS NOT NULL;
        CREATE INDEX admin_key_author ON admin_key (author_id) WHERE author_id IS NOT NULL;
        CREATE INDEX invitation_tenant ON invitation (tenant_id\(postgres: ", id"));
        CREATE INDEX invitation_application ON invitation (application_id\(postgres: ", id"))
            WHERE application_id IS NOT NULL;
        CREATE INDEX invitation_email ON invitation (email);
        """
}

/// Compares a database's schema with the one this program knows.
package struct SchemaVersion: Sendable, Hashable {
    /// Migrations done, by their names.
    package let applied: [String]
    /// Migrations this program has and the database has not.
    package let missing: [String]
    /// Migrations the database has and this program does not know: a newer program has migrated it. See `breaking`.
    package let unknown: [String]

    package var isCurrent: Bool { missing.isEmpty && unknown.isEmpty }

    init(applied: some Sequence<String>, known: [String]) {
        let applied = Set(applied)
        self.applied = applied.sorted()
        missing = known.filter { !applied.contains($0) }
        unknown = applied.subtracting(known).sorted()
    }

    /// The end of a migration's name that only adds: programs of the release before it work with the schema after it, so that an upgrade
    /// can be taken back. Columns added to their rows have defaults, and rows that they write are right for the newer program.
    static let additiveMark = "(additive)"

    /// Unknown migrations that this program cannot work with.
    package var breaking: [String] { unknown.filter { !$0.hasSuffix(Self.additiveMark) } }

    /// Throws unless the schema is the one this program knows, or that with additions.
    func check() throws {
        guard breaking.isEmpty else {
            throw StoreError.unavailable(
                "the database was migrated by a newer version: it has \(breaking.joined(separator: ", "))")
        }
        guard missing.isEmpty else {
            throw StoreError.unavailable(
                "the database has to be migrated first: it lacks \(missing.joined(separator: ", "))")
        }
    }
}

import FoundationEssentials

/// Contents that an application saves under a name: the expression of a segment, the message of a template.
package protocol VersionedContents: Sendable, Hashable {
    static var statements: VersionedStatements { get }
    /// The most of one application.
    static var savedMax: Int { get }
    var versionText: String { get }
    init(versionText: String) throws
}

/// Contents under a name, and how often they were changed.
package struct Versioned<Contents: VersionedContents>: Sendable, Hashable {
    package let key: Key<Self>
    package let applicationKey: Key<Application>
    package let name: String
    package var contents: Contents
    /// 1, and one more with each change of the contents.
    package var version: Int64 = 1
    package let createdAt: Instant
    package var updatedAt: Instant

    package static var nameBytesMax: Int { 100 }
    package static var countMax: Int { Contents.savedMax }
    /// The versions that are kept, besides the present one.
    static var versionsMax: Int { 20 }

    /// Earlier contents.
    package struct Earlier: Sendable, Hashable {
        package let version: Int64
        package let contents: Contents
        /// When the next version replaced it.
        package let replacedAt: Instant
    }
}

extension Versioned {
    init(_ row: some SQLRow) throws {
        self.init(
            key: Key(row.integer(0)), applicationKey: Key(row.integer(1)), name: row.text(2),
            contents: try Contents(versionText: row.text(3)), version: row.integer(4),
            createdAt: Instant(milliseconds: row.integer(5)), updatedAt: Instant(milliseconds: row.integer(6)))
    }
}

extension Store {
    package func versioned<Contents: VersionedContents>(
        _ name: String, of application: Key<Application>
    ) async throws -> Versioned<Contents>? {
        try await readCommitted { db in
            try db.prepared(Contents.statements.byName).first(application, name, as: Versioned<Contents>.init)
        }
    }

    /// Earlier versions, the latest first.
    package func versions<Contents: VersionedContents>(
        of key: Key<Versioned<Contents>>
    ) async throws -> [Versioned<Contents>.Earlier] {
        try await readCommitted { [damagedRows] db in
            try db.prepared(Contents.statements.versions).all(key, Versioned<Contents>.versionsMax) { row in
                try damagedRows.readable("version \(row.integer(0)) of \(Contents.statements.table) \(key)") {
                    Versioned<Contents>.Earlier(
                        version: row.integer(0), contents: try Contents(versionText: row.text(1)),
                        replacedAt: Instant(milliseconds: row.integer(2)))
                }
            }.compactMap(\.self)
        }
    }

    package func create<Contents: VersionedContents>(
        _ name: String, _ contents: Contents, of application: Key<Application>
    ) async throws -> Versioned<Contents> {
        let (statements, limit) = (Contents.statements, Contents.savedMax)
        return try await write { session in
            try session.checkAlone(application)
            guard try session.prepared(statements.count).count(application) < limit else {
                throw StoreError.conflict("the application has \(limit) \(statements.table)s, which is the limit")
            }
            guard try !session.prepared(statements.byName).hasRow(application, name) else {
                throw StoreError.conflict("a \(statements.table) of that name exists")
            }
            let now = session.now
            let key = try session.insert(statements.insert, application, name, contents.versionText, now)
            return Versioned(
                key: Key(key), applicationKey: application, name: name, contents: contents, createdAt: now,
                updatedAt: now)
        }
    }

    /// Replaces the contents; nil where there are none of that name. The earlier ones are kept as a version.
    package func change<Contents: VersionedContents>(
        _ name: String, of application: Key<Application>, to contents: Contents
    ) async throws -> Versioned<Contents>? {
        let statements = Contents.statements
        return try await write { session in
            guard
                var changed = try session.prepared(statements.held).first(
                    application, name, as: Versioned<Contents>.init)
            else { return nil }
            guard changed.contents != contents else { return changed }
            let now = session.now
            try session.prepared(statements.keepVersion).send(
                changed.key, changed.version, changed.contents.versionText, now)
            try session.prepared(statements.forgetVersions).send(
                changed.key, changed.version - Int64(Versioned<Contents>.versionsMax))
            try session.prepared(statements.update).send(contents.versionText, now, changed.key)
            (changed.contents, changed.version, changed.updatedAt) = (contents, changed.version + 1, now)
            return changed
        }
    }

    /// Returns false when there are none.
    package func delete<Contents: VersionedContents>(
        _ type: Versioned<Contents>.Type, named name: String, of application: Key<Application>
    ) async throws -> Bool {
        let statements = Contents.statements
        return try await writeIfFound { session in
            guard
                let key = try session.prepared(statements.held).first(application, name, as: { $0.integer(0) })
            else { return false }
            for sql in statements.deletions { try session.prepared(sql).send(key) }
            return true
        }
    }
}

/// The statements of contents under names: those of a table, and of its `_version`.
package struct VersionedStatements: Sendable {
    let table: String
    let columns: String
    /// Each scans the unique index `_name`.
    let byName, held: SQLText
    let count, insert, update: SQLText
    let versions, keepVersion, forgetVersions: SQLText
    /// Delete a row with all that belongs to it.
    let deletions: [SQLText]

    /// - Parameters:
    ///   - column: the one with the contents.
    ///   - others: further tables with rows of one of `table`.
    init(_ table: String, of column: String, others: [String] = []) {
        self.table = table
        let columns = "id, application_id, name, \(column), version, created_at_ms, updated_at_ms"
        self.columns = columns
        byName = "SELECT \(columns) /* \(table)s.by_name */ FROM \(table) WHERE application_id = $1 AND name = $2"
        held = """
            SELECT \(columns) /* \(table)s.held */ FROM \(table) WHERE application_id = $1 AND name = $2
            \(SQLText.forUpdate)
            """
        count = "SELECT count(*) /* \(table)s.count */ FROM \(table) WHERE application_id = $1"
        insert = """
            INSERT INTO \(table) /* \(table)s.insert */ (
                application_id, name, \(column), version, created_at_ms, updated_at_ms)
            VALUES ($1, $2, $3, 1, $4, $4)
            RETURNING id
            """
        update = """
            UPDATE \(table) /* \(table)s.update */ SET \(column) = $1, updated_at_ms = $2, version = version + 1
             WHERE id = $3
            """
        versions = """
            SELECT version, \(column), replaced_at_ms /* \(table)s.versions */ FROM \(table)_version
             WHERE \(table)_id = $1
             ORDER BY version DESC
             LIMIT $2
            """
        keepVersion = """
            INSERT INTO \(table)_version /* \(table)s.keep_version */ (
                \(table)_id, version, \(column), replaced_at_ms)
            VALUES ($1, $2, $3, $4)
            """
        forgetVersions = """
            DELETE FROM \(table)_version /* \(table)s.forget_versions */ WHERE \(table)_id = $1 AND version <= $2
            """
        let parts = (["version"] + others).map { part -> SQLText in
            "DELETE FROM \(table)_\(part) /* \(table)s.delete_\(part)s */ WHERE \(table)_id = $1"
        }
        deletions = parts + ["DELETE FROM \(table) /* \(table)s.delete */ WHERE id = $1"]
    }
}

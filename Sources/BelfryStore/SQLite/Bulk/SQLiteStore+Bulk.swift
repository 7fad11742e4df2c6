package import BelfryCore
import GRDB
import GRDBSQLite

extension SQLiteStore: BulkStore {
    package func bulkSecrets() async throws -> [String: [UInt8]] {
        try await read { db in
            var secrets: [String: [UInt8]] = [:]
            for name in Takeover.secrets {
                secrets[name] = try db.prepared(SecretStatements.value).first(name) { $0.blob(0) }
            }
            return secrets
        }
    }

    package func beginTakeover(with secrets: [String: [UInt8]]) async throws {
        try await writer.write { session in
            let mark = try session.prepared(SecretStatements.value).first(Takeover.mark) { _ in true }
            guard mark == nil else { return }
            let isInUse = try session.prepared(SQLiteBulkStatements.anything).first { $0.integer(0) != 0 } ?? true
            guard !isInUse else { throw Takeover.refused }
            try session.prepared(SQLiteBulkStatements.clearTenants).run()
            for (name, value) in secrets { try session.prepared(SQLiteBulkStatements.setSecret).run(name, value) }
            try session.prepared(SecretStatements.insert).run(Takeover.mark, [1])
        }
    }

    package func endTakeover() async throws {
        try await writer.write { session in
            try session.prepared(ContentUseStatements.forgetAll).run()
            try session.prepared(ContentUseStatements.countAll).run()
            try session.prepared(SQLiteBulkStatements.forget).run(Takeover.mark)
        }
    }

    package func rows(
        of table: BulkTable, after key: [BulkValue]?, limit: Int
    ) async throws -> [[BulkValue]] {
        let sql = SQLiteBulkStatements.rows(of: table, isBehind: key != nil)
        return try await read { db in
            var rows: [[BulkValue]] = []
            try db.prepared(sql).each(values: (key ?? []) + [.integer(Int64(limit))]) { row in
                rows.append(table.columns.indices.map { row.value(Int32($0), table.columns[$0].kind) })
            }
            return rows
        }
    }

    package func lastKey(of table: BulkTable) async throws -> [BulkValue]? {
        let sql = SQLiteBulkStatements.lastKey(of: table)
        return try await read { db in
            try db.prepared(sql).first { row in
                (0..<table.keyCount).map { row.value(Int32($0), table.columns[$0].kind) }
            }
        }
    }

    package func write(_ rows: [[BulkValue]], to table: BulkTable) async throws {
        let sql = SQLiteBulkStatements.insert(into: table)
        try await writer.write { session in
            let insert = try session.prepared(sql)
            guard table.name == BulkTable.device.name else {
                for row in rows { try insert.run(values: row) }
                return
            }
            for row in rows { try insert.run(values: row + [session.secrets.hash(of: row)]) }
            try TokenIndex(session: session).addAll()
        }
    }

    package func count(of table: BulkTable) async throws -> Int {
        let sql = SQLiteBulkStatements.count(of: table)
        return try await read { db in try db.prepared(sql).first { Int($0.integer(0)) } ?? 0 }
    }

    package func lastNumber(of table: BulkTable) async throws -> Int64 {
        try await read { db in
            try db.prepared(SQLiteBulkStatements.lastNumber).first(table.name) { $0.integer(0) } ?? 0
        }
    }

    package func setLastNumber(_ number: Int64, of table: BulkTable) async throws {
        try await writer.write { session in
            try session.prepared(SQLiteBulkStatements.forgetLastNumber).run(table.name)
            try session.prepared(SQLiteBulkStatements.setLastNumber).run(table.name, number)
        }
    }
}

extension Takeover {
    static func check(_ db: Database) throws {
        guard try db.prepared(SecretStatements.value).first(mark, as: { _ in true }) == nil else {
            throw unfinished
        }
    }
}

extension Secrets {
    /// What the index of tokens holds for a row of `BulkTable.device`.
    fileprivate func hash(of row: [BulkValue]) -> BulkValue {
        guard case .bytes(let token) = row[BulkTable.device.place(of: "token")] else { return .null }
        return .integer(hash(ofToken: token))
    }
}

extension BulkValue: SQLiteValue {
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        switch self {
        case .null: sqlite3_bind_null(statement, index)
        case .integer(let value): value.bind(to: statement, at: index)
        case .real(let value): value.bind(to: statement, at: index)
        case .text(let value): value.bind(to: statement, at: index)
        case .bytes(let value): value.bind(to: statement, at: index)
        }
    }
}

extension SQLiteRow {
    fileprivate func value(_ column: Int32, _ kind: BulkTable.Kind) -> BulkValue {
        guard !isNull(column) else { return .null }
        return switch kind {
        case .integer, .flag: .integer(integer(column))
        case .real: .real(double(column))
        case .text: .text(text(column))
        case .bytes, .uuid: .bytes(blob(column))
        }
    }
}

/// The one place where statements are put together from parts: what a table has is said once, for all engines.
enum SQLiteBulkStatements {
    static func rows(of table: BulkTable, isBehind: Bool) -> String {
        let key = table.keyNames
        let behind = isBehind ? "WHERE (\(key)) > (\(placeholders(table.keyCount)))" : ""
        return """
            SELECT \(table.columnNames) /* bulk.rows */ FROM \(table.name) \(behind) ORDER BY \(key) LIMIT ?
            """
    }

    static func lastKey(of table: BulkTable) -> String {
        let descending = table.columns.prefix(table.keyCount).map { "\($0.name) DESC" }.joined(separator: ", ")
        return "SELECT \(table.keyNames) /* bulk.last_key */ FROM \(table.name) ORDER BY \(descending) LIMIT 1"
    }

    static func insert(into table: BulkTable) -> String {
        let hash = table.name == BulkTable.device.name ? ", token_hash" : ""
        let count = table.columns.count + (hash.isEmpty ? 0 : 1)
        return
            "INSERT INTO \(table.name) /* bulk.insert */ (\(table.columnNames)\(hash)) VALUES (\(placeholders(count)))"
    }

    static func count(of table: BulkTable) -> String { "SELECT count(*) /* bulk.count */ FROM \(table.name)" }

    private static func placeholders(_ count: Int) -> String {
        Array(repeating: "?", count: count).joined(separator: ", ")
    }

    static let anything = """
        SELECT EXISTS (SELECT 1 FROM application) OR EXISTS (SELECT 1 FROM admin_key) OR EXISTS (SELECT 1 FROM audit)
               /* bulk.anything */
        """

    static let clearTenants = "DELETE FROM tenant /* bulk.clear_tenants */"

    static let setSecret = "UPDATE setting /* bulk.set_secret */ SET value = ?2 WHERE name = ?1"

    static let forget = "DELETE FROM setting /* bulk.forget */ WHERE name = ?1"

    static let lastNumber = "SELECT seq /* bulk.last_number */ FROM sqlite_sequence WHERE name = ?1"

    static let forgetLastNumber = "DELETE FROM sqlite_sequence /* bulk.forget_last_number */ WHERE name = ?1"

    static let setLastNumber = "INSERT INTO sqlite_sequence /* bulk.set_last_number */ (name, seq) VALUES (?1, ?2)"
}

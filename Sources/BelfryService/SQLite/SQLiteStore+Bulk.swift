import GRDB
import GRDBSQLite

extension SQLiteStore: BulkStore {
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

    package func lastNumber(of table: BulkTable) async throws -> Int64 {
        try await read { try $0.prepared(SQLiteBulkStatements.lastNumber).number(table.name) ?? 0 }
    }

    package func setLastNumber(_ number: Int64, of table: BulkTable) async throws {
        try await writer.write { session in
            try session.prepared(SQLiteBulkStatements.forgetLastNumber).run(table.name)
            try session.prepared(SQLiteBulkStatements.setLastNumber).run(table.name, number)
        }
    }
}

extension Secrets {
    /// The token hash of a row of `BulkTable.device`.
    fileprivate func hash(of row: [BulkValue]) -> BulkValue {
        guard case .bytes(let token) = row[BulkTable.device.place(of: "token")] else { return .null }
        return .integer(hash(of: DeviceToken(bytes: token)))
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

enum SQLiteBulkStatements {
    static func insert(into table: BulkTable) -> String {
        let hash = table.name == BulkTable.device.name ? ", token_hash" : ""
        let count = table.columns.count + (hash.isEmpty ? 0 : 1)
        return
            "INSERT INTO \(table.name) /* bulk.insert */ (\(table.columnNames)\(hash)) VALUES (\(placeholders(count)))"
    }

    private static func placeholders(_ count: Int) -> String {
        Array(repeating: "?", count: count).joined(separator: ", ")
    }

    static let lastNumber = "SELECT seq /* bulk.last_number */ FROM sqlite_sequence WHERE name = ?1"

    static let forgetLastNumber = "DELETE FROM sqlite_sequence /* bulk.forget_last_number */ WHERE name = ?1"

    static let setLastNumber = "INSERT INTO sqlite_sequence /* bulk.set_last_number */ (name, seq) VALUES (?1, ?2)"
}

import FoundationEssentials
import PostgreSQL

extension PostgresStore {
    package func write(_ rows: [[BulkValue]], to table: BulkTable) async throws {
        let isOfDevices = table.derivedColumn != nil
        let written = isOfDevices ? rows.map { $0 + [secrets.hash(of: $0, in: table)] } : rows
        let json = try PostgresBulkStatements.json(written, of: table)
        try await write { session in
            try session.prepared(PostgresBulkStatements.insert(into: table)).run(json)
            if isOfDevices { try session.writePostings(of: rows, in: table) }
        }
    }

    package func lastNumber(of table: String) async throws -> Int64 {
        try await readCommitted { try $0.prepared(PostgresBulkStatements.lastNumber(of: table)).number() ?? 0 }
    }

    package func setLastNumber(_ number: Int64, of table: String) async throws {
        guard number > 0 else { return }
        try await write { session in
            try session.prepared(PostgresBulkStatements.setLastNumber).send("\(table)_id_seq", number)
        }
    }
}

extension PostgresWriteSession {
    /// Rows come in the order of their ids.
    fileprivate func writePostings(of rows: [[BulkValue]], in table: BulkTable) throws {
        guard let last = rows.last else { return }
        let devices = try rows.compactMap { row -> NewSubscriber? in
            guard case .bytes(let topics) = row[table.place(of: "topics")] else { return nil }
            return NewSubscriber(
                device: Key(try row[0].number), platform: Key(try row[table.place(of: "platform_id")].number),
                isActive: try row[table.place(of: "reach")].number > 0,
                topics: topics.withUnsafeBytes { TopicList.readable($0) })
        }
        try merge(devices, until: try last[0].number)
    }
}

extension Secrets {
    fileprivate func hash(of row: [BulkValue], in table: BulkTable) -> BulkValue {
        guard case .bytes(let token) = row[table.place(of: "token")] else { return .null }
        return .bytes(hash(DeviceToken(bytes: token)).bytes)
    }
}

enum PostgresBulkStatements {
    /// All rows are sent as one JSON text.
    static func insert(into table: BulkTable) -> String {
        let columns = table.columnNames + (table.derivedColumn.map { ", \($0)" } ?? "")
        return """
            INSERT INTO \(table.name) /* bulk.insert */ (\(columns))
            SELECT \(columns) FROM json_populate_recordset(NULL::\(table.name), $1::json)
            """
    }

    static func json(_ rows: [[BulkValue]], of table: BulkTable) throws -> String {
        var columns = table.columns
        if let derived = table.derivedColumn { columns.append(.init(name: derived, kind: .uuid)) }
        var text = "["
        for (number, row) in rows.enumerated() {
            text += number == 0 ? "{" : ",{"
            for (place, (column, value)) in zip(columns, row).enumerated() {
                text += "\(place == 0 ? "" : ",")\"\(column.name)\":"
                try append(value, column.kind, to: &text)
            }
            text += "}"
        }
        return text + "]"
    }

    private static func append(_ value: BulkValue, _ kind: BulkTable.Kind, to text: inout String) throws {
        switch value {
        case .null: text += "null"
        case .integer(let number): text += kind == .flag ? (number == 0 ? "false" : "true") : "\(number)"
        case .real(let number): text += "\(number)"
        case .bytes(let bytes): text += kind == .uuid ? "\"\(bytes.hex)\"" : "\"\\\\x\(bytes.hex)\""
        case .text(let words): text += JSONValue.string(words).storedText
        }
    }

    static func lastNumber(of table: String) -> String {
        "SELECT CASE WHEN is_called THEN last_value ELSE 0 END /* bulk.last_number */ FROM \(table)_id_seq"
    }

    static let setLastNumber = "SELECT setval($1::regclass, $2) /* bulk.set_last_number */"
}

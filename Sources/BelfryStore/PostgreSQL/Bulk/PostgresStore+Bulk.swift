package import BelfryCore
import FoundationEssentials
import PostgreSQL

extension PostgresStore: BulkStore {
    package func bulkSecrets() async throws -> [String: [UInt8]] {
        try await glance { db in
            var secrets: [String: [UInt8]] = [:]
            for name in Takeover.secrets {
                secrets[name] = try db.prepared(SecretStatements.value).first(name) { $0.blob(0) }
            }
            return secrets
        }
    }

    package func beginTakeover(with secrets: [String: [UInt8]]) async throws {
        try await write { session in
            let mark = try session.prepared(SecretStatements.value).first(Takeover.mark) { _ in true }
            guard mark == nil else { return }
            let isInUse = try session.prepared(PostgresBulkStatements.anything).first { $0.bool(0) } ?? true
            guard !isInUse else { throw Takeover.refused }
            try session.prepared(PostgresBulkStatements.clearTenants).run()
            for (name, value) in secrets { try session.prepared(PostgresBulkStatements.setSecret).run(name, value) }
            try session.prepared(SecretStatements.insert).run(Takeover.mark, [1] as [UInt8])
        }
    }

    package func endTakeover() async throws {
        try await write { session in
            try session.prepared(SharedUseStatements.forgetAll).send()
            try session.prepared(SharedUseStatements.countAll).send()
            try session.prepared(PostgresBulkStatements.forget).send(Takeover.mark)
        }
    }

    package func rows(
        of table: BulkTable, after key: [BulkValue]?, limit: Int
    ) async throws -> [[BulkValue]] {
        try await glance { db in
            let statement = db.prepared(PostgresBulkStatements.rows(of: table, isBehind: key != nil))
            func values(_ row: Row) -> [BulkValue] {
                table.columns.indices.map { row.value(Int32($0), table.columns[$0].kind) }
            }
            guard let key else { return try statement.all(limit, as: values) }
            if case .bytes(let name) = key[0] { return try statement.all(name, limit, as: values) }
            let numbers = try key.map { try $0.number }
            return switch numbers.count {
            case 1: try statement.all(numbers[0], limit, as: values)
            case 2: try statement.all(numbers[0], numbers[1], limit, as: values)
            case 3: try statement.all(numbers[0], numbers[1], numbers[2], limit, as: values)
            default: try statement.all(numbers[0], numbers[1], numbers[2], numbers[3], limit, as: values)
            }
        }
    }

    package func lastKey(of table: BulkTable) async throws -> [BulkValue]? {
        try await glance { db in
            try db.prepared(PostgresBulkStatements.lastKey(of: table)).first { row in
                (0..<table.keyCount).map { row.value(Int32($0), table.columns[$0].kind) }
            }
        }
    }

    package func write(_ rows: [[BulkValue]], to table: BulkTable) async throws {
        let isOfDevices = table.name == BulkTable.device.name
        let written = isOfDevices ? rows.map { $0 + [secrets.hash(of: $0)] } : rows
        let json = try PostgresBulkStatements.json(written, of: table)
        try await write { session in
            try session.prepared(PostgresBulkStatements.insert(into: table)).run(json)
            if isOfDevices { try session.writePostings(of: rows) }
        }
    }

    package func count(of table: BulkTable) async throws -> Int {
        try await glance { db in
            try db.prepared(PostgresBulkStatements.count(of: table)).first { Int($0.integer(0)) } ?? 0
        }
    }

    package func lastNumber(of table: BulkTable) async throws -> Int64 {
        try await glance { db in
            try db.prepared(PostgresBulkStatements.lastNumber(of: table)).first { $0.integer(0) } ?? 0
        }
    }

    package func setLastNumber(_ number: Int64, of table: BulkTable) async throws {
        guard number > 0 else { return }
        try await write { session in
            try session.prepared(PostgresBulkStatements.setLastNumber).send("\(table.name)_id_seq", number)
        }
    }
}

extension PostgresWriteSession {
    /// Rows come in the order of their ids.
    fileprivate func writePostings(of rows: [[BulkValue]]) throws {
        guard let last = rows.last else { return }
        let devices = try rows.compactMap { row -> NewSubscriber? in
            guard case .bytes(let topics) = row[BulkTable.device.place(of: "topics")] else { return nil }
            return NewSubscriber(
                device: Key(try row[0].number),
                platform: Key(try row[BulkTable.device.place(of: "platform_id")].number),
                isActive: try row[BulkTable.device.place(of: "reach")].number > 0,
                topics: try topics.withUnsafeBytes { try TopicList.decode($0) })
        }
        try sweep(devices, until: try last[0].number)
    }
}

extension Takeover {
    static func check(_ connection: Connection) throws {
        guard try connection.prepared(SecretStatements.value).first(mark, as: { _ in true }) == nil else {
            throw unfinished
        }
    }
}

extension Secrets {
    /// What the index of tokens holds for a row of `BulkTable.device`.
    fileprivate func hash(of row: [BulkValue]) -> BulkValue {
        guard case .bytes(let token) = row[BulkTable.device.place(of: "token")] else { return .null }
        return .bytes(hash(DeviceToken(bytes: token)).bytes)
    }
}

extension BulkValue {
    fileprivate var number: Int64 {
        get throws {
            guard case .integer(let number) = self else { throw StoreError.damaged("a row", "its key is no number") }
            return number
        }
    }
}

extension Row {
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
enum PostgresBulkStatements {
    static func rows(of table: BulkTable, isBehind: Bool) -> String {
        let places = (1...table.keyCount).map { "$\($0)" }.joined(separator: ", ")
        let behind = isBehind ? "WHERE (\(table.keyNames)) > (\(places))" : ""
        return """
            SELECT \(table.columnNames) /* bulk.rows */ FROM \(table.name) \(behind)
             ORDER BY \(table.keyNames) LIMIT $\(isBehind ? table.keyCount + 1 : 1)
            """
    }

    static func lastKey(of table: BulkTable) -> String {
        let descending = table.columns.prefix(table.keyCount).map { "\($0.name) DESC" }.joined(separator: ", ")
        return "SELECT \(table.keyNames) /* bulk.last_key */ FROM \(table.name) ORDER BY \(descending) LIMIT 1"
    }

    /// All rows travel as one JSON text.
    static func insert(into table: BulkTable) -> String {
        let columns = table.columnNames + (table.name == BulkTable.device.name ? ", token_hash" : "")
        return """
            INSERT INTO \(table.name) /* bulk.insert */ (\(columns))
            SELECT \(columns) FROM json_populate_recordset(NULL::\(table.name), $1::json)
            """
    }

    static func json(_ rows: [[BulkValue]], of table: BulkTable) throws -> String {
        var columns = table.columns
        if table.name == BulkTable.device.name { columns.append(.init(name: "token_hash", kind: .uuid)) }
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

    static func count(of table: BulkTable) -> String { "SELECT count(*) /* bulk.count */ FROM \(table.name)" }

    static let anything = """
        SELECT EXISTS (SELECT 1 FROM application) OR EXISTS (SELECT 1 FROM admin_key) OR EXISTS (SELECT 1 FROM audit)
               /* bulk.anything */
        """

    static let clearTenants = "DELETE FROM tenant /* bulk.clear_tenants */"

    static let setSecret = "UPDATE setting /* bulk.set_secret */ SET value = $2 WHERE name = $1"

    static let forget = "DELETE FROM setting /* bulk.forget */ WHERE name = $1"

    static func lastNumber(of table: BulkTable) -> String {
        "SELECT CASE WHEN is_called THEN last_value ELSE 0 END /* bulk.last_number */ FROM \(table.name)_id_seq"
    }

    static let setLastNumber = "SELECT setval($1::regclass, $2) /* bulk.set_last_number */"
}

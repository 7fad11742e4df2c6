extension Store {
    /// The secrets that the rows depend on, by name.
    package func bulkSecrets() async throws -> [String: [UInt8]] {
        try await readCommitted { db in
            var secrets: [String: [UInt8]] = [:]
            for name in DatabaseImport.secrets {
                secrets[name] = try db.prepared(SecretStatements.value).first(name) { $0.blob(0) }
            }
            return secrets
        }
    }

    /// Marks an empty database as being imported into, with these secrets; does nothing if it is marked already.
    ///
    /// Throws `StoreError.conflict` if it contains anything, and says what was copied into it. The store must be reopened
    /// afterwards, because it read the previous secrets.
    package func beginImport(with secrets: [String: [UInt8]]) async throws {
        try await write { session in
            guard try !session.prepared(SecretStatements.value).hasRow(DatabaseImport.settingName) else { return }
            let isInUse = try session.prepared(BulkStatements.anything).first { $0.bool(0) } ?? true
            guard !isInUse else {
                let origin = try session.prepared(SecretStatements.value).first(DatabaseImport.originSettingName) {
                    String(decoding: $0.blob(0), as: UTF8.self)
                }
                throw DatabaseImport.refused(origin)
            }
            try session.prepared(BulkStatements.clearTenants).run()
            for (name, value) in secrets { try session.prepared(BulkStatements.setSecret).run(name, value) }
            try session.prepared(SecretStatements.insert).run(DatabaseImport.settingName, [1] as [UInt8])
        }
    }

    /// Marks the import complete, so that servers may open the database.
    ///
    /// - Parameter name: of the database that was imported.
    package func endImport(of name: String, at now: Instant) async throws {
        try await write { session in
            try session.prepared(BulkStatements.forgetUse).send()
            try session.prepared(BulkStatements.countUse).send()
            try session.prepared(BulkStatements.forget).send(DatabaseImport.settingName)
            try session.prepared(SecretStatements.insert).run(
                DatabaseImport.originSettingName, Array("\(name) at \(now.text)".utf8))
        }
    }

    /// Marks the database as copied to another, so that neither a server nor a command uses it by mistake; nil lets it be used again.
    package func record(_ move: DatabaseMove?) async throws {
        try await write { session in
            try session.prepared(BulkStatements.forget).send(DatabaseImport.moveSettingName)
            guard let move else { return }
            try session.prepared(SecretStatements.insert).run(DatabaseImport.moveSettingName, Array(move.text.utf8))
        }
    }

    /// The place to which the database was copied; nil if it was not.
    package func move() async throws -> DatabaseMove? { try await readCommitted { try DatabaseImport.move(of: $0) } }

    /// The tables to copy, each after those its rows refer to.
    package func copiedTables() async throws -> [BulkTable] {
        try await readCommitted { db in try StoreTable.all.filter(\.isCopied).map { try BulkTable($0, of: db) } }
    }

    /// The next rows after a key, in the order of the key.
    package func rows(
        of table: BulkTable, after key: [BulkValue]?, limit: Int
    ) async throws -> [[BulkValue]] {
        try await readCommitted { db in
            let statement = try db.prepared(BulkStatements.rows(of: table, isBehind: key != nil))
            func values(_ row: some SQLRow) -> [BulkValue] {
                table.columns.indices.map { row.value(Int32($0), table.columns[$0].kind) }
            }
            guard let key else { return try statement.all(limit, as: values) }
            switch (key[0], key.count) {
            case (.bytes(let name), _): return try statement.all(name, limit, as: values)
            case (.text(let issuer), 2):
                guard case .text(let subject) = key[1] else { break }
                return try statement.all(issuer, subject, limit, as: values)
            case (.text(let name), 3):
                return try statement.all(name, try key[1].number, try key[2].number, limit, as: values)
            case (.integer(let number), 2):
                guard case .bytes(let code) = key[1] else { break }
                return try statement.all(number, code, limit, as: values)
            default: break
            }
            let numbers = try key.map { try $0.number }
            return switch numbers.count {
            case 1: try statement.all(numbers[0], limit, as: values)
            case 2: try statement.all(numbers[0], numbers[1], limit, as: values)
            case 3: try statement.all(numbers[0], numbers[1], numbers[2], limit, as: values)
            default: try statement.all(numbers[0], numbers[1], numbers[2], numbers[3], limit, as: values)
            }
        }
    }

    /// The key of the last row; nil when there is none.
    package func lastKey(of table: BulkTable) async throws -> [BulkValue]? {
        try await readCommitted { db in
            try db.prepared(BulkStatements.lastKey(of: table)).first { row in
                (0..<table.keyCount).map { row.value(Int32($0), table.columns[$0].kind) }
            }
        }
    }

    package func count(of table: BulkTable) async throws -> Int {
        try await readCommitted { try $0.prepared(BulkStatements.count(of: table)).count() }
    }
}

extension BulkTable {
    fileprivate init(_ table: StoreTable, of db: some SQLConnection) throws {
        let found = try db.prepared(BulkStatements.columns).all(table.name) { row in
            Column(name: row.text(0), kind: try Kind(sqlType: row.text(1)))
        }
        let key = try table.key.split(separator: ", ").map { name in
            guard let column = found.first(where: { $0.name == name }) else {
                throw StoreError.unavailable("\(table.name) has no column \(name)")
            }
            return column
        }
        let others = found.filter { column in
            column.name != table.derivedColumn && !key.contains { $0.name == column.name }
        }
        self.init(name: table.name, columns: key + others, keyCount: key.count, derivedColumn: table.derivedColumn)
    }
}

extension BulkTable.Kind {
    fileprivate init(sqlType: String) throws {
        switch sqlType.lowercased() {
        case "integer", "bigint": self = .integer
        case "real", "double precision": self = .real
        case "text": self = .text
        case "blob", "bytea": self = .bytes
        case "uuid": self = .uuid
        case "boolean": self = .flag
        default: throw StoreError.unavailable("a column has the type \(sqlType)")
        }
    }
}

extension DatabaseImport {
    /// Throws where the database is half a copy, or was copied away and is to be served from.
    ///
    /// - Parameter name: of the database, for people.
    static func check(_ db: some SQLConnection, of name: String, for use: StoreUse) throws {
        guard use != .copyingTo else { return }
        guard try !db.prepared(SecretStatements.value).hasRow(settingName) else { throw unfinished }
        guard use == .serving, let move = try move(of: db) else { return }
        throw moved(name, move)
    }

    static func move(of db: some SQLConnection) throws -> DatabaseMove? {
        try db.prepared(SecretStatements.value).first(moveSettingName, as: { $0.blob(0) }).map {
            DatabaseMove(String(decoding: $0, as: UTF8.self))
        }
    }
}

extension BulkValue {
    var number: Int64 {
        get throws {
            guard case .integer(let number) = self else { throw StoreError.damaged("a row", "its key is not a number") }
            return number
        }
    }
}

extension SQLRow {
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

/// Statements that are built from the description of a table and its columns.
enum BulkStatements {
    static let columns: SQLText = """
        \(sqlite: "SELECT name, type FROM pragma_table_info($1)", postgres: "SELECT attname::text, format_type(atttypid, NULL)")
        /* bulk.columns */ \(
            postgres: "FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum")
        """

    static func rows(of table: BulkTable, isBehind: Bool) -> SQLText {
        let places = (1...table.keyCount).map { "$\($0)" }.joined(separator: ", ")
        let behind: SQLText = isBehind ? "WHERE (\(key(of: table))) > (\(places))" : ""
        let limit = "$\(isBehind ? table.keyCount + 1 : 1)"
        return """
            SELECT \(table.columnNames) /* bulk.rows */ FROM \(table.name) \(behind)
             ORDER BY \(key(of: table)) LIMIT \(limit)
            """
    }

    static func lastKey(of table: BulkTable) -> SQLText {
        let key = key(of: table, " DESC")
        return "SELECT \(table.keyNames) /* bulk.last_key */ FROM \(table.name) ORDER BY \(key) LIMIT 1"
    }

    /// Orders texts by their bytes in both engines, since a copy goes on behind the last key of the other one.
    private static func key(of table: BulkTable, _ direction: String = "") -> SQLText {
        func names(_ order: String) -> String {
            table.columns.prefix(table.keyCount).map { $0.name + ($0.kind == .text ? order : "") + direction }
                .joined(separator: ", ")
        }
        return "\(sqlite: names(""), postgres: names(#" COLLATE "C""#))"
    }

    static func count(of table: BulkTable) -> SQLText { "SELECT count(*) /* bulk.count */ FROM \(table.name)" }

    static let anything: SQLText = """
        SELECT EXISTS (SELECT 1 FROM application) OR EXISTS (SELECT 1 FROM admin_key) OR EXISTS (SELECT 1 FROM audit)
               /* bulk.anything */
        """

    static let clearTenants: SQLText = "DELETE FROM tenant /* bulk.clear_tenants */"

    static let setSecret: SQLText = "UPDATE setting /* bulk.set_secret */ SET value = $2 WHERE name = $1"

    static let forget: SQLText = "DELETE FROM setting /* bulk.forget */ WHERE name = $1"

    static let forgetUse: SQLText = "DELETE FROM application_use /* bulk.forget_use */"

    /// Recounts the use of quotas, since many rows were written without being counted. Devices are counted where the
    /// nodes store what they add.
    static let countUse: SQLText = """
        INSERT INTO application_use /* bulk.count_use */ (application_id, \(postgres: "device_count, ")content_bytes)
        SELECT application_id, \(postgres: "sum(devices), ")sum(bytes)
          FROM (SELECT application_id, 0 AS devices, \(bytesOf: "content") + \(bytesOf: "audience") AS bytes FROM push
                UNION ALL
                SELECT application_id, 0, \(bytesOf: "content") + \(bytesOf: "target") FROM schedule
                UNION ALL
                SELECT application_id, 0, \(bytesOf: "data") FROM geofence
                \(postgres: "UNION ALL SELECT application_id, 1, 0 FROM platform JOIN device ON platform_id = platform.id")
               ) AS kept
         GROUP BY application_id
        """
}

package import FoundationEssentials

extension Store {
    /// Writes down an import before its list comes; those of the app beyond `CarmaImport.perApp` are deleted.
    package func createCarmaImport(
        _ uuid: UUID, _ settings: CarmaImport.Settings, of app: Key<CarmaApp>
    ) async throws -> CarmaImport {
        try await write { session in
            let now = session.now
            let key = try session.insert(CarmaImportStatements.insert, app, uuid, settings.text, now)
            try session.prepared(CarmaImportStatements.forgetOldest).send(app, CarmaImport.perApp)
            return CarmaImport(key: Key(key), uuid: uuid, app: app, settings: settings, createdAt: now)
        }
    }

    package func carmaImport(_ uuid: UUID, of app: Key<CarmaApp>) async throws -> CarmaImport? {
        try await read { try $0.prepared(CarmaImportStatements.byUUID).first(uuid, app, as: CarmaImport.init) }
    }

    package func carmaImport(_ key: Key<CarmaImport>) async throws -> CarmaImport? {
        try await read { try $0.prepared(CarmaImportStatements.byKey).first(key, as: CarmaImport.init) }
    }

    /// Notes that an import's list has come, and returns the time at which it did; nil where there is no such import.
    package func beginCarmaImport(_ key: Key<CarmaImport>) async throws -> Instant? {
        try await write { session in
            let begun = try session.prepared(CarmaImportStatements.set).run(
                CarmaImport.State.running.rawValue, 0, 0, String?.none, key)
            return begun > 0 ? session.now : nil
        }
    }

    package func endCarmaImport(_ key: Key<CarmaImport>, _ end: CarmaImportEnd) async throws {
        try await write { session in
            try session.prepared(CarmaImportStatements.set).send(
                end.state.rawValue, end.taken, end.refused, end.reason, key)
        }
    }
}

extension CarmaImport {
    /// From the columns of `CarmaImportStatements.byKey`.
    fileprivate init(_ row: some SQLRow) throws {
        let key = Key<CarmaImport>(row.integer(0))
        guard let uuid = row.uuid(2), let state = State(rawValue: row.integer(4)) else {
            throw StoreError.damaged("carma import \(key)")
        }
        self.init(
            key: key, uuid: uuid, app: Key(row.integer(1)),
            settings: try StoreError.reading("carma import \(key)") {
                try Settings(stored: try JSONValue(json: row.text(3).utf8))
            },
            state: state, taken: Int(row.integer(5)), refused: Int(row.integer(6)), reason: row.textIfAny(7),
            createdAt: Instant(milliseconds: row.integer(8)))
    }
}

extension CarmaImport.Settings {
    fileprivate var text: String {
        let members: JSONObject = [
            "type": .string(kind.rawValue), "delimiter": .integer(Int64(delimiter)),
            "encoding": .string(encoding.rawValue), "identity_column": .string(identityColumn),
        ]
        return String(decoding: JSONValue.object(members).encoded, as: UTF8.self)
    }

    fileprivate init(stored json: JSONValue) throws(InvalidInput) {
        guard let kind = (json["type"]?.stringValue).flatMap(Kind.init(rawValue:)),
            let encoding = (json["encoding"]?.stringValue).flatMap(Encoding.init(rawValue:)),
            case .integer(let number)? = json["delimiter"], let delimiter = UInt8(exactly: number),
            let identityColumn = json["identity_column"]?.stringValue
        else { throw InvalidInput(field: "settings", "are not those of an import") }
        self.init(kind: kind, delimiter: delimiter, encoding: encoding, identityColumn: identityColumn)
    }
}

enum CarmaImportStatements {
    static let insert: SQLText = """
        INSERT INTO carma_import /* carma_imports.insert */ (app_key, import_uuid, settings, created_at_ms)
        VALUES ($1, $2, $3, $4)
        RETURNING id
        """

    static let forgetOldest: SQLText = """
        DELETE FROM carma_import /* carma_imports.forget_oldest */
         WHERE id IN (SELECT id FROM carma_import WHERE app_key = $1 ORDER BY id DESC LIMIT 200 OFFSET $2)
        """

    static let byUUID: SQLText = """
        SELECT id, app_key, import_uuid, settings, state, taken_count, refused_count, reason, created_at_ms
               /* carma_imports.by_uuid */
          FROM carma_import
         WHERE import_uuid = $1 AND app_key = $2
        """

    static let byKey: SQLText = """
        SELECT id, app_key, import_uuid, settings, state, taken_count, refused_count, reason, created_at_ms
               /* carma_imports.by_key */
          FROM carma_import
         WHERE id = $1
        """

    static let set: SQLText = """
        UPDATE carma_import /* carma_imports.set */
           SET state = $1, taken_count = $2, refused_count = $3, reason = $4
         WHERE id = $5
        """

    static let deleteAll: SQLText = "DELETE FROM carma_import /* carma_imports.delete_all */ WHERE app_key = $1"
}

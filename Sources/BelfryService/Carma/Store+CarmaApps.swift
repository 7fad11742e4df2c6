extension Store {
    /// Throws `StoreError.conflict` when the customer has an app of that id.
    package func createCarmaApp(
        customerID: Int64, appID: String, for application: Key<Application>
    ) async throws -> CarmaApp {
        try await write { session in
            try session.checkRoom(
                .carmaApps, CarmaAppStatements.countOfApplication, application, RowLimit.carmaApps.most)
            let key = try session.prepared(CarmaAppStatements.insert).number(customerID, appID, application)
            guard let key else { throw StoreError.conflict("the customer has an app of that id") }
            return CarmaApp(key: Key(key), customerID: customerID, appID: appID, applicationKey: application)
        }
    }

    package func carmaApps() async throws -> [CarmaApp] {
        try await read { try $0.prepared(CarmaAppStatements.all).all(as: CarmaApp.init) }
    }

    package func carmaApp(_ appID: String, of customerID: Int64) async throws -> CarmaApp? {
        try await read { try $0.prepared(CarmaAppStatements.byAppID).first(appID, customerID, as: CarmaApp.init) }
    }

    /// With its triggers and imports.
    package func delete(_ app: Key<CarmaApp>) async throws -> Bool {
        try await write { session in
            try session.prepared(CarmaAppStatements.deleteTriggers).send(app)
            try session.prepared(CarmaImportStatements.deleteAll).send(app)
            return try session.prepared(CarmaAppStatements.delete).run(app) > 0
        }
    }

    package func createCarmaTrigger(_ template: CarmaTemplate, of app: CarmaApp) async throws -> CarmaTrigger {
        try await write { session in
            try session.checkRoom(
                .carmaTriggers, CarmaAppStatements.countTriggers, app.key, RowLimit.carmaTriggers.most)
            let key = try session.insert(CarmaAppStatements.insertTrigger, app.key, template.text)
            return CarmaTrigger(key: Key(key), app: app.key, template: template)
        }
    }

    package func carmaTrigger(_ key: Key<CarmaTrigger>) async throws -> CarmaTrigger? {
        try await read { try $0.prepared(CarmaAppStatements.trigger).first(key, as: CarmaTrigger.init) }
    }

    package func carmaTriggers(of app: Key<CarmaApp>) async throws -> [CarmaTrigger] {
        try await read { [damagedRows] db in
            try db.prepared(CarmaAppStatements.triggers).all(app) { row in
                try damagedRows.readable("carma trigger \(row.integer(0))") { try CarmaTrigger(row) }
            }.compactMap(\.self)
        }
    }

    package func delete(_ trigger: Key<CarmaTrigger>) async throws -> Bool {
        try await writeIfFound { try $0.prepared(CarmaAppStatements.deleteTrigger).run(trigger) > 0 }
    }
}

extension CarmaApp {
    fileprivate init(_ row: some SQLRow) {
        self.init(
            key: Key(row.integer(0)), customerID: row.integer(1), appID: row.text(2),
            applicationKey: Key(row.integer(3)))
    }
}

extension CarmaTrigger {
    fileprivate init(_ row: some SQLRow) throws {
        self.init(
            key: Key(row.integer(0)), app: Key(row.integer(1)),
            template: try StoreError.reading("carma trigger \(row.integer(0))") {
                try CarmaTemplate(try JSONValue(json: row.text(2).utf8), isStored: true)
            })
    }
}

enum CarmaAppStatements {
    /// Scans `carma_app_application`.
    static let countOfApplication: SQLText = """
        SELECT count(*) /* carma_apps.count_of_application */
          FROM (SELECT 1 FROM carma_app WHERE application_id = $1 LIMIT $2) AS found
        """

    /// Scans `carma_trigger_app`.
    static let countTriggers: SQLText = """
        SELECT count(*) /* carma_apps.count_triggers */
          FROM (SELECT 1 FROM carma_trigger WHERE app_key = $1 LIMIT $2) AS found
        """

    static let insert: SQLText = """
        INSERT INTO carma_app /* carma_apps.insert */ (customer_id, app_id, application_id)
        VALUES ($1, $2, $3)
            ON CONFLICT (app_id, customer_id) DO NOTHING
        RETURNING id
        """

    static let all: SQLText = """
        SELECT id, customer_id, app_id, application_id /* carma_apps.all */ FROM carma_app ORDER BY id
        """

    static let byAppID: SQLText = """
        SELECT id, customer_id, app_id, application_id /* carma_apps.by_app_id */
          FROM carma_app
         WHERE app_id = $1 AND customer_id = $2
        """

    static let delete: SQLText = "DELETE FROM carma_app /* carma_apps.delete */ WHERE id = $1"

    static let deleteTriggers: SQLText = """
        DELETE FROM carma_trigger /* carma_apps.delete_triggers */ WHERE app_key = $1
        """

    static let insertTrigger: SQLText = """
        INSERT INTO carma_trigger /* carma_apps.insert_trigger */ (app_key, template) VALUES ($1, $2) RETURNING id
        """

    static let trigger: SQLText = """
        SELECT id, app_key, template /* carma_apps.trigger */ FROM carma_trigger WHERE id = $1
        """

    static let triggers: SQLText = """
        SELECT id, app_key, template /* carma_apps.triggers */ FROM carma_trigger WHERE app_key = $1 ORDER BY id
        """

    static let deleteTrigger: SQLText = "DELETE FROM carma_trigger /* carma_apps.delete_trigger */ WHERE id = $1"
}

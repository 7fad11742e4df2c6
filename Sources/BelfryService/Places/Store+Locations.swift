extension Store {
    package func create(_ place: Place, of application: Key<Application>) async throws -> Location {
        try await write { session in
            try session.check(application)
            return try session.create(place, of: application)
        }
    }

    /// Creates a location and a geofence at it, or neither.
    ///
    /// - Parameters:
    ///   - change: the line of the audit log for the location.
    ///   - plan: makes the geofence for the location; may run more than once.
    package func create(
        _ place: Place, of application: Key<Application>, audited change: AuditedChange,
        geofence plan: @escaping @Sendable (Key<Location>) throws -> GeofencePlan
    ) async throws -> Geofence {
        try await write { session in
            try PendingAuditEntry(change).write(in: session)
            try session.lock(application)
            try session.check(application)
            let location = try session.create(place, of: application)
            return try GeofenceWriter(session: session, application: application).create(try plan(location.key))
        }
    }

    package func location(_ key: Key<Location>, of application: Key<Application>) async throws -> Location? {
        try await read { try $0.location(key, of: application) }
    }

    package func locations(
        of application: Key<Application>, _ query: GeoListQuery
    ) async throws -> ListPage<Location> {
        try await search(for: application) { [damagedRows] db, _ in
            try db.listing(LocationStatements.listed, LocationStatements.count, of: application, query) { row in
                try damagedRows.readable("location \(row.integer(0))") { try Location(row) }
            }
        }
    }

    /// Changes a location, and so every geofence that uses it; returns nil if there is no such location.
    ///
    /// - Parameter change: makes the new location from the old one; may run more than once.
    package func update(
        _ key: Key<Location>, of application: Key<Application>,
        change: @escaping @Sendable (Place) throws -> Place
    ) async throws -> Location? {
        try await writeChange { session in
            try session.lock(application)
            guard let old = try session.db.location(key, of: application) else { throw Unchanged<Location?>(nil) }
            let place = try change(old.place)
            guard place != old.place else { return old }
            let now = session.now
            try session.prepared(LocationStatements.update).send(
                place.name, place.name.caseFolded, place.latitude, place.longitude, place.radius, now, key)
            try GeofenceWriter(session: session, application: application).restampThose(using: key)
            return Location(key: key, place: place, createdAt: old.createdAt, updatedAt: now)
        }
    }

    /// Throws `StoreError.conflict` with the geofences or groups that use it. Returns false if there is no such
    /// location.
    package func delete(_ key: Key<Location>, of application: Key<Application>) async throws -> Bool {
        try await writeIfFound { session in
            try session.lock(application)
            guard try session.prepared(LocationStatements.byKey).hasRow(key, application) else { return false }
            try session.checkUnused(key)
            try session.prepared(LocationStatements.delete).send(key)
            session.note(-1, .locations, of: application)
            return true
        }
    }
}

extension WriteSession {
    fileprivate func create(_ place: Place, of application: Key<Application>) throws -> Location {
        try check(.locations, of: application)
        note(1, .locations, of: application)
        let key = try insert(
            LocationStatements.insert, application, place.name, place.name.caseFolded, place.latitude,
            place.longitude, place.radius, now)
        return Location(key: Key(key), place: place, createdAt: now, updatedAt: now)
    }

    fileprivate func checkUnused(_ key: Key<Location>) throws {
        let users =
            try prepared(LocationStatements.geofences).all(key) { "geofence \($0.integer(0))" }
            + prepared(LocationStatements.groups).all(key) { "location group \($0.integer(0))" }
        guard users.isEmpty else {
            throw StoreError.conflict("location \(key) is used by \(users.joined(separator: ", "))")
        }
    }

    /// Throws for the first location that the application does not have.
    func locations(_ keys: [Key<Location>], of application: Key<Application>, field: String) throws -> [Location] {
        try keys.enumerated().map { index, key in
            guard let location = try db.location(key, of: application) else {
                throw InvalidInput(field: "\(field)[\(index)]", "is \(key), this application has no such location")
            }
            return location
        }
    }
}

extension SQLConnection {
    /// A page of a list that is searched by keyword; items that are nil are left out.
    func listing<Item>(
        _ listed: SQLText, _ count: SQLText, of application: Key<Application>, _ query: GeoListQuery,
        as item: (Statement.Row) throws -> Item?
    ) throws -> ListPage<Item> {
        let total = try prepared(count).count(application, query.changedSince, query.keyword)
        let rows = try prepared(listed).all(
            application, query.changedSince, query.keyword, query.size + 1, query.offset, query.after
        ) { (key: $0.integer(0), value: try item($0)) }
        return ListPage(rows, of: query.size, total: total)
    }

    func location(_ key: Key<Location>, of application: Key<Application>) throws -> Location? {
        try prepared(LocationStatements.byKey).first(key, application, as: Location.init)
    }
}

extension Location {
    /// From the columns of `LocationStatements.byKey` and of all that list locations.
    init(_ row: some SQLRow) throws {
        do {
            self.init(
                key: Key(row.integer(0)),
                place: try Place(
                    stored: row.text(1), latitude: row.double(2), longitude: row.double(3), radius: row.double(4)),
                createdAt: Instant(milliseconds: row.integer(5)), updatedAt: Instant(milliseconds: row.integer(6)))
        } catch {
            throw StoreError.damaged("location \(row.integer(0))", "\(error)")
        }
    }
}

enum LocationStatements {
    static let insert: SQLText = """
        INSERT INTO location /* locations.insert */ (
            application_id, name, search, latitude, longitude, radius, created_at_ms, updated_at_ms)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $7)
        RETURNING id
        """

    static let byKey: SQLText = """
        SELECT id, name, latitude, longitude, radius, created_at_ms, updated_at_ms /* locations.by_key */
          FROM location
         WHERE id = $1 AND application_id = $2
        """

    /// Scans `location_application`.
    static let listed: SQLText = """
        SELECT id, name, latitude, longitude, radius, created_at_ms, updated_at_ms /* locations.listed */
          FROM location
         WHERE application_id = $1 AND updated_at_ms >= $2 AND \(SQLText.position)(search, $3) > 0 AND id > $6
         ORDER BY id
         LIMIT $4 OFFSET $5
        """

    static let count: SQLText = """
        SELECT count(*) /* locations.count */
          FROM location
         WHERE application_id = $1 AND updated_at_ms >= $2 AND \(SQLText.position)(search, $3) > 0
        """

    static let update: SQLText = """
        UPDATE location /* locations.update */
           SET name = $1, search = $2, latitude = $3, longitude = $4, radius = $5, updated_at_ms = $6
         WHERE id = $7
        """

    static let delete: SQLText = "DELETE FROM location /* locations.delete */ WHERE id = $1"

    /// A few of the geofences that use it, to name them. Scans `geofence_location_location`.
    static let geofences: SQLText = """
        SELECT geofence_id /* locations.geofences */
          FROM geofence_location
         WHERE location_id = $1
         ORDER BY geofence_id
         LIMIT 5
        """

    static let groups: SQLText = """
        SELECT group_id /* locations.groups */ FROM location_group_member WHERE location_id = $1 LIMIT 5
        """
}

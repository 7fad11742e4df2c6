extension Store {
    /// Throws `InvalidInput` on `location_ids` if the application has no such location.
    package func create(_ plan: LocationGroupPlan, of application: Key<Application>) async throws -> LocationGroup {
        try await write { session in
            // Fixed lock order; avoids deadlocks.
            try session.lock(application)
            try session.check(application)
            try session.check(.locationGroups, of: application)
            let locations = try session.locations(plan.locations, of: application, field: "location_ids")
            let now = session.now
            let key = Key<LocationGroup>(
                try session.insert(
                    LocationGroupStatements.insert, application, plan.name, plan.summary, plan.search, now))
            try session.add(plan.locations, to: key)
            session.note(1, .locationGroups, of: application)
            return LocationGroup(
                key: key, name: plan.name, summary: plan.summary, locations: locations, createdAt: now, updatedAt: now)
        }
    }

    package func locationGroup(
        _ key: Key<LocationGroup>, of application: Key<Application>
    ) async throws -> LocationGroup? {
        try await read { try $0.locationGroup(key, of: application) }
    }

    package func locationGroups(
        of application: Key<Application>, _ query: GeoListQuery
    ) async throws -> ListPage<LocationGroup> {
        try await search(for: application) { [damagedRows] db, _ in
            try db.listing(LocationGroupStatements.listed, LocationGroupStatements.count, of: application, query) {
                row in
                try damagedRows.readable("location group \(row.integer(0))") { try db.locationGroup(row) }
            }
        }
    }

    package func update(
        _ key: Key<LocationGroup>, of application: Key<Application>,
        change: @escaping @Sendable (LocationGroupPlan) throws -> LocationGroupPlan
    ) async throws -> LocationGroup? {
        try await writeChange { session in
            try session.lock(application)
            guard let old = try session.db.locationGroup(key, of: application) else {
                throw Unchanged<LocationGroup?>(nil)
            }
            let plan = try change(old.plan)
            guard plan != old.plan else { return old }
            let locations = try session.locations(plan.locations, of: application, field: "location_ids")
            let now = session.now
            try session.prepared(LocationGroupStatements.update).send(plan.name, plan.summary, plan.search, now, key)
            try session.prepared(LocationGroupStatements.clear).send(key)
            try session.add(plan.locations, to: key)
            if plan.locations != old.plan.locations {
                let writer = GeofenceWriter(session: session, application: application)
                if !Set(plan.locations).isSubset(of: old.plan.locations) { try writer.checkThose(using: key) }
                try writer.restampThose(using: key)
            }
            return LocationGroup(
                key: key, name: plan.name, summary: plan.summary, locations: locations, createdAt: old.createdAt,
                updatedAt: now)
        }
    }

    package func delete(_ key: Key<LocationGroup>, of application: Key<Application>) async throws -> Bool {
        try await writeIfFound { session in
            try session.lock(application)
            guard try session.prepared(LocationGroupStatements.byKey).hasRow(key, application) else { return false }
            let users = try session.prepared(GeofenceStatements.usingGroup).all(key) { "geofence \($0.integer(0))" }
            guard users.isEmpty else {
                throw StoreError.conflict("location group \(key) is used by \(users.joined(separator: ", "))")
            }
            try session.prepared(LocationGroupStatements.clear).send(key)
            try session.prepared(LocationGroupStatements.delete).send(key)
            session.note(-1, .locationGroups, of: application)
            return true
        }
    }
}

extension LocationGroupPlan {
    /// The text that keywords are searched in.
    fileprivate var search: String { "\(name)\n\(summary)".caseFolded }
}

extension WriteSession {
    fileprivate func add(_ locations: [Key<Location>], to group: Key<LocationGroup>) throws {
        let add = try prepared(LocationGroupStatements.add)
        for (position, location) in locations.enumerated() { try add.send(group, position, location) }
    }
}

extension SQLConnection {
    func locationGroup(
        _ key: Key<LocationGroup>, of application: Key<Application>
    ) throws -> LocationGroup? {
        try prepared(LocationGroupStatements.byKey).first(key, application) { try locationGroup($0) }
    }

    /// From the columns of `LocationGroupStatements.byKey` and `listed`.
    fileprivate func locationGroup(_ row: some SQLRow) throws -> LocationGroup {
        let key = Key<LocationGroup>(row.integer(0))
        return LocationGroup(
            key: key, name: row.text(1), summary: row.text(2),
            locations: try prepared(LocationGroupStatements.locations).all(key, as: Location.init),
            createdAt: Instant(milliseconds: row.integer(3)), updatedAt: Instant(milliseconds: row.integer(4)))
    }
}

enum LocationGroupStatements {
    static let insert: SQLText = """
        INSERT INTO location_group /* location_groups.insert */ (
            application_id, name, summary, search, created_at_ms, updated_at_ms)
        VALUES ($1, $2, $3, $4, $5, $5)
        RETURNING id
        """

    static let add: SQLText = """
        INSERT INTO location_group_member /* location_groups.add */ (group_id, position, location_id)
        VALUES ($1, $2, $3)
        """

    static let byKey: SQLText = """
        SELECT id, name, summary, created_at_ms, updated_at_ms /* location_groups.by_key */
          FROM location_group
         WHERE id = $1 AND application_id = $2
        """

    /// Scans `location_group_application`.
    static let listed: SQLText = """
        SELECT id, name, summary, created_at_ms, updated_at_ms /* location_groups.listed */
          FROM location_group
         WHERE application_id = $1 AND updated_at_ms >= $2 AND \(SQLText.position)(search, $3) > 0 AND id > $6
         ORDER BY id
         LIMIT $4 OFFSET $5
        """

    static let count: SQLText = """
        SELECT count(*) /* location_groups.count */
          FROM location_group
         WHERE application_id = $1 AND updated_at_ms >= $2 AND \(SQLText.position)(search, $3) > 0
        """

    static let locations: SQLText = """
        SELECT id, name, latitude, longitude, radius, created_at_ms, updated_at_ms /* location_groups.locations */
          FROM location_group_member JOIN location ON id = location_id
         WHERE group_id = $1
         ORDER BY position
        """

    static let update: SQLText = """
        UPDATE location_group /* location_groups.update */
           SET name = $1, summary = $2, search = $3, updated_at_ms = $4
         WHERE id = $5
        """

    static let clear: SQLText = "DELETE FROM location_group_member /* location_groups.clear */ WHERE group_id = $1"

    static let delete: SQLText = "DELETE FROM location_group /* location_groups.delete */ WHERE id = $1"
}

/// Selects a part of a list, which is in the order of creation.
package struct GeoListQuery: Sendable, Hashable {
    /// Counted from 1.
    package let page: Int
    package let size: Int
    /// Only items whose key is greater.
    let after: Int64
    /// Only items that were changed then or later.
    package let changedSince: Instant
    /// Only items with this in their name or description; case does not matter.
    package let keyword: String

    package static let sizeMax = 50

    /// A page of up to `sizeMax` items; numbers that are out of range are moved to the nearest valid one.
    package init(
        page: Int = 1, size: Int = 25, after: Int64 = 0, changedSince: Instant = .distantPast, keyword: String = ""
    ) {
        self.size = min(max(size, 1), Self.sizeMax)
        self.after = after
        self.page = max(page, 1)
        self.changedSince = changedSince
        self.keyword = keyword.caseFolded
    }

    /// The number of items before the page.
    package var offset: Int {
        let (offset, overflow) = (page - 1).multipliedReportingOverflow(by: size)
        return overflow ? .max : offset
    }
}

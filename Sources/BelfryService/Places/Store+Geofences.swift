extension Store {
    /// Throws `InvalidInput` on `locations` if the application has no such location, or has too many geofences.
    package func create(_ plan: GeofencePlan, of application: Key<Application>) async throws -> Geofence {
        try await write { session in
            // Fixed lock order; avoids deadlocks.
            try session.lock(application)
            try session.check(application)
            return try GeofenceWriter(session: session, application: application).create(plan)
        }
    }

    /// Takes over the geofences of another server, so that devices continue with those that they have: ids and times of change
    /// stay, later ids and stamps are above them, and no device is notified. A geofence that exists already stays as it is. A
    /// geofence whose id another application has gets a new one, and devices are sent the removal of the old one.
    ///
    /// Returns the id of each.
    ///
    /// - Parameter lastModified: the value that devices send when they have seen all of them.
    package func importGeofences(
        _ geofences: [GeofenceImport], lastModified: Instant, of application: Key<Application>
    ) async throws -> [Key<Geofence>] {
        try await write { session in
            try session.lock(application)
            try session.check(application)
            let writer = GeofenceWriter(session: session, application: application)
            try writer.raiseStamp(to: lastModified)
            return try geofences.map { try writer.take($0, lastModified: lastModified) }
        }
    }

    package func geofence(_ key: Key<Geofence>, of application: Key<Application>) async throws -> Geofence? {
        try await read { try $0.geofence(key, of: application) }
    }

    package func geofences(
        of application: Key<Application>, _ query: GeoListQuery
    ) async throws -> ListPage<Geofence> {
        try await search(for: application) { [damagedRows] db, _ in
            let total = try db.prepared(GeofenceStatements.count).count(application, query.changedSince)
            let rows = try db.prepared(GeofenceStatements.listed).all(
                application, query.changedSince, query.size + 1, query.offset, query.after
            ) { (key: $0.integer(0), value: try damagedRows.geofence($0, in: db)) }
            return ListPage(rows, of: query.size, total: total)
        }
    }

    /// Returns nil if there is no such geofence. An unchanged plan is not a change.
    ///
    /// - Parameter change: makes the new plan from the old one; may run more than once.
    package func update(
        _ key: Key<Geofence>, of application: Key<Application>,
        change: @escaping @Sendable (GeofencePlan) throws -> GeofencePlan
    ) async throws -> Geofence? {
        try await writeChange { session in
            try session.lock(application)
            guard let old = try session.db.geofence(key, of: application) else { throw Unchanged<Geofence?>(nil) }
            let plan = try change(old.plan)
            guard plan != old.plan else { return old }
            return try GeofenceWriter(session: session, application: application).update(old, to: plan)
        }
    }

    /// An unreadable geofence can be deleted too.
    package func delete(_ key: Key<Geofence>, of application: Key<Application>) async throws -> Bool {
        try await writeIfFound { session in
            try session.lock(application)
            guard let geofence = try session.db.geofenceHead(key, of: application) else { return false }
            try GeofenceWriter(session: session, application: application).delete(geofence)
            return true
        }
    }

    /// A due start or end is written first, so that what devices see depends only on what is in the database.
    package func geofenceUpdates(since: Instant, on platform: Platform) async throws -> GeofenceChanges {
        while true {
            let now = clock.now
            let updates = try await read { [damagedRows] db -> GeofenceChanges? in
                let due = try db.prepared(GeofenceStatements.nextDue).first { $0.integerIfAny(0) } ?? nil
                if let due, due <= now.milliseconds { return nil }
                return try db.geofenceUpdates(since: since, on: platform, damagedRows)
            }
            if let updates { return updates }
            _ = try await startAndEndDueGeofences()
        }
    }

    /// Starts and ends the geofences that are due; returns whether there may be more.
    package func startAndEndDueGeofences() async throws -> Bool {
        try await write { session in
            let due = try session.prepared(GeofenceStatements.due).all(session.now, Self.turnStride) { row in
                (key: Key<Geofence>(row.integer(0)), application: Key<Application>(row.integer(1)))
            }
            for application in Set(due.map(\.application)).sorted() { try session.lock(application) }
            for (key, application) in due {
                // Another node may have advanced it before the map was locked.
                guard
                    let geofence = try session.db.geofenceHead(key, of: application), let dueAt = geofence.dueAt,
                    dueAt <= session.now
                else { continue }
                try GeofenceWriter(session: session, application: application).turn(geofence)
            }
            return due.count == Self.turnStride
        }
    }

    /// Geofences advanced in one write.
    private static var turnStride: Int { 100 }

    /// How long a node reserves an update.
    private static var updateLease: Duration { .seconds(30) }

    /// Updates whose platforms are due to be notified, the longest due first.
    package func dueGeofenceUpdates(atMost limit: Int) async throws -> [GeofenceUpdate] {
        try await write { [node] session in
            try session.prepared(GeofenceUpdateStatements.claim).all(
                session.now, limit, node, session.now + Self.updateLease
            ) { row in
                let update = GeofenceUpdate(
                    platformKey: Key(row.integer(0)), applicationKey: Key(row.integer(1)),
                    changeCount: row.integer(2))
                return (dueAt: row.integer(3), update: update)
            }.sorted { $0.dueAt < $1.dueAt }.map(\.update)
        }
    }

    /// Removes the update, unless geofences changed since it was read, or another node has it by now.
    package func settle(_ update: GeofenceUpdate) async throws {
        try await write { [node] session in
            try session.prepared(GeofenceUpdateStatements.settle).send(update.platformKey, update.changeCount, node)
        }
    }

    /// Makes the update due again later.
    package func postpone(_ update: GeofenceUpdate, for pause: Duration) async throws {
        try await write { [node] session in
            try session.prepared(GeofenceUpdateStatements.postpone).send(session.now + pause, update.platformKey, node)
        }
    }
}

extension SQLConnection {
    /// The changes in the snapshot since a device's last fetch. Unreadable geofences are left out.
    fileprivate func geofenceUpdates(
        since: Instant, on platform: Platform, _ damaged: DamagedRows
    ) throws -> GeofenceChanges {
        let application = platform.applicationKey
        let last = try lastGeofenceStamp(of: application)
        guard since > .zero, since <= last else {
            let active = try prepared(GeofenceStatements.active).all(application) { try damaged.geofence($0, in: self) }
            let shown = active.compactMap(\.self).filter { $0.plan.platform.includes(platform.kind) }
            return GeofenceChanges(lastModified: last, geofences: shown, gone: [])
        }
        let changed = try prepared(GeofenceStatements.changed).all(application, since) {
            try damaged.geofence($0, in: self)
        }.compactMap(\.self)
        let (shown, elsewhere) = changed.split(where: { $0.plan.platform.includes(platform.kind) })
        let withdrawn = try prepared(GeofenceStatements.withdrawn).all(application, since) {
            Key<Geofence>($0.integer(0))
        }
        let deleted = try prepared(DeletionStatements.since).all(application, since) { Key<Geofence>($0.integer(0)) }
        return GeofenceChanges(
            lastModified: last, geofences: shown, gone: (elsewhere.map(\.key) + withdrawn + deleted).sorted())
    }
}

extension Array {
    /// The elements that satisfy the condition, and those that do not.
    fileprivate func split(where isSo: (Element) -> Bool) -> ([Element], [Element]) {
        (filter(isSo), filter { !isSo($0) })
    }
}

/// A reminder to notify the devices of a platform of changed geofences. At most one for each platform.
package struct GeofenceUpdate: Sendable, Hashable {
    package let platformKey: Key<Platform>
    package let applicationKey: Key<Application>
    /// The number of changes it stands for.
    package let changeCount: Int64
}

/// The limits of one application.
package enum GeofenceLimits {
    /// Geofences that are not over: the most that one response to a device may contain.
    package static let liveMax = 1_000
    /// The time for which devices are sent the deletion of a geofence whose earlier ends are unknown.
    package static let deletionKept = Duration.seconds(90 * 86_400)
}

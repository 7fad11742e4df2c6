/// Changes geofences of one application within a write, and makes the stamps and updates that follow.
///
/// The caller has locked the application's row (`WriteSession.lock`), so that stamps ascend as commits do.
struct GeofenceWriter<Session: WriteSession> {
    let session: Session
    let application: Key<Application>

    private var now: Instant { session.now }

    func create(_ plan: GeofencePlan) throws -> Geofence {
        let locations = try self.locations(of: plan)
        try checkLimit()
        try session.check(.geofences, of: application)
        try session.checkRoom(
            .geofenceDeletions, DeletionStatements.count, application, RowLimit.geofenceDeletions.most)
        let now = now
        let phase = GeofencePhase(of: plan, at: now)
        let (tags, data) = plan.columns
        try session.check(.content, of: application, adding: data.utf8.count)
        let key = try session.insert(
            GeofenceStatements.insert, application, plan.trigger.rawValue, plan.platform.rawValue, tags, data,
            plan.startsAt, plan.expiresAt, phase.rawValue, phase.end(of: plan), phase == .active ? nextStamp() : nil,
            now)
        session.note(1, .geofences, of: application)
        session.note(data.utf8.count, .content, of: application)
        try add(plan, to: Key(key))
        if phase == .active { try notify([plan.platform]) }
        return Geofence(
            key: Key(key), plan: plan, locations: locations, phase: phase, createdAt: now, updatedAt: now)
    }

    /// Takes over the geofence of another server.
    func take(_ geofence: GeofenceImport, lastModified: Instant) throws -> Key<Geofence> {
        if try session.db.geofenceHead(geofence.key, of: application) != nil { return geofence.key }
        _ = try locations(of: geofence.plan)
        try checkLimit()
        try session.check(.geofences, of: application)
        let plan = geofence.plan
        let phase = GeofencePhase(of: plan, at: now)
        let (tags, data) = plan.columns
        try session.check(.content, of: application, adding: data.utf8.count)
        let isShown = plan.startsAt <= now
        let inserted = try session.prepared(GeofenceStatements.insertWithKey).first(
            geofence.key, application, plan.trigger.rawValue, plan.platform.rawValue, tags, data, plan.startsAt,
            plan.expiresAt, phase.rawValue, phase.end(of: plan),
            isShown ? min(geofence.changedAt, lastModified) : nil, now
        ) { Key<Geofence>($0.integer(0)) }
        guard let key = inserted else {
            let other = try create(plan).key
            try session.prepared(DeletionStatements.insert).send(
                application, nextStamp(), geofence.key, plan.expiresAt)
            return other
        }
        try session.prepared(GeofenceStatements.raiseLastKey).first(key) { _ in }
        session.note(1, .geofences, of: application)
        session.note(data.utf8.count, .content, of: application)
        try add(plan, to: key)
        return key
    }

    /// Stamps that follow are above this one.
    func raiseStamp(to stamp: Instant) throws {
        guard try session.db.lastGeofenceStamp(of: application) < stamp else { return }
        try session.prepared(StampStatements.set).send(application, stamp)
    }

    func update(_ old: Geofence, to plan: GeofencePlan) throws -> Geofence {
        let locations = try self.locations(of: plan)
        let now = now
        let phase = GeofencePhase(of: plan, at: now)
        if old.phase == .over, phase != .over { try checkLimit() }
        let isSeen = old.phase == .active || phase == .active
        let (tags, data) = plan.columns
        let bytes = try session.prepared(GeofenceStatements.bytes).count(old.key)
        try session.check(.content, of: application, adding: data.utf8.count - bytes)
        session.note(data.utf8.count - bytes, .content, of: application)
        try session.prepared(GeofenceStatements.update).send(
            plan.trigger.rawValue, plan.platform.rawValue, tags, data, plan.startsAt, plan.expiresAt, phase.rawValue,
            phase.end(of: plan), isSeen ? nextStamp() : nil, now, old.key, now + GeofenceLimits.deletionKept)
        try clear(old.key)
        try add(plan, to: old.key)
        if isSeen { try notify([old.plan.platform, plan.platform]) }
        return Geofence(
            key: old.key, plan: plan, locations: locations, phase: phase, createdAt: old.createdAt, updatedAt: now)
    }

    /// A geofence that some device may have is recorded as deleted.
    func delete(_ geofence: GeofenceHead) throws {
        let end = try session.prepared(GeofenceStatements.latestEnd).first(
            geofence.key, now + GeofenceLimits.deletionKept
        ) { Instant(milliseconds: $0.integer(0)) }
        let bytes = try session.prepared(GeofenceStatements.bytes).count(geofence.key)
        try clear(geofence.key)
        try session.prepared(GeofenceStatements.delete).send(geofence.key)
        session.note(-1, .geofences, of: application)
        session.note(-bytes, .content, of: application)
        guard let end else { return }
        try session.prepared(DeletionStatements.insert).send(application, nextStamp(), geofence.key, end)
        if geofence.phase == .active { try notify([geofence.platform]) }
    }

    /// Restamps all geofences that use a location, which change when it moves.
    func restampThose(using location: Key<Location>) throws {
        try restamp(try session.prepared(GeofenceStatements.activeUsing).all(location, as: User.init))
    }

    /// Throws where a geofence that uses a group would have more locations than a device watches.
    func checkThose(using group: Key<LocationGroup>) throws {
        let most = GeofencePlan.locationsMax
        let overfull = try session.prepared(GeofenceStatements.overfull).first(group, most) { $0.integer(0) }
        guard let overfull else { return }
        throw InvalidInput(
            field: "location_ids", "give geofence \(overfull) more locations with its others than the limit, \(most)")
    }

    /// Restamps all geofences that use a group, which change when it has other locations.
    func restampThose(using group: Key<LocationGroup>) throws {
        try restamp(try session.prepared(GeofenceStatements.activeUsingGroup).all(group, as: User.init))
    }

    private struct User: Hashable {
        let key: Key<Geofence>
        let platform: GeofencePlatform?

        init(_ row: some SQLRow) {
            key = Key(row.integer(0))
            platform = GeofencePlatform(rawValue: row.text(1))
        }
    }

    private func restamp(_ all: [User]) throws {
        let users = all.withoutRepeats
        guard !users.isEmpty else { return }
        let restamp = try session.prepared(GeofenceStatements.restamp)
        var stamp = try session.db.lastGeofenceStamp(of: application)
        for user in users {
            stamp = GeofenceStamp.next(after: stamp, now: now)
            try restamp.send(stamp, user.key)
        }
        try session.prepared(StampStatements.set).send(application, stamp)
        try notify(Set(users.compactMap(\.platform)))
    }

    /// Advances a geofence to the phase for the present time. Devices are notified of a start; they know the end in
    /// advance.
    func turn(_ geofence: GeofenceHead) throws {
        let phase = geofence.phase.advanced(of: geofence, at: now)
        let isSeen = geofence.phase == .active || phase == .active
        try session.prepared(GeofenceStatements.turn).send(
            phase.rawValue, phase.end(of: geofence), isSeen ? nextStamp() : nil, geofence.key)
        if phase == .active { try notify([geofence.platform]) }
    }

    private func checkLimit() throws {
        let count = try session.prepared(GeofenceStatements.liveCount).count(application)
        guard count < GeofenceLimits.liveMax else {
            throw InvalidInput(
                field: "geofence", "would be one too many: the application has \(count) that are not over, the limit")
        }
    }

    private func locations(of plan: GeofencePlan) throws -> [Location] {
        try plan.joined(
            session.locations(plan.locations, of: application, field: "locations"),
            plan.groups.enumerated().map { index, key in
                guard let group = try session.db.locationGroup(key, of: application) else {
                    throw InvalidInput(
                        field: "location_groups[\(index)]", "is \(key), this application has no such location group")
                }
                return group
            })
    }

    private func add(_ plan: GeofencePlan, to geofence: Key<Geofence>) throws {
        let addLocation = try session.prepared(GeofenceStatements.addLocation)
        for (position, location) in plan.locations.enumerated() { try addLocation.send(geofence, position, location) }
        let addGroup = try session.prepared(GeofenceStatements.addGroup)
        for (position, group) in plan.groups.enumerated() { try addGroup.send(geofence, position, group) }
    }

    private func clear(_ geofence: Key<Geofence>) throws {
        try session.prepared(GeofenceStatements.clearLocations).send(geofence)
        try session.prepared(GeofenceStatements.clearGroups).send(geofence)
    }

    private func nextStamp() throws -> Instant {
        let stamp = GeofenceStamp.next(after: try session.db.lastGeofenceStamp(of: application), now: now)
        try session.prepared(StampStatements.set).send(application, stamp)
        return stamp
    }

    private func notify(_ platforms: Set<GeofencePlatform>) throws {
        let now = now
        for kind in GeofenceUpdatePush.kinds where platforms.contains(where: { $0.includes(kind) }) {
            try session.prepared(GeofenceUpdateStatements.note).send(
                application, kind.rawValue, now, now + GeofenceUpdatePush.quiet, GeofenceUpdatePush.window.milliseconds)
        }
    }
}

extension SQLConnection {
    /// `zero` before the first change.
    func lastGeofenceStamp(of application: Key<Application>) throws -> Instant {
        try prepared(StampStatements.last).first(application) { Instant(milliseconds: $0.integer(0)) } ?? .zero
    }
}

enum StampStatements {
    static let last: SQLText = """
        SELECT changed_at_ms /* geofence_stamps.last */ FROM geofence_stamp WHERE application_id = $1
        """

    static let set: SQLText = """
        INSERT INTO geofence_stamp /* geofence_stamps.set */ (application_id, changed_at_ms) VALUES ($1, $2)
            ON CONFLICT (application_id) DO UPDATE SET changed_at_ms = excluded.changed_at_ms
        """
}

enum DeletionStatements {
    static let insert: SQLText = """
        INSERT INTO geofence_deletion /* geofence_deletions.insert */ (
            application_id, changed_at_ms, geofence_id, expires_at_ms)
        VALUES ($1, $2, $3, $4)
        """

    /// Scans the primary key.
    static let count: SQLText = """
        SELECT count(*) /* geofence_deletions.count */
          FROM (SELECT 1 FROM geofence_deletion WHERE application_id = $1 LIMIT $2) AS found
        """

    /// Scans the primary key.
    static let since: SQLText = """
        SELECT geofence_id /* geofence_deletions.since */
          FROM geofence_deletion
         WHERE application_id = $1 AND changed_at_ms > $2
         ORDER BY changed_at_ms
        """
}

enum GeofenceUpdateStatements {
    /// Records a change for each platform of the type. Further changes postpone the push, but not beyond the window.
    static let note: SQLText = """
        INSERT INTO geofence_update /* geofence_updates.note */ (
            platform_id, application_id, change_count, first_change_at_ms, due_at_ms)
        SELECT id, application_id, 1, $3, $4 FROM platform WHERE application_id = $1 AND kind = $2 ORDER BY id
            ON CONFLICT (platform_id) DO UPDATE
           SET change_count = geofence_update.change_count + 1,
               due_at_ms = \(SQLText.least)(excluded.due_at_ms, geofence_update.first_change_at_ms + $5)
        """

    /// Due updates that no other node has reserved. Scans `geofence_update_due`.
    static let claim: SQLText = """
        WITH due /* geofence_updates.claim */ AS MATERIALIZED (
            SELECT platform_id FROM geofence_update
             WHERE due_at_ms <= $1 AND (holder IS NULL OR holder = $3 OR held_until_ms <= $1)
             ORDER BY due_at_ms
             LIMIT $2
               \(SQLText.forUpdateSkipLocked))
        UPDATE geofence_update SET holder = $3, held_until_ms = $4
          FROM due
         WHERE geofence_update.platform_id = due.platform_id
        RETURNING geofence_update.platform_id, application_id, change_count, due_at_ms
        """

    static let settle: SQLText = """
        DELETE FROM geofence_update /* geofence_updates.settle */
         WHERE platform_id = $1 AND change_count = $2 AND holder = $3
        """

    static let postpone: SQLText = """
        UPDATE geofence_update /* geofence_updates.postpone */ SET due_at_ms = $1, first_change_at_ms = $1
         WHERE platform_id = $2 AND holder = $3
        """
}

/// The push that notifies devices of changed geofences, and its timing.
package enum GeofenceUpdatePush {
    /// The types of platform whose SDKs know geofences.
    /// Source: the `platform` that they ask for updates with, `docs/compatibility/pcf.md`.
    package static let kinds: [PlatformKind] = [.ios, .android, .androidFCM]

    /// The pause in changes after which devices are notified.
    package static let quiet: Duration = .seconds(1)
    /// The longest such delay.
    package static let window: Duration = .seconds(10)
    /// A device that was off for longer fetches its geofences when its app next starts.
    package static let lifetime: Duration = .seconds(86_400)
    /// The wait before a parked platform is checked again.
    package static let parkedPause: Duration = .seconds(60)
}

extension Push.Content {
    /// Makes the SDK fetch its geofences; its user sees nothing.
    package static let geofenceUpdate = silent(["pivotal.push.geofence_update_available": .bool(true)])
}

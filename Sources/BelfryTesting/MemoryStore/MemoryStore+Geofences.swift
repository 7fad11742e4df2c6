package import BelfryService

extension MemoryStore {
    package func create(_ plan: GeofencePlan, of application: Key<Application>) async throws -> Geofence {
        let now = clock.now
        return try transaction { contents in
            guard contents.applications[application] != nil else { throw StoreError.unknown("application") }
            let locations = try contents.locations(of: plan, in: application)
            try contents.checkGeofenceLimit(of: application)
            try contents.check(quotas, .geofences, of: application)
            try contents.check(quotas, .content, of: application, adding: plan.data.storedText.utf8.count)
            let geofence = Geofence(
                key: contents.nextKey(), plan: plan, locations: locations, phase: GeofencePhase(of: plan, at: now),
                createdAt: now, updatedAt: now)
            contents.put(geofence, of: application, now: now)
            return geofence
        }
    }

    package func importGeofences(
        _ geofences: [GeofenceImport], lastModified: Instant, of application: Key<Application>
    ) async throws -> [Key<Geofence>] {
        let now = clock.now
        return try transaction { contents in
            guard contents.applications[application] != nil else { throw StoreError.unknown("application") }
            contents.map.stamps[application] = max(contents.map.stamps[application] ?? .zero, lastModified)
            return try geofences.map { geofence in
                try contents.take(geofence, lastModified: lastModified, of: application, quotas, now: now)
            }
        }
    }

    package func geofence(_ key: Key<Geofence>, of application: Key<Application>) async throws -> Geofence? {
        contents.map.geofences[key].flatMap { $0.application == application ? $0.geofence : nil }
    }

    package func geofences(
        of application: Key<Application>, _ query: GeoListQuery
    ) async throws -> ListPage<Geofence> {
        let all = contents.map.geofences.values.filter { $0.application == application }.map(\.geofence)
        return ListPage(all.filter { $0.updatedAt >= query.changedSince }.sorted { $0.key < $1.key }, query)
    }

    package func update(
        _ key: Key<Geofence>, of application: Key<Application>,
        change: @escaping @Sendable (GeofencePlan) throws -> GeofencePlan
    ) async throws -> Geofence? {
        let now = clock.now
        return try transaction { contents in
            guard let row = contents.map.geofences[key], row.application == application else { return nil }
            let plan = try change(row.geofence.plan)
            guard plan != row.geofence.plan else { return row.geofence }
            let geofence = Geofence(
                key: key, plan: plan,
                locations: try contents.locations(of: plan, in: application),
                phase: GeofencePhase(of: plan, at: now), createdAt: row.geofence.createdAt, updatedAt: now)
            if row.geofence.phase == .over, geofence.phase != .over {
                try contents.checkGeofenceLimit(of: application)
            }
            try contents.check(
                quotas, .content, of: application,
                adding: plan.data.storedText.utf8.count - row.geofence.plan.data.storedText.utf8.count)
            contents.put(geofence, of: application, now: now)
            return geofence
        }
    }

    package func delete(_ key: Key<Geofence>, of application: Key<Application>) async throws -> Bool {
        let now = clock.now
        return transaction { contents in
            guard let row = contents.map.geofences[key], row.application == application else { return false }
            contents.map.geofences[key] = nil
            guard row.changedAt != nil else { return true }
            contents.map.deletions.append(
                Contents.Deletion(
                    application: application, geofence: key, changedAt: contents.nextStamp(of: application, now: now),
                    expiresAt: row.geofence.plan.expiresAt))
            if row.geofence.phase == .active {
                contents.notify(application, of: [row.geofence.plan.platform], now: now)
            }
            return true
        }
    }

    package func geofenceUpdates(since: Instant, on platform: Platform) async throws -> GeofenceChanges {
        let now = clock.now
        return transaction { contents in
            contents.startAndEndDueGeofences(now: now)
            return contents.geofenceUpdates(since: since, on: platform)
        }
    }

    package func startAndEndDueGeofences() async throws -> Bool {
        let now = clock.now
        transaction { $0.startAndEndDueGeofences(now: now) }
        return false
    }

    package func dueGeofenceUpdates(atMost limit: Int) async throws -> [GeofenceUpdate] {
        let now = clock.now
        let due = contents.map.updates.filter { $0.value.dueAt <= now }
        return due.sorted { ($0.value.dueAt, $0.key) < ($1.value.dueAt, $1.key) }.prefix(limit).map { platform, row in
            GeofenceUpdate(
                platformKey: platform, applicationKey: row.application, changeCount: row.changeCount)
        }
    }

    package func settle(_ update: GeofenceUpdate) async throws {
        transaction { contents in
            guard contents.map.updates[update.platformKey]?.changeCount == update.changeCount else { return }
            contents.map.updates[update.platformKey] = nil
        }
    }

    package func postpone(_ update: GeofenceUpdate, for pause: Duration) async throws {
        let now = clock.now
        transaction { contents in
            contents.map.updates[update.platformKey]?.dueAt = now + pause
            contents.map.updates[update.platformKey]?.firstChangeAt = now + pause
        }
    }

    package func deleteExpiredGeofenceDeletions(expiredBefore time: Instant) async throws -> Bool {
        transaction { $0.map.deletions.removeAll { $0.expiresAt < time } }
        return false
    }
}

extension Contents {
    fileprivate func checkGeofenceLimit(of application: Key<Application>) throws(InvalidInput) {
        let live = map.geofences.values.count { $0.application == application && $0.geofence.phase != .over }
        guard live < GeofenceLimits.liveMax else {
            throw InvalidInput(
                field: "geofence", "would be one too many: the application has \(live) that are not over, the limit")
        }
    }

    fileprivate func geofenceUpdates(since: Instant, on platform: Platform) -> GeofenceChanges {
        let application = platform.applicationKey
        let last = map.stamps[application] ?? .zero
        let isFresh = since <= .zero || since > last
        let rows = map.geofences.values.filter { row in
            row.application == application && row.changedAt.map { isFresh || $0 > since } ?? false
        }
        let isShown = { (row: GeofenceRow) in
            row.geofence.phase == .active && row.geofence.plan.platform.includes(platform.kind)
        }
        let shown = rows.filter(isShown).sorted {
            isFresh ? $0.geofence.key < $1.geofence.key : ($0.changedAt ?? .zero) < ($1.changedAt ?? .zero)
        }
        let deleted = map.deletions.filter { $0.application == application && $0.changedAt > since }.map(\.geofence)
        let withdrawn = rows.filter { !isShown($0) }.map(\.geofence.key)
        return GeofenceChanges(
            lastModified: last, geofences: shown.map(\.geofence),
            gone: isFresh ? [] : (withdrawn + deleted).sorted())
    }
}

extension Contents {
    fileprivate mutating func take(
        _ imported: GeofenceImport, lastModified: Instant, of application: Key<Application>, _ quotas: Quotas,
        now: Instant
    ) throws -> Key<Geofence> {
        let (plan, other) = (imported.plan, map.geofences[imported.key])
        if other?.application == application { return imported.key }
        let locations = try self.locations(of: plan, in: application)
        try checkGeofenceLimit(of: application)
        try check(quotas, .geofences, of: application)
        try check(quotas, .content, of: application, adding: plan.data.storedText.utf8.count)
        let geofence = Geofence(
            key: other == nil ? imported.key : nextKey(), plan: plan, locations: locations,
            phase: GeofencePhase(of: plan, at: now), createdAt: now, updatedAt: now)
        guard other == nil else {
            put(geofence, of: application, now: now)
            map.deletions.append(
                Deletion(
                    application: application, geofence: imported.key,
                    changedAt: nextStamp(of: application, now: now), expiresAt: plan.expiresAt))
            return geofence.key
        }
        raiseKey(to: imported.key)
        map.geofences[imported.key] = GeofenceRow(
            application: application, geofence: geofence,
            changedAt: plan.startsAt <= now ? min(imported.changedAt, lastModified) : nil)
        return imported.key
    }
}

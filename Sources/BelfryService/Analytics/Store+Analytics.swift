extension Store {
    /// Counts the events, each once however often it is reported.
    ///
    /// Ignores events of another platform's devices, events about another application's pushes or geofences, and events
    /// reported too late to detect repeats.
    package func record(
        _ events: [AnalyticsEvent], on platform: Platform, lateMax: Duration
    ) async throws -> AnalyticsTally {
        var tally = AnalyticsTally()
        for start in stride(from: 0, to: events.count, by: Self.eventsPerWrite) {
            let some = events[start..<min(start + Self.eventsPerWrite, events.count)]
            let devices = try await devices(of: some, on: platform)
            let named = zip(some, devices).compactMap { event, device in
                device.map { device in
                    NamedEvent(
                        event: event, device: device,
                        hash: Int64(bitPattern: secrets.tokenHash.hash(event.identity)))
                }
            }
            tally.ignored += some.count - named.count
            guard !named.isEmpty else { continue }
            tally =
                try await tally
                + write { session in
                    var counter = EventCounter(session: session, platform: platform, lateMax: lateMax)
                    return try counter.count(named)
                }
        }
        return tally
    }

    /// The device of each event; nil where it is none that was ever named.
    private func devices(of events: some Sequence<AnalyticsEvent>, on platform: Platform) async throws -> [Key<Device>?]
    {
        let names = events.map { DeviceName($0.device, naming: secrets.naming, hasImports: platform.hasImports) }
        guard names.contains(where: { if case .imported = $0 { true } else { false } }) else {
            return names.map { if case .own(let key) = $0 { key } else { nil } }
        }
        return try await readCommitted { db in try names.map { try $0.flatMap { try db.device($0, on: platform.key) } }
        }
    }

    /// A long batch must not delay other writes.
    private static var eventsPerWrite: Int { 500 }

    package func counts(of push: Key<Push>) async throws -> [Key<Platform>: AnalyticsCounts] {
        try await read { db in
            var counts: [Key<Platform>: AnalyticsCounts] = [:]
            try db.prepared(CountStatements.ofPush).each(push) { row in
                counts[Key(row.integer(0)), default: [:]][try AnalyticsKind(row, at: 1)] = row.integer(2)
            }
            // A push that was accepted with all its batches is counted by them.
            try db.prepared(CountStatements.sentOfWhole).each(push) { row in
                var tally = AnswerTally()
                row.withBlob(1) { tally.add($0) }
                guard let sent = tally.final[.accepted] else { return }
                counts[Key(row.integer(0)), default: [:]][.sent, default: 0] += Int64(sent)
            }
            return counts
        }
    }

    /// The counts of a platform, by hour or by day (UTC), ascending; empty hours and days are left out.
    package func counts(
        on platform: Key<Platform>, from start: Instant, until end: Instant, by width: AnalyticsBucket.Width
    ) async throws -> [AnalyticsBucket] {
        try await counts(on: [platform], from: start, until: end, by: width)[platform] ?? []
    }

    package func counts(
        on platforms: [Key<Platform>], from start: Instant, until end: Instant, by width: AnalyticsBucket.Width
    ) async throws -> [Key<Platform>: [AnalyticsBucket]] {
        let hours = start.bucket(of: .hour)..<max(start.bucket(of: .hour), end.bucket(of: .hour, roundedUp: true))
        return try await read { db in
            let recent = Dictionary(grouping: try db.recentJoins(), by: \.platform)
            var found: [Key<Platform>: [AnalyticsBucket]] = [:]
            for platform in platforms {
                var counts: [Int64: AnalyticsCounts] = [:]
                var activities: [Int64: PlatformActivity] = [:]
                try db.prepared(CountStatements.onPlatform).each(platform, hours.lowerBound, hours.upperBound) { row in
                    let number = row.integer(0).flooredQuotient(width.rawValue)
                    counts[number, default: [:]][try AnalyticsKind(row, at: 1), default: 0] += row.integer(2)
                }
                for (hour, activity) in try db.activity(on: platform, hours) {
                    let number = hour.flooredQuotient(width.rawValue)
                    activities[number, default: PlatformActivity()] += activity
                    if activity.accepted > 0 { counts[number, default: [:]][.sent, default: 0] += activity.accepted }
                }
                for joined in recent[platform] ?? [] where hours.contains(joined.hour) {
                    let number = joined.hour.flooredQuotient(width.rawValue)
                    activities[number, default: PlatformActivity()].add(joined.devices, .joined)
                }
                found[platform] = Set(counts.keys).union(activities.keys).sorted().map {
                    AnalyticsBucket(
                        start: Instant(bucket: $0, of: width), counts: counts[$0] ?? [:],
                        activity: activities[$0] ?? PlatformActivity())
                }
            }
            return found
        }
    }

    /// The number of times that geofences were triggered, in the order of `GeofenceTriggers.Spot`, after `after`.
    package func geofenceTriggers(
        of application: Key<Application>, after: GeofenceTriggers.Spot?, limit: Int
    ) async throws -> [GeofenceTriggers] {
        try await read { db in
            try db.prepared(CountStatements.ofGeofences).all(
                application, after?.geofence ?? Key(0), after?.location ?? Key(0), after?.platform ?? Key(0), limit
            ) { row in
                let location = row.integer(1)
                return GeofenceTriggers(
                    spot: GeofenceTriggers.Spot(
                        geofence: Key(row.integer(0)), location: location == 0 ? nil : Key(location),
                        platform: Key(row.integer(2))),
                    count: row.integer(3), lastAt: Instant(milliseconds: row.integer(4)))
            }
        }
    }

    /// The devices of a platform that send heartbeats, ascending, after `after`.
    package func heartbeats(
        on platform: Key<Platform>, after: Key<Device>?, limit: Int
    ) async throws -> [Heartbeat] {
        try await read { db in
            try db.prepared(CountStatements.heartbeats).all(platform, after ?? Key(0), limit) { row in
                Heartbeat(
                    device: Key(row.integer(0)), lastAt: Instant(milliseconds: row.integer(2)), count: row.integer(1),
                    latency: row.integerIfAny(3).map { .milliseconds($0) })
            }
        }
    }

    /// The devices of a platform that have sent a heartbeat since a time, taken together.
    package func heartbeatSummary(on platform: Key<Platform>, since: Instant) async throws -> HeartbeatSummary {
        try await read { db in
            let totals = try db.prepared(CountStatements.heartbeatTotals).first(platform, since) { row in
                (devices: Int(row.integer(0)), last: row.integerIfAny(1), measured: Int(row.integer(2)))
            }
            let latency = try db.prepared(CountStatements.heartbeatLatency)
            return HeartbeatSummary(
                devices: totals?.devices ?? 0, lastAt: totals?.last.map(Instant.init(milliseconds:)),
                latency: try HeartbeatSummary.Percentiles(count: totals?.measured ?? 0) { place in
                    try latency.first(platform, since, place) { .milliseconds($0.integer(0)) }
                })
        }
    }
}

extension AnalyticsKind {
    fileprivate init(_ row: some SQLRow, at index: Int32) throws {
        guard let kind = AnalyticsKind(rawValue: row.integer(index)) else {
            throw StoreError.damaged("a count of events")
        }
        self = kind
    }
}

enum CountStatements {
    static let addToPush: SQLText = """
        INSERT INTO push_count /* counts.add_to_push */ (push_id, platform_id, kind, event_count)
        VALUES ($1, $2, $3, $4)
            ON CONFLICT (push_id, platform_id, kind) DO UPDATE SET event_count = push_count.event_count + excluded.event_count
        """

    static let addToPlatform: SQLText = """
        INSERT INTO platform_count /* counts.add_to_platform */ (platform_id, hour, kind, event_count)
        VALUES ($1, $2, $3, $4)
            ON CONFLICT (platform_id, hour, kind) DO UPDATE SET event_count = platform_count.event_count + excluded.event_count
        """

    static let addToGeofence: SQLText = """
        INSERT INTO geofence_count /* counts.add_to_geofence */ (
            application_id, geofence_id, location_id, platform_id, event_count, last_at_ms)
        VALUES ($1, $2, $3, $4, 1, $5)
            ON CONFLICT (application_id, geofence_id, location_id, platform_id) DO UPDATE
           SET event_count = geofence_count.event_count + 1,
               last_at_ms = \(SQLText.greatest)(geofence_count.last_at_ms, excluded.last_at_ms)
        """

    /// The latency is that of the last one.
    static let addHeartbeat: SQLText = """
        INSERT INTO heartbeat /* counts.add_heartbeat */ (platform_id, device_id, event_count, last_at_ms, latency_ms)
        VALUES ($1, $2, 1, $3, $4)
            ON CONFLICT (platform_id, device_id) DO UPDATE
           SET event_count = heartbeat.event_count + 1,
               last_at_ms = \(SQLText.greatest)(heartbeat.last_at_ms, excluded.last_at_ms),
               latency_ms = CASE WHEN excluded.last_at_ms >= heartbeat.last_at_ms THEN excluded.latency_ms
                                 ELSE heartbeat.latency_ms END
        """

    static let mark: SQLText = """
        INSERT INTO event_mark /* counts.mark */ (day, hash) VALUES ($1, $2) ON CONFLICT (day, hash) DO NOTHING
        """

    /// Scans the push's unique index.
    static let push: SQLText = """
        SELECT id, accepted_at_ms /* counts.push */ FROM push WHERE receipt_id = $1 AND application_id + 0 = $2
        """

    static let geofence: SQLText = "SELECT 1 /* counts.geofence */ FROM geofence WHERE id = $1 AND application_id = $2"

    static let ofPush: SQLText = """
        SELECT platform_id, kind, event_count /* counts.of_push */ FROM push_count WHERE push_id = $1
        """

    /// Scans `batch_device`, for a push without counters of its own.
    static let sentOfWhole: SQLText = """
        SELECT platform_id, answers /* counts.sent_of_whole */ FROM batch
         WHERE push_id = $1 AND NOT EXISTS (SELECT 1 FROM push_progress WHERE push_id = $1)
        """

    /// Scans the primary key.
    static let onPlatform: SQLText = """
        SELECT hour, kind, event_count /* counts.on_platform */
          FROM platform_count
         WHERE platform_id = $1 AND hour >= $2 AND hour < $3
         ORDER BY hour, kind
        """

    /// Scans the primary key.
    static let ofGeofences: SQLText = """
        SELECT geofence_id, location_id, platform_id, event_count, last_at_ms /* counts.of_geofences */
          FROM geofence_count
         WHERE application_id = $1 AND (geofence_id, location_id, platform_id) > ($2, $3, $4)
         ORDER BY geofence_id, location_id, platform_id
         LIMIT $5
        """

    /// Scans the primary key.
    static let heartbeats: SQLText = """
        SELECT device_id, event_count, last_at_ms, latency_ms /* counts.heartbeats */
          FROM heartbeat
         WHERE platform_id = $1 AND device_id > $2
         ORDER BY device_id
         LIMIT $3
        """

    /// Scans the primary key.
    static let heartbeatTotals: SQLText = """
        SELECT count(*), max(last_at_ms), count(latency_ms) /* counts.heartbeat_totals */
          FROM heartbeat
         WHERE platform_id = $1 AND last_at_ms + 0 >= $2
        """

    /// Scans the primary key.
    static let heartbeatLatency: SQLText = """
        SELECT latency_ms /* counts.heartbeat_latency */
          FROM heartbeat
         WHERE platform_id = $1 AND last_at_ms + 0 >= $2 AND latency_ms IS NOT NULL
         ORDER BY latency_ms
         LIMIT 1 OFFSET $3
        """
}

extension Schema {
    /// Push, platform and device are not foreign keys: these are counts, and may outlive what they counted.
    static let counts = SchemaPart(
        [
            StoreTable("push_count", rows: .derived("push"), key: "push_id, platform_id, kind", of: .push),
            StoreTable(
                "platform_count", rows: .derived("platform"), key: "platform_id, hour, kind", of: .platform,
                expiry: .init(.counts, "hour", in: .hour)),
            StoreTable(
                "event_mark", rows: .derived("device"), key: "day, hash", expiry: .init(.events, "day", in: .day)),
            StoreTable(
                "geofence_count", rows: .derived("geofence"),
                key: "application_id, geofence_id, location_id, platform_id", of: .application,
                expiry: .init(.counts, "last_at_ms")),
            StoreTable(
                "heartbeat", rows: .derived("platform"), key: "platform_id, device_id", of: .platform,
                expiry: .init(.counts, "last_at_ms")),
        ],
        sql: """
            -- `kind`: see `AnalyticsKind`.
            CREATE TABLE push_count (
                push_id \(.bigint) NOT NULL,
                platform_id \(.bigint) NOT NULL,
                kind \(.bigint) NOT NULL CHECK (kind BETWEEN 0 AND 5),
                event_count \(.bigint) NOT NULL CHECK (event_count > 0),
                PRIMARY KEY (push_id, platform_id, kind)
            ) \(.byKey);

            -- `hour` counts from 1970 UTC.
            CREATE TABLE platform_count (
                platform_id \(.bigint) NOT NULL,
                hour \(.bigint) NOT NULL,
                kind \(.bigint) NOT NULL CHECK (kind BETWEEN 0 AND 5),
                event_count \(.bigint) NOT NULL CHECK (event_count > 0),
                PRIMARY KEY (platform_id, hour, kind)
            ) \(.byKey);
            CREATE INDEX platform_count_hour ON platform_count (hour);

            -- Counted events, by the day they claim and a keyed hash of their identity. Eight bytes instead of a row of two
            -- hundred; among a hundred million events of a day two are taken for one on one of three thousand days.
            CREATE TABLE event_mark (
                day \(.bigint) NOT NULL,
                hash \(.bigint) NOT NULL,
                PRIMARY KEY (day, hash)
            ) \(.byKey);

            -- `location_id` 0: the app named no location.
            CREATE TABLE geofence_count (
                application_id \(.bigint) NOT NULL REFERENCES application (id),
                geofence_id \(.bigint) NOT NULL,
                location_id \(.bigint) NOT NULL,
                platform_id \(.bigint) NOT NULL,
                event_count \(.bigint) NOT NULL CHECK (event_count > 0),
                last_at_ms \(.bigint) NOT NULL,
                PRIMARY KEY (application_id, geofence_id, location_id, platform_id)
            ) \(.byKey);
            CREATE INDEX geofence_count_last ON geofence_count (last_at_ms);

            CREATE TABLE heartbeat (
                platform_id \(.bigint) NOT NULL,
                device_id \(.bigint) NOT NULL,
                event_count \(.bigint) NOT NULL CHECK (event_count > 0),
                last_at_ms \(.bigint) NOT NULL,
                latency_ms \(.bigint) CHECK (latency_ms >= 0),
                PRIMARY KEY (platform_id, device_id)
            ) \(.byKey);
            CREATE INDEX heartbeat_last ON heartbeat (last_at_ms);
            """)
}

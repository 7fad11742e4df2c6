extension SQLStore {
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

    package func counts(
        on platform: Key<Platform>, from start: Instant, until end: Instant, by width: AnalyticsBucket.Width
    ) async throws -> [AnalyticsBucket] {
        try await read { db in
            var buckets: [(number: Int64, counts: AnalyticsCounts)] = []
            let hours = start.bucket(of: .hour)..<max(start.bucket(of: .hour), end.bucket(of: .hour, roundedUp: true))
            try db.prepared(CountStatements.onPlatform).each(platform, hours.lowerBound, hours.upperBound) { row in
                let number = row.integer(0).floored(by: width.rawValue)
                if buckets.last?.number != number { buckets.append((number, [:])) }
                buckets[buckets.count - 1].counts[try AnalyticsKind(row, at: 1), default: 0] += row.integer(2)
            }
            return buckets.map { AnalyticsBucket(start: Instant(bucket: $0.number, of: width), counts: $0.counts) }
        }
    }

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

    package func deleteExpiredAnalytics(countsBefore: Instant, eventsBefore: Instant) async throws -> Bool {
        let hour = countsBefore.bucket(of: .hour)
        let day = eventsBefore.bucket(of: .day)
        return try await write { session in
            let stride = Self.rowsForgottenPerStep
            var isMore = false
            for (sql, bound) in [
                (CountStatements.deleteExpiredMarks, day), (CountStatements.deleteExpiredPlatforms, hour),
                (CountStatements.deleteExpiredGeofences, countsBefore.milliseconds),
                (CountStatements.deleteExpiredHeartbeats, countsBefore.milliseconds),
            ] {
                if try session.prepared(sql).run(bound, stride) == stride { isMore = true }
            }
            return isMore
        }
    }

    private static var rowsForgottenPerStep: Int { 1_000 }
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

    /// Scans the primary key.
    static let deleteExpiredMarks: SQLText = """
        DELETE FROM event_mark /* counts.forget_marks */
         WHERE (day, hash) IN (SELECT day, hash FROM event_mark WHERE day < $1 LIMIT $2)
        """

    /// Scans `platform_count_hour`.
    static let deleteExpiredPlatforms = SQLText.deleteSome(
        "counts.forget_platforms", from: "platform_count", key: "platform_id, hour, kind", where: "hour < $1")

    /// Scans `geofence_count_last`.
    static let deleteExpiredGeofences = SQLText.deleteSome(
        "counts.forget_geofences", from: "geofence_count",
        key: "application_id, geofence_id, location_id, platform_id", where: "last_at_ms < $1")

    /// Scans `heartbeat_last`.
    static let deleteExpiredHeartbeats = SQLText.deleteSome(
        "counts.forget_heartbeats", from: "heartbeat", key: "platform_id, device_id", where: "last_at_ms < $1")
}

package import BelfryService

extension MemoryStore {
    package func record(
        _ events: [AnalyticsEvent], on platform: Platform, lateMax: Duration
    ) async throws -> AnalyticsTally {
        let now = clock.now
        return transaction { contents in
            var tally = AnalyticsTally()
            for event in events {
                switch contents.count(event, on: platform, now: now, lateMax: lateMax) {
                case nil: tally.ignored += 1
                case false?: tally.repeated += 1
                case true?: tally.counted += 1
                }
            }
            return tally
        }
    }

    package func counts(of push: Key<Push>) async throws -> [Key<Platform>: AnalyticsCounts] {
        contents.events.pushes[push] ?? [:]
    }

    package func counts(
        on platform: Key<Platform>, from start: Instant, until end: Instant, by width: AnalyticsBucket.Width
    ) async throws -> [AnalyticsBucket] {
        let hours = (contents.events.hours[platform] ?? [:]).filter { hour, _ in
            hour >= start.bucket(of: .hour) && hour < end.bucket(of: .hour, roundedUp: true)
        }
        let buckets = Dictionary(grouping: hours) { $0.key.floored(by: width.rawValue) }
        return buckets.sorted { $0.key < $1.key }.map { number, hours in
            AnalyticsBucket(
                start: Instant(bucket: number, of: width),
                counts: hours.map(\.value).reduce(into: [:]) { $0.merge($1, uniquingKeysWith: +) })
        }
    }

    package func geofenceTriggers(
        of application: Key<Application>, after: GeofenceTriggers.Spot?, limit: Int
    ) async throws -> [GeofenceTriggers] {
        let all = (contents.events.triggers[application] ?? [:]).values
        return Array(
            all.filter { trigger in after.map { trigger.spot > $0 } ?? true }.sorted { $0.spot < $1.spot }
                .prefix(limit))
    }

    package func heartbeats(
        on platform: Key<Platform>, after: Key<Device>?, limit: Int
    ) async throws -> [Heartbeat] {
        let all = (contents.events.heartbeats[platform] ?? [:]).values
        return Array(
            all.filter { $0.device > after ?? Key(0) }.sorted { $0.device < $1.device }.prefix(limit))
    }

    package func heartbeatSummary(on platform: Key<Platform>, since: Instant) async throws -> HeartbeatSummary {
        let all = (contents.events.heartbeats[platform] ?? [:]).values.filter { $0.lastAt >= since }
        let latencies = all.compactMap(\.latency).sorted()
        return HeartbeatSummary(
            devices: all.count, lastAt: all.map(\.lastAt).max(),
            latency: HeartbeatSummary.Percentiles(count: latencies.count) { latencies[$0] })
    }

    package func deleteExpiredAnalytics(countsBefore: Instant, eventsBefore: Instant) async throws -> Bool {
        transaction { contents in
            let (hour, day) = (countsBefore.bucket(of: .hour), eventsBefore.bucket(of: .day))
            contents.events.marks = contents.events.marks.filter { $0.day >= day }
            contents.events.hours = contents.events.hours.mapValues { $0.filter { $0.key >= hour } }
            contents.events.triggers = contents.events.triggers.mapValues { triggers in
                triggers.filter { $0.value.lastAt >= countsBefore }
            }
            contents.events.heartbeats = contents.events.heartbeats.mapValues { heartbeats in
                heartbeats.filter { $0.value.lastAt >= countsBefore }
            }
        }
        return false
    }
}

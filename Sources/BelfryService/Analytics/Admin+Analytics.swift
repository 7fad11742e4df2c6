import FoundationEssentials
import Hummingbird

extension Admin {
    /// The events that apps reported, as counts: by platform and time, by push, and by geofence.
    struct Analytics: Sendable {
        let factory: RouteFactory

        var routes: [Route] {
            [
                factory.platform(.get, "platforms/:platform_uuid/analytics", .read, platform),
                factory.platform(.get, "platforms/:platform_uuid/heartbeats", .read, heartbeats),
                factory.receipt(.get, "pushes/:receipt_id/analytics", .read, push),
                factory.application(.get, "apps/:app_uuid/geofence-triggers", .read, triggers),
            ]
        }

        private enum Width: String, CaseIterable { case hour, day }

        /// The most hours or days in one answer.
        private static let bucketsMax: Int64 = 1_000

        /// The last day by the hour, unless another period is requested.
        private func platform(
            _ call: Call, _ platform: Platform, _ application: Application
        ) async throws -> Response {
            let query = try Query(call, ["from", "until", "by"])
            let width: AnalyticsBucket.Width = try query.choice("by", as: Width.self) == .day ? .day : .hour
            let until = try query.instant("until") ?? factory.clock.now
            let from = try query.instant("from") ?? until + .seconds(-86_400)
            let count = until.bucket(of: width, roundedUp: true) - from.bucket(of: width)
            guard count <= Self.bucketsMax else {
                throw InvalidInput(field: "from", "to until is \(count) steps, the limit is \(Self.bucketsMax)")
            }
            let buckets = try await factory.store.counts(on: platform.key, from: from, until: until, by: width)
            return try Response(
                AnalyticsReply(
                    by: (width == .hour ? Width.hour : .day).rawValue,
                    buckets: buckets.map {
                        .init(start: $0.start.text, counts: $0.counts.named, activity: .init($0.activity))
                    }))
        }

        /// The heartbeats of the last hour, unless another period is requested.
        private func heartbeats(
            _ call: Call, _ platform: Platform, _ application: Application
        ) async throws -> Response {
            let since = try Query(call, ["since"]).instant("since") ?? factory.clock.now + .seconds(-3_600)
            let summary = try await factory.shares.holding(.searches, for: ShareHolder(call.key, application)) {
                try await factory.store.heartbeatSummary(on: platform.key, since: since)
            }
            return try Response(HeartbeatsReply(summary))
        }

        private func push(_ call: Call, _ receipt: Receipt, _ application: Application) async throws -> Response {
            let counts = try await factory.store.counts(of: receipt.push.key)
            let platforms = try await factory.store.platforms(of: application.key).filter { counts[$0.key] != nil }
            return try Response(
                PushAnalyticsReply(
                    platforms: platforms.map {
                        .init(platform_uuid: $0.uuid.lowercased, counts: counts[$0.key]?.named ?? [:])
                    }))
        }

        private func triggers(_ call: Call, _ application: Application) async throws -> Response {
            let query = try Query(call, Query.paging)
            let limit = try query.limit()
            let after = try query.cursor(of: 3).map { numbers in
                GeofenceTriggers.Spot(
                    geofence: Key(numbers[0]), location: numbers[1] == 0 ? nil : Key(numbers[1]),
                    platform: Key(numbers[2]))
            }
            let found = try await factory.store.geofenceTriggers(of: application.key, after: after, limit: limit)
            let platforms = try await factory.store.platforms(of: application.key)
            let uuids = Dictionary(uniqueKeysWithValues: platforms.map { ($0.key, $0.uuid) })
            return try Response(
                GeofenceTriggersReply(
                    triggers: found.map { .init($0, on: uuids[$0.spot.platform]) },
                    next_cursor: found.count == limit ? found.last.map { Cursor($0.spot).text } : nil))
        }
    }
}

extension Admin.Cursor {
    fileprivate init(_ spot: GeofenceTriggers.Spot) {
        self.init(spot.geofence.rawValue, spot.location?.rawValue ?? 0, spot.platform.rawValue)
    }
}

extension AnalyticsCounts {
    /// The kinds by the names that callers know.
    fileprivate var named: [String: Int64] {
        [String: Int64](uniqueKeysWithValues: map { ($0.key.name, $0.value) })
    }
}

extension AnalyticsKind {
    fileprivate var name: String {
        switch self {
        case .sent: "sent"
        case .received: "received"
        case .opened: "opened"
        case .geofenceTriggered: "geofence_triggered"
        case .heartbeat: "heartbeat"
        case .dismissed: "dismissed"
        }
    }
}

import BelfryService
import FoundationEssentials

/// The analytics pages: pushes sent, received, opened and dismissed, over time and by platform; geofence triggers and heartbeats.
struct AnalyticsPages {
    let make: RouteMaker

    var routes: [PageRoute] {
        [make.application(.get, "analytics", .read, show), make.application(.get, "analytics.csv", .read, csv)]
    }

    private static let kinds: [AnalyticsKind] = [.sent, .received, .opened, .dismissed]

    @Sendable private func show(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let store = visit.services.store
        let platforms = try await store.platforms(of: application.key)
        let (counts, triggers, heartbeats) = try await visit.searching(application) {
            let counts = try await visit.counts(of: platforms, visit.period)
            var heartbeats: [(Platform, HeartbeatSummary)] = []
            for platform in platforms {
                heartbeats.append((platform, try await store.heartbeatSummary(on: platform.key, since: counts.from)))
            }
            return (counts, try await store.geofenceTriggers(of: application.key, after: nil, limit: 50), heartbeats)
        }
        var page = Self.page(application, platforms, counts, triggers, heartbeats)
        page.tabs = Period.tabs(Address.of(application, "analytics"), current: visit.period)
        return .page(page)
    }

    static func page(
        _ application: Application, _ platforms: [Platform], _ counts: SentCounts, _ triggers: [GeofenceTriggers],
        _ heartbeats: [(Platform, HeartbeatSummary)]
    ) -> PageView {
        var page = PageView(
            "Analytics", lead: "Belfry counts what it sent; apps report what was received, opened and dismissed.")
        page.crumbs = [Link(application.name, Address.of(application))]
        page.stats = kinds.map { Stat($0.word.prefix(1).uppercased() + $0.word.dropFirst(), counts.total($0)) }
        var chart = Section("Over time")
        chart.chart = counts.chart(kinds)
        chart.table = counts.table(kinds)
        chart.links = [
            Link(
                "As CSV", Address.query(Address.of(application, "analytics.csv"), [("period", counts.period.rawValue)]))
        ]
        var byPlatform = Section("By platform")
        byPlatform.table = Table(
            "By platform", ["Platform"] + kinds.map { "#\($0.word)" } + ["#opened of sent"],
            platforms.map { platform in
                let own = counts.byPlatform[platform.key] ?? [:]
                let (sent, opened) = (own[.sent] ?? 0, own[.opened] ?? 0)
                return [[.text(platform.name)]] + kinds.map { [.number(Int(own[$0] ?? 0))] }
                    + [[.text(sent > 0 ? "\(opened * 100 / sent) %" : "—")]]
            }, empty: "There is no platform.")
        var places = Section("Geofence triggers")
        places.table = Table(
            "Geofence triggers", ["Geofence", "Location", "#Triggers", "Last"],
            triggers.map { found in
                [
                    [.text("\(found.spot.geofence)")], [.text(found.spot.location.map { "\($0)" } ?? "—")],
                    [.number(Int(found.count))], [.time(found.lastAt)],
                ]
            }, empty: "None was reported.")
        var beats = Section("Heartbeats")
        beats.table = Table(
            "Heartbeats", ["Platform", "#Devices", "Last", "#Half arrive within", "#99 % within"],
            heartbeats.filter { $0.1.devices > 0 }.map { platform, summary in
                [
                    [.text(platform.name)], [.number(summary.devices)], [.time(summary.lastAt)],
                    [.text(summary.latency.map { "\($0.p50.milliseconds) ms" } ?? "—")],
                    [.text(summary.latency.map { "\($0.p99.milliseconds) ms" } ?? "—")],
                ]
            }, empty: "No device sends heartbeats.")
        page.sections = [chart, byPlatform, places, beats]
        return page
    }

    @Sendable private func csv(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let platforms = try await visit.services.store.platforms(of: application.key)
        let counts = try await visit.searching(application) { try await visit.counts(of: platforms, visit.period) }
        var lines = ["start," + Self.kinds.map(\.word).joined(separator: ",")]
        for number in counts.byBucket.keys.sorted() {
            let values = Self.kinds.map { String(counts.byBucket[number]?[$0] ?? 0) }
            lines.append(Instant(bucket: number, of: counts.period.width).text + "," + values.joined(separator: ","))
        }
        return .response(
            .file(
                lines.joined(separator: "\r\n") + "\r\n", named: "analytics-\(counts.period.rawValue).csv",
                type: "text/csv"))
    }
}

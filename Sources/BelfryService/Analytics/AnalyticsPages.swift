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
        _ application: Application, _ platforms: [Platform], _ counts: PeriodCounts, _ triggers: [GeofenceTriggers],
        _ heartbeats: [(Platform, HeartbeatSummary)]
    ) -> PageView {
        var page = PageView(
            "Analytics", in: application,
            lead: "Belfry counts what it sent; apps report what was received, opened and dismissed."
        ) {
            Section("Over time") {
                counts.chart(kinds)
                counts.table(kinds)
                ButtonRow([
                    Link(
                        "As CSV",
                        Address.query(Address.of(application, "analytics.csv"), [("period", counts.period.rawValue)]))
                ])
            }
            Section("By platform") {
                Table(
                    "By platform", ["Platform"] + kinds.map { "#\($0.word)" } + ["#opened of sent"],
                    platforms.map { platform in
                        let own = counts.byPlatform[platform.key] ?? [:]
                        let (sent, opened) = (own[.sent] ?? 0, own[.opened] ?? 0)
                        return [[.text(platform.name)]] + kinds.map { [.number(Int(own[$0] ?? 0))] }
                            + [[.text(sent > 0 ? "\(opened * 100 / sent) %" : "—")]]
                    }, empty: "There is no platform.")
            }
            Section("Geofence triggers") {
                Table(
                    "Geofence triggers", ["Geofence", "Location", "#Triggers", "Last"],
                    triggers.map { found in
                        [
                            [.text("\(found.spot.geofence)")], [.text(found.spot.location.map { "\($0)" } ?? "—")],
                            [.number(Int(found.count))], [.time(found.lastAt)],
                        ]
                    }, empty: "None was reported.")
            }
            Section("Heartbeats") {
                Table(
                    "Heartbeats", ["Platform", "#Devices", "Last", "#Half arrive within", "#99 % within"],
                    heartbeats.filter { $0.1.devices > 0 }.map { platform, summary in
                        [
                            [.text(platform.name)], [.number(summary.devices)], [.time(summary.lastAt)],
                            [.text(summary.latency.map { "\($0.p50.milliseconds) ms" } ?? "—")],
                            [.text(summary.latency.map { "\($0.p99.milliseconds) ms" } ?? "—")],
                        ]
                    }, empty: "No device sends heartbeats.")
            }
        }
        page.stats = kinds.map { Stat($0.word.prefix(1).uppercased() + $0.word.dropFirst(), counts.total($0)) }
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

/// Counts of sent, received and opened pushes over a period, by time and by platform.
struct PeriodCounts: Sendable {
    let period: Period
    let from: Instant
    let until: Instant
    private(set) var byBucket: [Int64: AnalyticsCounts] = [:]
    private(set) var byPlatform: [Key<Platform>: AnalyticsCounts] = [:]

    init(_ period: Period, until now: Instant) {
        self.period = period
        until = now
        from = now + (.zero - period.duration)
    }

    mutating func add(_ buckets: [AnalyticsBucket], of platform: Key<Platform>) {
        for bucket in buckets {
            byBucket[bucket.start.bucket(of: period.width), default: [:]].merge(bucket.counts, uniquingKeysWith: +)
            byPlatform[platform, default: [:]].merge(bucket.counts, uniquingKeysWith: +)
        }
    }

    func total(_ kind: AnalyticsKind) -> Int { byPlatform.values.reduce(0) { $0 + Int($1[kind] ?? 0) } }

    func chart(_ kinds: [AnalyticsKind] = [.sent, .opened]) -> Chart {
        let (first, last) = (from.bucket(of: period.width), until.bucket(of: period.width))
        let columns = (first...last).map { number in
            Chart.Column(
                Instant(bucket: number, of: period.width).name(period.width),
                kinds.map { Int(byBucket[number]?[$0] ?? 0) })
        }
        return Chart(
            "\(kinds.map(\.word).joined(separator: " and ")) over \(period.rawValue)", series: kinds.map(\.word),
            columns)
    }

    /// The numbers of the chart as rows; hours and days without anything are left out.
    func table(_ kinds: [AnalyticsKind]) -> Table {
        let rows = byBucket.keys.sorted(by: >).map { number -> [[Value]] in
            let start = Instant(bucket: number, of: period.width)
            return [[.time(start)]] + kinds.map { [.number(Int(byBucket[number]?[$0] ?? 0))] }
        }
        return Table(
            "Numbers of the chart", [period.width == .hour ? "Hour" : "Day"] + kinds.map { "#\($0.word)" }, rows,
            empty: "Nothing was sent in this time.")
    }
}

extension DashboardRequest {
    func counts(of platforms: [Platform], _ period: Period) async throws -> PeriodCounts {
        var counts = PeriodCounts(period, until: services.clock.now)
        for platform in platforms {
            counts.add(
                try await services.store.counts(
                    on: platform.key, from: counts.from, until: counts.until, by: period.width), of: platform.key)
        }
        return counts
    }

    var period: Period { Period(rawValue: query["period"]) ?? .week }
}

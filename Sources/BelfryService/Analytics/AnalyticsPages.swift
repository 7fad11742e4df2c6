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
                ButtonRow([
                    Link(
                        "As CSV",
                        Address.query(Address.of(application, "analytics.csv"), [("period", counts.period.rawValue)]))
                ])
            }
            Section("Rates", text: "Of what was sent in the same \(counts.period == .day ? "hour" : "day").") {
                counts.rates([.received, .opened])
            }
            Section("By platform") {
                Table(
                    "By platform", ["Platform"] + kinds.map { "#\($0.word)" } + ["#opened of sent"],
                    platforms.map { platform in
                        let own = counts.byPlatform[platform.key] ?? [:]
                        let (sent, opened) = (own[.sent] ?? 0, own[.opened] ?? 0)
                        return [[.text(platform.name)]] + kinds.map { [.number(Int(own[$0] ?? 0))] }
                            + [[.text(sent > 0 ? "\(opened * 100 / sent) %" : "—")]]
                    }, empty: "No platforms yet.")
            }
            Section("Geofence triggers") {
                Table(
                    "Geofence triggers", ["Geofence", "Location", "#Triggers", "Last"],
                    triggers.map { found in
                        [
                            [.text("\(found.spot.geofence)")], [.text(found.spot.location.map { "\($0)" } ?? "—")],
                            [.number(Int(found.count))], [.time(found.lastAt)],
                        ]
                    }, empty: "No reports yet.")
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
        return .response(
            .file(counts.csv(Self.kinds), named: "analytics-\(counts.period.rawValue).csv", type: "text/csv"))
    }
}

/// Counts of sent, received and opened pushes over a period and the one before, by time and by platform.
///
/// Days are those of the viewer's zone. Counts are stored by the hour: where a zone's midnight is within one, it counts to the day in which it
/// begins.
struct PeriodCounts: Sendable {
    let period: Period
    let until: Instant
    private let zone: ZoneInfo
    /// The hours or days of the period, numbered from 1970.
    let numbers: ClosedRange<Int64>
    private var byNumber: [Int64: AnalyticsCounts] = [:]
    private var activities: [Int64: PlatformActivity] = [:]
    /// The sum over the period.
    private(set) var activity = PlatformActivity()
    private(set) var byPlatform: [Key<Platform>: AnalyticsCounts] = [:]

    init(_ period: Period, until now: Instant, in zone: ZoneInfo = Viewer.current.zone) {
        (self.period, self.zone, until) = (period, zone, now)
        let last = Self.number(of: now, period, zone)
        numbers = (last - period.columns + 1)...last
    }

    private static func number(of instant: Instant, _ period: Period, _ zone: ZoneInfo) -> Int64 {
        period == .day ? instant.bucket(of: .hour) : zone.local(at: instant).day
    }

    func start(of number: Int64) -> Instant {
        period == .day
            ? Instant(bucket: number, of: .hour) : zone.instant(of: LocalTime(day: number, second: 0))
    }

    /// The first moment of the period.
    var from: Instant { start(of: numbers.lowerBound) }

    mutating func add(_ platforms: [Platform], in store: any Store) async throws {
        let start = start(of: numbers.lowerBound - period.columns)
        let found = try await store.counts(on: platforms.map(\.key), from: start, until: until, by: .hour)
        for (platform, buckets) in found { add(buckets, of: platform) }
    }

    /// - Parameter buckets: by the hour.
    mutating func add(_ buckets: [AnalyticsBucket], of platform: Key<Platform>) {
        for bucket in buckets {
            let number = Self.number(of: bucket.start, period, zone)
            byNumber[number, default: [:]].merge(bucket.counts, uniquingKeysWith: +)
            activities[number, default: PlatformActivity()] += bucket.activity
            guard numbers.contains(number) else { continue }
            byPlatform[platform, default: [:]].merge(bucket.counts, uniquingKeysWith: +)
            activity += bucket.activity
        }
    }

    func total(_ kind: AnalyticsKind) -> Int { byPlatform.values.reduce(0) { $0 + Int($1[kind] ?? 0) } }

    private func count(_ kind: AnalyticsKind, _ number: Int64) -> Int { Int(byNumber[number]?[kind] ?? 0) }

    func activity(_ number: Int64) -> PlatformActivity { activities[number] ?? PlatformActivity() }

    func name(_ number: Int64) -> String {
        let local = zone.local(at: start(of: number))
        return period == .day ? local.timeText : local.dayText
    }

    /// The first kind with the period before.
    func chart(_ kinds: [AnalyticsKind] = [.sent, .opened]) -> Chart {
        let words = kinds.map(\.word)
        return Chart(
            "\(words.joined(separator: ", ")), \(period.rawValue)", series: words,
            numbers.map { number in
                Chart.Column(
                    name(number), kinds.map { count($0, number) }, previous: count(kinds[0], number - period.columns))
            })
    }

    /// Parts of what was sent in the same hour or day, which may be more than all: a push is opened later.
    func rates(_ kinds: [AnalyticsKind] = [.opened]) -> Chart {
        let words = kinds.map { "\($0.word) of sent" }
        return Chart(
            "\(words.joined(separator: ", ")), \(period.rawValue)", series: words,
            numbers.map { number in
                let sent = count(.sent, number)
                return Chart.Column(name(number), kinds.map { sent > 0 ? count($0, number) * 1_000 / sent : nil })
            }, unit: .perMille,
            empty: "No app has reported a push as \(kinds.map(\.word).joined(separator: " or ")) in this time.")
    }

    /// A line for each hour or day that has any, with the time of its start.
    func csv(_ kinds: [AnalyticsKind]) -> String {
        let lines = numbers.filter { byNumber[$0] != nil }.map { number in
            ([start(of: number).text] + kinds.map { String(count($0, number)) } + activityCells(number))
                .joined(separator: ",")
        }
        return ([(["start"] + kinds.map(\.word) + Self.activityColumns).joined(separator: ",")] + lines).map {
            $0 + "\r\n"
        }.joined()
    }
}

extension DashboardRequest {
    func counts(of platforms: [Platform], _ period: Period) async throws -> PeriodCounts {
        var counts = PeriodCounts(period, until: services.clock.now)
        try await counts.add(platforms, in: services.store)
        return counts
    }

    var period: Period { Period(rawValue: query["period"]) ?? .week }
}

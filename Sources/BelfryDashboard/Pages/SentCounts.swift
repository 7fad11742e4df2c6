import BelfryService

/// Counts of sent, received and opened pushes over a period, by time and by platform.
struct SentCounts: Sendable {
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
    func counts(of platforms: [Platform], _ period: Period) async throws -> SentCounts {
        var counts = SentCounts(period, until: services.clock.now)
        for platform in platforms {
            counts.add(
                try await services.store.counts(
                    on: platform.key, from: counts.from, until: counts.until, by: period.width), of: platform.key)
        }
        return counts
    }

    var period: Period { Period(rawValue: query["period"]) ?? .week }
}

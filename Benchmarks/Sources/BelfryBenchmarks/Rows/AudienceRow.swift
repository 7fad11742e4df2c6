/// A push to 1,024 topics, of which each device has ten: how soon its first batch is written, and how fast the whole
/// audience is scanned.
struct AudienceRow {
    let environment: BenchmarkEnvironment

    func measure() async throws -> [Row] {
        let (server, crowd) = try await environment.serverWithCrowd()
        let sender = try await Sender(server)
        var (firsts, rates): ([Double], [Double]) = ([], [])
        for _ in 0..<environment.options.rounds {
            let (first, whole) = try await environment.fanOut(to: crowd.count, at: server) {
                try await sender.push(toTopics: topics)
            }
            firsts.append(first)
            rates.append(Double(crowd.count * RegistrationRequests.tagCount) / whole * 1_000)
        }
        return [
            Row(
                what: "audience of 1,024 topics over \(crowd.count.grouped) devices: POST → first batch",
                ours: "\(firsts.median.fixed(0)) ms", target: "≤ 50 ms", isReached: firsts.median <= 50),
            Row(
                what: "its whole scan, in postings", ours: rates.median.perSecond, target: "≥ 1,000,000 /s",
                isReached: rates.median >= 1_000_000),
        ]
    }

    /// All topics that devices are drawn to, their marks, and some that nobody has.
    private var topics: [String] {
        (0..<1_000).map { "topic-\($0)" } + Crowd.Part.allCases.map(\.rawValue) + (1...21).map { "nobody-\($0)" }
    }
}

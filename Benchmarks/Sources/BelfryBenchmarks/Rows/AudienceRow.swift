/// A push to 1,024 topics, of which each device has ten: how soon its first batch is written, and how fast the whole
/// audience is scanned. The provider dawdles meanwhile, so that the fan-out has the cores for itself.
struct AudienceRow {
    let environment: BenchmarkEnvironment

    func measure() async throws -> [Row] {
        let (server, crowd) = try await environment.serverWithCrowd()
        let sender = try await Sender(server)
        var (firsts, rates): ([Double], [Double]) = ([], [])
        for _ in 0..<environment.options.rounds {
            let (first, whole) = try await scan(server, sender, crowd)
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

    /// Milliseconds from the posting to the first batch and to the last.
    private func scan(_ server: Server, _ sender: Sender, _ crowd: Crowd) async throws -> (Double, Double) {
        let before = (fanOut: try await server.fanOut(), answered: try await server.answered())
        try await environment.simulator.delay(by: 3_000)
        let sentAt = try await sender.push(toTopics: topics).sentAt
        while try await server.fanOut() == before.fanOut { try await Task.sleep(for: .milliseconds(1)) }
        let first = WallClock.now - sentAt
        while try await server.fanOut() < before.fanOut + crowd.count { try await Task.sleep(for: .milliseconds(10)) }
        let whole = WallClock.now - sentAt
        try await environment.simulator.delay(by: 0)
        while try await server.answered() < before.answered + crowd.count {
            try await Task.sleep(for: .milliseconds(20))
        }
        return (first, whole)
    }

    /// All topics that devices are drawn to, their marks, and some that nobody has.
    private var topics: [String] {
        (0..<1_000).map { "topic-\($0)" } + Crowd.Part.allCases.map(\.rawValue) + (1...21).map { "nobody-\($0)" }
    }
}

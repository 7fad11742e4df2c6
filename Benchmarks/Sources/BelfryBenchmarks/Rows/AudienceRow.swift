import Foundation

/// A push to 1,024 topics, of which each device has ten: how soon its first page leaves, and how fast the whole audience
/// is walked, while pages of it are delivered on the same cores.
struct AudienceRow {
    let stage: Stage

    func measure() async throws -> [Row] {
        let (server, crowd) = try await stage.serverWithCrowd()
        let sender = try await Sender(server)
        var (firsts, rates): ([Double], [Double]) = ([], [])
        for _ in 0..<3 {
            try await stage.simulator.forget()
            let before = (spread: try await server.spread(), answered: try await server.answered())
            let start = WallClock.now
            let posted = try await sender.push(toTopics: topics)
            while try await server.spread() < before.spread + crowd.count {
                try await Task.sleep(for: .milliseconds(10))
            }
            let seconds = (WallClock.now - start) / 1_000
            rates.append(Double(crowd.count * RegistrationRequests.tagCount) / seconds)
            while try await server.answered() < before.answered + crowd.count {
                try await Task.sleep(for: .milliseconds(20))
            }
            firsts.append(try await server.receipt(posted.receipt).secondsToFirstAnswer() * 1_000)
        }
        return [
            Row(
                what: "audience of 1,024 topics over \(crowd.count.grouped) devices: to the first answer",
                ours: "\(firsts.median.fixed(0)) ms", target: "≤ 50 ms", isReached: firsts.median <= 50),
            Row(
                what: "its whole walk, in postings, beside its delivery", ours: rates.median.perSecond,
                target: "≥ 1,000,000 /s", isReached: rates.median >= 1_000_000),
        ]
    }

    /// All topics that devices are drawn to, their marks, and some that nobody has.
    private var topics: [String] {
        (0..<1_000).map { "topic-\($0)" } + Crowd.Part.allCases.map(\.rawValue) + (1...21).map { "nobody-\($0)" }
    }
}

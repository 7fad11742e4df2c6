/// A push to 64 topics that together have 12 % of the devices of `--scale`, beside one to all.
struct TopicsRow {
    let environment: BenchmarkEnvironment

    func measure() async throws -> [Row] {
        guard environment.options.scale else { throw BenchmarkFault("the topics are those of --scale") }
        let (server, crowd) = try await environment.serverWithCrowd()
        let sender = try await Sender(server)
        let path = WholePath(simulator: environment.simulator, sender: sender)
        let size = World.topicSize(among: crowd.count)
        var (ours, theirs): ([WholePath.Sample], [WholePath.Sample]) = ([], [])
        for _ in 0..<environment.options.longRounds {
            theirs.append(try await path.push(times: 1, to: crowd.count) { try await sender.push(to: .all) })
            ours.append(try await path.push(times: 2, to: size) { try await sender.push(toTopics: World.topics) })
        }
        let ratio = zip(ours, theirs).map { $0.rate / $1.rate }.median
        return [
            Row(
                what: "whole path to the \(size.grouped) devices of \(World.topics.count) topics",
                ours: ours.map(\.rate).median.perSecond,
                reference: "to all \(theirs.map(\.rate).median.perSecond)", ratio: ratio.fixed(2), target: "≥ 0.9",
                isReached: ratio >= 0.9,
                cpu: "\(ours.map(\.cpuPerThousand).median.fixed(1)), \(theirs.map(\.cpuPerThousand).median.fixed(1))",
                memory: ours.map(\.peakMiB).median.fixed(0))
        ]
    }
}

/// From one POST to the last answer, for a hundredth, a tenth and all of the devices, beside h2load on the same
/// simulator.
struct WholePathRows {
    let environment: BenchmarkEnvironment

    private typealias Samples = [Crowd.Part: [WholePath.Sample]]

    func measure() async throws -> [Row] {
        let (server, crowd) = try await environment.serverWithCrowd()
        let sender = try await Sender(server)
        let path = WholePath(simulator: environment.simulator, sender: sender)
        let h2load = try H2Load(environment.simulator)
        var theirs: [H2Load.Result] = []
        var samples: Samples = [:]
        func push(to part: Crowd.Part, times: Int) async throws -> WholePath.Sample {
            try await path.push(times: times, to: crowd.size(of: part)) { try await sender.push(to: part) }
        }
        _ = try await push(to: .few, times: 2)
        for _ in 0..<environment.options.longRounds {
            theirs.append(try await h2load.run(requests: environment.options.quick ? 100_000 : 300_000, connections: 1))
            for part in parts { samples[part, default: []].append(try await push(to: part, times: Self.times(part))) }
        }
        return rows(samples, crowd, theirs)
    }

    /// In the order of their sizes. Of very many devices a hundredth says no more than a tenth.
    private var parts: [Crowd.Part] { environment.options.scale ? [.some, .all] : Crowd.Part.allCases }

    private static func times(_ part: Crowd.Part) -> Int {
        switch part {
        case .few: 10
        case .some: 2
        case .all: 1
        }
    }

    private func rows(_ samples: Samples, _ crowd: Crowd, _ theirs: [H2Load.Result]) -> [Row] {
        func all(_ part: Crowd.Part, _ value: (WholePath.Sample) -> Double) -> [Double] {
            samples[part, default: []].map(value)
        }
        let ratio = zip(all(.all, \.rate), theirs).map { $0 / $1.rate }.median
        let cost = parts.map { part in all(part, \.cpuPerThousand).median }
        let costs = cost.map { $0.fixed(1) }.joined(separator: ", ")
        let peaks = parts.map { part in all(part, \.peakMiB).max() ?? 0 }
        let growth = peaks[peaks.count - 1] / peaks[peaks.count - 2]
        let memory = peaks.map { $0.fixed(0) }.joined(separator: ", ")
        let sizes = parts.map { crowd.size(of: $0).grouped }.joined(separator: ", ")
        let theirCPU = theirs.map(\.cpuPerThousand).median
        return [
            Row(
                what: "whole path, one POST to \(crowd.count.grouped) devices",
                ours: all(.all, \.rate).median.perSecond,
                reference: "h2load \(theirs.map(\.rate).median.perSecond)", ratio: ratio.fixed(2), target: "≥ 0.9",
                isReached: ratio >= 0.9, cpu: "\(cost[cost.count - 1].fixed(1)), \(theirCPU.fixed(1))",
                memory: peaks[peaks.count - 1].fixed(0)),
            costRow(cost, costs, sizes),
            Row(
                what: "its rate at \(sizes)",
                ours: parts.map { all($0, \.rate).median.whole }.joined(separator: ", ") + " /s", target: "told"),
            Row(
                what: "its peak memory at \(sizes)", ours: "\(memory) MiB", ratio: growth.fixed(2),
                target: "≤ 150 MiB, the last two equal", isReached: peaks.allSatisfy { $0 <= 150 } && growth <= 1.1,
                memory: memory),
        ]
    }

    private func costRow(_ cost: [Double], _ costs: String, _ sizes: String) -> Row {
        let (last, before) = (cost[cost.count - 1], cost[cost.count - 2])
        let ratio = environment.options.scale ? last / before : (cost.max() ?? 0) / (cost.min() ?? 0)
        let limit = environment.options.scale ? 1.05 : 1.15
        return Row(
            what: "its CPU per 1,000 at \(sizes)", ours: "\(costs) ms", ratio: ratio.fixed(2),
            target: environment.options.scale ? "≤ 1.05 of the other's" : "≤ 1.15 between most and least",
            isReached: ratio <= limit, cpu: costs)
    }
}

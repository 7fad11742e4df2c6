/// From one POST to the last answer, for a hundredth, a tenth and all of the devices, beside h2load on the same
/// simulator.
struct WholePathRows {
    let environment: BenchmarkEnvironment

    private struct Sample {
        let rate: Double
        let cpuPerThousand: Double
        let peakMiB: Double
    }

    func measure() async throws -> [Row] {
        let (server, crowd) = try await environment.serverWithCrowd()
        let sender = try await Sender(server)
        let h2load = try H2Load(environment.simulator)
        var theirs: [H2Load.Result] = []
        var samples: [Crowd.Part: [Sample]] = [:]
        _ = try await push(to: .few, times: 2, crowd, sender)
        for _ in 0..<environment.options.longRounds {
            theirs.append(try await h2load.run(requests: environment.options.quick ? 100_000 : 300_000, connections: 1))
            for (part, times) in [(Crowd.Part.few, 10), (.some, 2), (.all, 1)] {
                samples[part, default: []].append(try await push(to: part, times: times, crowd, sender))
            }
        }
        return rows(samples, crowd, theirs)
    }

    /// One push after the other, each to the end.
    private func push(to part: Crowd.Part, times: Int, _ crowd: Crowd, _ sender: Sender) async throws -> Sample {
        let server = sender.server
        let size = crowd.size(of: part)
        try await environment.simulator.forget()
        try server.child.meter.resetPeak()
        let before = try await server.answered()
        let cpu = server.child.meter.cpuMilliseconds
        var receipts: [String] = []
        for number in 1...times {
            receipts.append(try await sender.push(to: part).receipt)
            while try await server.answered() < before + number * size { try await Task.sleep(for: .milliseconds(20)) }
        }
        let used = server.child.meter.cpuMilliseconds - cpu
        let peak = server.child.meter.peakMiB
        var seconds = 0.0
        for id in receipts {
            let receipt = try await server.receipt(id)
            guard receipt.state == "settled", receipt.counts == ["accepted": size] else {
                throw BenchmarkFault("a push to \(size) devices ended as \(receipt)")
            }
            seconds += try receipt.seconds()
        }
        return Sample(
            rate: Double(size * times) / seconds, cpuPerThousand: used / Double(size * times) * 1_000, peakMiB: peak)
    }

    private func rows(_ samples: [Crowd.Part: [Sample]], _ crowd: Crowd, _ theirs: [H2Load.Result]) -> [Row] {
        func all(_ part: Crowd.Part, _ value: (Sample) -> Double) -> [Double] { samples[part, default: []].map(value) }
        let cost = Crowd.Part.allCases.map { part in all(part, \.cpuPerThousand).median }
        let spread = (cost.max() ?? 0) / (cost.min() ?? 0)
        let ratio = zip(all(.all, \.rate), theirs).map { $0 / $1.rate }.median
        let peaks = Crowd.Part.allCases.map { part in all(part, \.peakMiB).max() ?? 0 }
        let growth = peaks[2] / peaks[1]
        let memory = peaks.map { $0.fixed(0) }.joined(separator: ", ")
        let sizes = Crowd.Part.allCases.map { crowd.size(of: $0).grouped }
        return [
            Row(
                what: "whole path, one POST to \(sizes[2]) devices", ours: all(.all, \.rate).median.perSecond,
                reference: "h2load \(theirs.map(\.rate).median.perSecond)", ratio: ratio.fixed(2), target: "≥ 0.5",
                isReached: ratio >= 0.5, cpu: "\(cost[2].fixed(1)), \(theirs.map(\.cpuPerThousand).median.fixed(1))",
                memory: peaks[2].fixed(0)),
            Row(
                what: "its CPU per 1,000 at \(sizes.joined(separator: ", "))",
                ours: cost.map { $0.fixed(1) }.joined(separator: ", ") + " ms",
                ratio: spread.fixed(2), target: "≤ 1.15 between most and least", isReached: spread <= 1.15,
                cpu: cost.map { $0.fixed(1) }.joined(separator: ", ")),
            Row(
                what: "its rate at \(sizes.joined(separator: ", "))",
                ours: Crowd.Part.allCases.map { all($0, \.rate).median.whole }.joined(separator: ", ") + " /s",
                target: "told"),
            Row(
                what: "its peak memory at \(sizes.joined(separator: ", "))", ours: "\(memory) MiB",
                ratio: growth.fixed(2),
                target: "≤ 150 MiB, the last two equal", isReached: peaks.allSatisfy { $0 <= 150 } && growth <= 1.1,
                memory: memory),
        ]
    }
}

import Foundation

/// The APNs client alone against the simulator, beside h2load against the same.
struct ClientRows {
    let environment: BenchmarkEnvironment
    let connections: Int
    let latency: Int

    func measure() async throws -> [Row] {
        let simulator =
            latency == 0
            ? environment.simulator
            : try await .start(
                belfry: environment.options.belfry, directory: "\(environment.directory)/simulator-\(latency)",
                latency: latency)
        let h2load = try H2Load(simulator)
        var ours: [Effort] = []
        var theirs: [H2Load.Result] = []
        var peaks: [Double] = []
        _ = try await h2load.run(requests: 20_000, connections: connections)
        for _ in 0..<environment.options.rounds {
            theirs.append(try await h2load.run(requests: requests, connections: connections))
            let (result, peak) = try await client(simulator)
            ours.append(result)
            peaks.append(peak)
        }
        try await simulator.forget()
        if latency > 0 { try await simulator.stop() }
        return rows(ours, peaks, theirs)
    }

    private var requests: Int { environment.options.quick ? 100_000 : 300_000 }

    private func client(_ simulator: Simulator) async throws -> (Effort, Double) {
        let ended = try await Child.run(
            [
                CommandLine.arguments[0], "client", "--port", "\(simulator.port)", "--keys", simulator.keys.directory,
                "--requests", "\(requests)", "--connections", "\(connections)",
            ] + (connections > 1 ? ["--warms-up"] : []), log: "\(environment.directory)/client")
        var result = try Effort(told: ended.output)
        // Without a warm-up the whole process counts, as it does for h2load.
        if connections == 1 {
            result = Effort(
                rate: result.rate, cpuPerThousand: ended.cpuMilliseconds / Double(requests) * 1_000)
        }
        return (result, ended.peakMiB)
    }

    private func rows(_ ours: [Effort], _ peaks: [Double], _ theirs: [H2Load.Result]) -> [Row] {
        let rate = zip(ours, theirs).map { $0.rate / $1.rate }.median
        let cpu = zip(ours, theirs).map { $0.cpuPerThousand / $1.cpuPerThousand }.median
        let (ourCPU, theirCPU) = (ours.map(\.cpuPerThousand).median, theirs.map(\.cpuPerThousand).median)
        let name =
            latency == 0
            ? "APNs client, one connection" : "APNs client, \(connections) connections, answers take \(latency) ms"
        let speed = Row(
            what: name, ours: ours.map(\.rate).median.perSecond,
            reference: "h2load \(theirs.map(\.rate).median.perSecond)",
            ratio: rate.fixed(2), target: "≥ 0.9", isReached: rate >= 0.9,
            cpu: "\(ourCPU.fixed(1)), \(theirCPU.fixed(1))",
            memory: "\(peaks.median.fixed(0)), \(theirs.map(\.peakMiB).median.fixed(0))")
        guard latency == 0 else { return [speed] }
        return [
            speed,
            Row(
                what: "its CPU per 1,000", ours: "\(ourCPU.fixed(2)) ms", reference: "h2load \(theirCPU.fixed(2)) ms",
                ratio: cpu.fixed(2), target: "≤ 1.0", isReached: cpu <= 1.0),
        ]
    }
}

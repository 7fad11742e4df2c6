import Foundation

/// The FCM client alone against the simulator, on one connection, beside h2load with the same bytes against the same.
struct FCMClientRows {
    let environment: BenchmarkEnvironment

    func measure() async throws -> [Row] {
        let provider = try await SimulatedProvider.start(
            "fcm", ["--believing"], upTo: "project-id", belfry: environment.options.belfry,
            directory: "\(environment.directory)/fcm")
        let h2load = try H2Load(fcm: provider)
        var ours: [Ended] = []
        var theirs: [H2Load.Result] = []
        var providersCPU: [Double] = []
        _ = try await h2load.run(requests: 20_000, connections: 1)
        for _ in 0..<environment.options.rounds {
            let cpu = provider.child.meter.cpuMilliseconds
            theirs.append(try await h2load.run(requests: requests, connections: 1))
            providersCPU.append((provider.child.meter.cpuMilliseconds - cpu) / Double(requests) * 1_000)
            ours.append(try await client(provider))
        }
        try await provider.stop()
        return rows(ours, theirs, providersCPU.median)
    }

    private var requests: Int { environment.options.quick ? 50_000 : 150_000 }

    private struct Ended {
        let rate: Double
        /// The CPU time of the whole process, as it is counted for h2load.
        let cpuPerThousand: Double
        let peakMiB: Double
    }

    private func client(_ provider: SimulatedProvider) async throws -> Ended {
        let ended = try await Child.run(
            [
                CommandLine.arguments[0], "fcm-client", "--port", "\(provider.port)",
                "--account", provider.credentialsFile, "--authority", provider.authorityFile,
                "--requests", "\(requests)", "--connections", "1",
            ], log: "\(environment.directory)/fcm-client")
        return Ended(
            rate: try Effort(told: ended.output).rate,
            cpuPerThousand: ended.cpuMilliseconds / Double(requests) * 1_000, peakMiB: ended.peakMiB)
    }

    private func rows(_ ours: [Ended], _ theirs: [H2Load.Result], _ providersCPU: Double) -> [Row] {
        let rate = zip(ours, theirs).map { $0.rate / $1.rate }.median
        let (ourCPU, theirCPU) = (ours.map(\.cpuPerThousand).median, theirs.map(\.cpuPerThousand).median)
        let cpu = zip(ours, theirs).map { $0.cpuPerThousand / $1.cpuPerThousand }.median
        return [
            Row(
                what: "FCM client, one connection", ours: ours.map(\.rate).median.perSecond,
                reference: "h2load \(theirs.map(\.rate).median.perSecond)", ratio: rate.fixed(2), target: "≥ 0.7",
                isReached: rate >= 0.7, cpu: "\(ourCPU.fixed(1)), \(theirCPU.fixed(1))",
                memory: "\(ours.map(\.peakMiB).median.fixed(0)), \(theirs.map(\.peakMiB).median.fixed(0))"),
            Row(
                what: "its CPU per 1,000; the simulated FCM's is \(providersCPU.fixed(1)) ms",
                ours: "\(ourCPU.fixed(2)) ms", reference: "h2load \(theirCPU.fixed(2)) ms", ratio: cpu.fixed(2),
                target: "told"),
        ]
    }
}

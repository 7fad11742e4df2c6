/// The time until one device is notified: by an idle server, and by one that delivers a push to everybody.
struct LatencyRows {
    let environment: BenchmarkEnvironment
    let isBusy: Bool

    func measure() async throws -> [Row] {
        let (server, crowd) = try await environment.serverWithCrowd()
        let sender = try await Sender(server)
        try await Task.sleep(for: .seconds(1))
        return [isBusy ? try await busy(sender, crowd) : try await idle(sender, crowd)]
    }

    private func idle(_ sender: Sender, _ crowd: Crowd) async throws -> Row {
        try await environment.simulator.forget()
        let cpu = sender.server.child.meter.cpuMilliseconds
        let probes = LatencyProbes(simulator: environment.simulator, sender: sender, crowd: crowd)
        let samples = try await probes.tell(crowd.singles.indices.prefix(250), pace: .milliseconds(40))
        let used = (sender.server.child.meter.cpuMilliseconds - cpu) / Double(samples.count) * 1_000
        let waits = samples.map { $0.toldAt - $0.posted.answeredAt }
        return row("one device, idle server: 200 → told, \(waits.count) pushes", waits, limit: 10, cpu: used.fixed(0))
    }

    private func busy(_ sender: Sender, _ crowd: Crowd) async throws -> Row {
        let server = sender.server
        var waits: [Double] = []
        while waits.count < 200 {
            try await environment.simulator.forget()
            let end = try await server.answered() + crowd.count
            _ = try await sender.push(to: .all)
            while try await environment.simulator.toldCount() < crowd.count / 50 {
                try await Task.sleep(for: .milliseconds(5))
            }
            let probes = LatencyProbes(simulator: environment.simulator, sender: sender, crowd: crowd)
            let pace = Duration.milliseconds(environment.options.quick ? 10 : 40)
            // Those of the tail, when the push to everybody is all but over, do not count.
            let samples = try await probes.tell(crowd.singles.indices, pace: pace) {
                try await environment.simulator.toldCount() < crowd.count * 49 / 50
            }
            waits += samples.map { $0.toldAt - $0.posted.sentAt }
            while try await server.answered() < end + samples.count { try await Task.sleep(for: .milliseconds(20)) }
        }
        let what = "one device while \(crowd.count.grouped) are told: POST → told, \(waits.count) pushes"
        return row(what, waits, limit: 50, cpu: "–")
    }

    private func row(_ what: String, _ waits: [Double], limit: Double, cpu: String) -> Row {
        let (half, most, last) = (waits.quantile(0.5), waits.quantile(0.99), waits.max() ?? 0)
        return Row(
            what: what, ours: "p50 \(half.fixed(1)), p99 \(most.fixed(1)), max \(last.fixed(1)) ms",
            target: "p99 ≤ \(limit.whole) ms", isReached: most <= limit, cpu: cpu)
    }
}

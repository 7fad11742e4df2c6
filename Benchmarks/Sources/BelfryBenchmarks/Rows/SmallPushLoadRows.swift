/// Pushes to one device each as a steady load: how long one waits, and what a broadcast and the load leave each other.
struct SmallPushLoadRows {
    let environment: BenchmarkEnvironment
    /// Pushes accepted and delivered per second without any other load.
    let alone: Double

    /// The number of probes: the first half of the devices that get single pushes. The second half is for the load.
    private static let probeCount = Crowd.singleCount / 2

    func measure() async throws -> [Row] {
        let (server, crowd) = try await environment.serverWithCrowd()
        let sender = try await Sender(server)
        let probes = LatencyProbes(simulator: environment.simulator, sender: sender, crowd: crowd)
        return [try await steady(probes), try await besideBroadcast(probes)]
    }

    /// Measures at four fifths of the highest rate.
    private func steady(_ probes: LatencyProbes) async throws -> Row {
        try await environment.simulator.forget()
        let rate = alone * 0.8
        let load = Self.load(probes.sender.server, probes.crowd, rateMax: rate)
        let running = Task { try await load.run() }
        try await Task.sleep(for: .seconds(2))
        let waits = try await probes.tell(0..<Self.probeCount, pace: .milliseconds(40)).map(\.wait)
        await load.stop()
        let sent = try await running.value
        let (half, most) = (waits.quantile(0.5), waits.quantile(0.99))
        return Row(
            what: "one device beside \(rate.perSecond) such pushes: POST → told, \(waits.count) pushes",
            ours: "p50 \(half.fixed(1)), p99 \(most.fixed(1)) ms; the load at \(sent.perSecond)",
            target: "p50 ≤ 10, p99 ≤ 50 ms", isReached: half <= 10 && most <= 50 && sent >= 0.95 * rate)
    }

    private func besideBroadcast(_ probes: LatencyProbes) async throws -> Row {
        let (server, crowd) = (probes.sender.server, probes.crowd)
        let broadcastAlone = try await Self.broadcast(probes.sender, crowd)
        try await environment.simulator.forget()
        let load = Self.load(server, crowd, rateMax: nil)
        let running = Task { try await load.run() }
        try await Task.sleep(for: .seconds(1))
        let (before, begun) = (try await server.urgentBatches(), ContinuousClock.now)
        let ended = Flag()
        let watched = Task {
            let rate = try await Self.broadcast(probes.sender, crowd)
            await ended.raise()
            return (rate, try await server.urgentBatches(), ContinuousClock.now)
        }
        let waits = try await probes.tell(0..<Self.probeCount, pace: .milliseconds(40)) { await !ended.isRaised }
            .map(\.wait)
        let (beside, after, at) = try await watched.value
        await load.stop()
        _ = try await running.value
        let told = Double(after - before) / ((at - begun) / .seconds(1))
        let most = waits.quantile(0.99)
        return Row(
            what: "pushes to one device while \(crowd.count.grouped) are told",
            ours: "\(told.perSecond), p99 \(most.fixed(1)) ms of \(waits.count); the broadcast \(beside.perSecond)",
            reference: "alone \(alone.perSecond); the broadcast \(broadcastAlone.perSecond)",
            ratio: "\((told / alone).fixed(2)), \((beside / broadcastAlone).fixed(2))",
            target: "≥ 0.5 both, p99 ≤ 100 ms",
            isReached: told >= 0.5 * alone && beside >= 0.5 * broadcastAlone && most <= 100)
    }

    /// Sends a push to everybody, to the end. Returns how many devices were notified per second.
    private static func broadcast(_ sender: Sender, _ crowd: Crowd) async throws -> Double {
        let posted = try await sender.push(to: .all)
        while true {
            let receipt = try await sender.server.receipt(posted.receipt)
            if receipt.state == "settled" { return Double(crowd.count) / (try receipt.seconds()) }
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    private actor Flag {
        private(set) var isRaised = false
        func raise() { isRaised = true }
    }

    /// Pushes over 64 connections, to the devices that no probe needs.
    private static func load(_ server: Server, _ crowd: Crowd, rateMax: Double?) -> SteadyLoad {
        let requests = SmallPushRequests(
            path: "/v1/push", port: server.port, credentials: server.identity.sender,
            targets: crowd.singles.dropFirst(probeCount).map { #"{"devices":["\#($0)"]}"# })
        let load = HTTPLoad(port: server.port, connections: 64, write: requests.write, rateMax: rateMax)
        // Numbers of an earlier run would repeat its idempotency keys.
        return SteadyLoad(load, from: Int(WallClock.now) % 1_000_000_000 * 1_000)
    }
}

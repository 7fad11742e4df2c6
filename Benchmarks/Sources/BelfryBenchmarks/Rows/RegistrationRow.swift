/// Durable registrations on a full table, beside a route that only decodes the same bodies.
struct RegistrationRow {
    let environment: BenchmarkEnvironment

    func measure() async throws -> [Row] {
        let (server, crowd) = try await environment.serverWithCrowd()
        let port = try freePort()
        let decoder = try Child(
            [CommandLine.arguments[0], "decoder", "--port", "\(port)"], log: "\(environment.directory)/decoder")
        _ = try await decoder.expect("the decoder") { $0.contains("ready") ? true : nil }
        let credentials = server.identity.app
        let ours = HTTPLoad(
            port: server.port, connections: 64,
            write: RegistrationRequests(path: "/v1/registration", port: server.port, credentials: credentials).write)
        let theirs = HTTPLoad(
            port: port, connections: 64,
            write: RegistrationRequests(path: "/decode", port: port, credentials: credentials).write)
        _ = try await theirs.run(0..<5_000)
        var next = 1_500_000_000 + Int.random(in: 0..<1_000_000_000)
        var (ourLoads, theirLoads): ([Load], [Load]) = ([], [])
        try server.child.meter.resetPeak()
        for _ in 0..<environment.options.rounds {
            ourLoads.append(try await load(ours, next..<next + count, server.child))
            theirLoads.append(try await load(theirs, next..<next + 2 * count, decoder))
            next += 2 * count
        }
        let peak = server.child.meter.peakMiB
        let theirPeak = decoder.meter.peakMiB
        try await decoder.stop()
        let ratio = zip(ourLoads, theirLoads).map { $0.rate / $1.rate }.median
        return [
            Row(
                what: "durable registrations with ten tags, on \(crowd.count.grouped) devices",
                ours: ourLoads.map(\.rate).median.perSecond,
                reference: "decoding alone \(theirLoads.map(\.rate).median.perSecond)", ratio: ratio.fixed(2),
                target: "≥ 0.5", isReached: ratio >= 0.5,
                cpu: "\(ourLoads.map(\.cpu).median.fixed(0)), \(theirLoads.map(\.cpu).median.fixed(0))",
                memory: "\(peak.fixed(0)), \(theirPeak.fixed(0))")
        ]
    }

    private var count: Int { environment.options.quick ? 20_000 : 40_000 }

    private struct Load {
        let rate: Double
        let cpu: Double
    }

    private func load(_ load: HTTPLoad, _ numbers: Range<Int>, _ child: Child) async throws -> Load {
        let cpu = child.meter.cpuMilliseconds
        let rate = try await load.run(numbers)
        return Load(rate: rate, cpu: (child.meter.cpuMilliseconds - cpu) / Double(numbers.count) * 1_000)
    }
}

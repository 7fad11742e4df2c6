/// Durable registrations on a full table, new ones and the same once more, beside a route that only decodes the same bodies.
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
        var (newLoads, sameLoads, theirLoads): ([Load], [Load], [Load]) = ([], [], [])
        try server.child.meter.resetPeak()
        for _ in 0..<environment.options.rounds {
            newLoads.append(try await load(ours, next..<next + count, server.child, until: server.waitUntilIdle))
            sameLoads.append(try await load(ours, next..<next + count, server.child))
            theirLoads.append(try await load(theirs, next..<next + 2 * count, decoder))
            next += 2 * count
        }
        let peak = server.child.meter.peakMiB
        let theirPeak = decoder.meter.peakMiB
        try await decoder.stop()
        func row(_ what: String, _ ourLoads: [Load], target: Double) -> Row {
            let ratio = zip(ourLoads, theirLoads).map { $0.rate / $1.rate }.median
            let rate = ourLoads.map(\.rate).median
            return Row(
                what: "\(what), on \(crowd.count.grouped) devices",
                ours: "\(rate.perSecond), \(ourLoads.map(\.written).median.whole) bytes written for each",
                reference: "decoding alone \(theirLoads.map(\.rate).median.perSecond)", ratio: ratio.fixed(2),
                target: "≥ \(target)", isReached: ratio >= target,
                cpu: "\(ourLoads.map(\.cpu).median.fixed(0)), \(theirLoads.map(\.cpu).median.fixed(0))",
                memory: "\(peak.fixed(0)), \(theirPeak.fixed(0))")
        }
        return [
            row("durable registrations with ten tags", newLoads, target: 0.65),
            row("registrations of devices that come back unchanged", sameLoads, target: 0.9),
        ]
    }

    private var count: Int { environment.options.quick ? 20_000 : 40_000 }

    private struct Load {
        let rate: Double
        let cpu: Double
        /// The bytes given to the disk for each.
        let written: Double
    }

    /// - Parameter done: CPU and bytes count until it returns: postings, tokens and the search index of new devices are merged some thousand
    ///   at a time, which would count as the next load's.
    private func load(
        _ load: HTTPLoad, _ numbers: Range<Int>, _ child: Child, until done: () async throws -> Void = {}
    ) async throws -> Load {
        let (cpu, written, count) = (child.meter.cpuMilliseconds, child.meter.writtenBytes, Double(numbers.count))
        let rate = try await load.run(numbers)
        try await done()
        return Load(
            rate: rate, cpu: (child.meter.cpuMilliseconds - cpu) / count * 1_000,
            written: (child.meter.writtenBytes - written) / count)
    }
}

import Foundation

/// Pushes to one device each, accepted and told, beside a route that only decodes the same bodies, and on PostgreSQL beside
/// single-row inserts.
struct SmallPushRows {
    let environment: BenchmarkEnvironment

    func measure() async throws -> [Row] {
        let (server, crowd) = try await environment.serverWithCrowd()
        let embedded = try await embeddedRow(server, crowd)
        let database = try await Postgres.start()
        do {
            let rows = [embedded, try await postgresRow(database)]
            try await database.stop()
            return rows
        } catch {
            try await database.stop()
            throw error
        }
    }

    private var count: Int { environment.options.quick ? 20_000 : 100_000 }

    private struct Load {
        /// Pushes a second: accepted, and accepted and told.
        let accepted: Double
        let told: Double
        /// Milliseconds of the server for 1,000.
        let cpu: Double
    }

    private func embeddedRow(_ server: Server, _ crowd: Crowd) async throws -> Row {
        let port = try freePort()
        let decoder = try Child(
            [CommandLine.arguments[0], "decoder", "--port", "\(port)"], log: "\(environment.directory)/push-decoder")
        _ = try await decoder.expect("the decoder") { $0.contains("ready") ? true : nil }
        let theirs = HTTPLoad(
            port: port, connections: 64,
            write: SmallPushRequests(
                path: "/decode-push", port: port, credentials: server.identity.sender, devices: crowd.singles
            ).write)
        _ = try await theirs.run(0..<5_000)
        var (ours, decoded, decoderCPU): ([Load], [Double], [Double]) = ([], [], [])
        for round in 0..<environment.options.rounds {
            ours.append(try await push(at: server, crowd, round))
            let cpu = decoder.meter.cpuMilliseconds
            decoded.append(try await theirs.run(0..<count))
            decoderCPU.append((decoder.meter.cpuMilliseconds - cpu) / Double(count) * 1_000)
        }
        try await decoder.stop()
        let ratio = zip(ours, decoded).map { $0.told / $1 }.median
        let (cpu, theirCPU) = (ours.map(\.cpu).median, decoderCPU.median)
        return Row(
            what: "pushes to one device, accepted and told, on \(crowd.count.grouped) devices",
            ours: "\(ours.map(\.told).median.perSecond), accepted at \(ours.map(\.accepted).median.perSecond)",
            reference: "decoding alone \(decoded.median.perSecond)", ratio: ratio.fixed(2),
            target: "≥ 0.4, CPU ≤ 2.5 ×", isReached: ratio >= 0.4 && cpu <= 2.5 * theirCPU,
            cpu: "\(cpu.fixed(0)), \(theirCPU.fixed(0))")
    }

    private func postgresRow(_ database: Postgres) async throws -> Row {
        let directory = "\(environment.directory)/small-postgres"
        // Those of an earlier run are of another database.
        try? FileManager.default.removeItem(atPath: directory)
        let server = try await Server.start(
            belfry: environment.options.belfry, directory: directory, simulator: environment.simulator,
            database: database.url)
        let (crowd, _) = try await Crowd.register(count: 10_000, at: server, in: directory)
        var (ours, theirs): ([Load], [Double]) = ([], [])
        for round in 0..<environment.options.rounds {
            ours.append(try await push(at: server, crowd, round))
            theirs.append(
                try await database.singleInserts(clients: 64, seconds: environment.options.quick ? 5 : 10))
        }
        try await server.stop()
        let ratio = zip(ours, theirs).map { $0.told / $1 }.median
        return Row(
            what: "pushes to one device on PostgreSQL, accepted and told",
            ours: "\(ours.map(\.told).median.perSecond), accepted at \(ours.map(\.accepted).median.perSecond)",
            reference: "pgbench, single rows \(theirs.median.perSecond)", ratio: ratio.fixed(2), target: "≥ 0.35",
            isReached: ratio >= 0.35, cpu: ours.map(\.cpu).median.fixed(0))
    }

    /// Posts them over 64 connections, and waits until the last is told.
    private func push(at server: Server, _ crowd: Crowd, _ round: Int) async throws -> Load {
        let requests = SmallPushRequests(
            path: "/v1/push", port: server.port, credentials: server.identity.sender, devices: crowd.singles)
        let load = HTTPLoad(port: server.port, connections: 64, write: requests.write)
        let end = try await server.answered() + count
        let cpu = server.child.meter.cpuMilliseconds
        // Its idempotency keys are not those of another round, or of another run.
        let first = (Int(WallClock.now) / 1_000 % 1_000_000 * 10 + round) * 1_000_000
        let started = ContinuousClock.now
        let accepted = try await load.run(first..<first + count)
        while try await server.answered() < end { try await Task.sleep(for: .milliseconds(20)) }
        let seconds = (ContinuousClock.now - started) / .seconds(1)
        return Load(
            accepted: accepted, told: Double(count) / seconds,
            cpu: (server.child.meter.cpuMilliseconds - cpu) / Double(count) * 1_000)
    }
}

import Foundation

/// Pushes to one device each, accepted and delivered, beside a route that only decodes the same bodies, and on PostgreSQL beside
/// single-row inserts.
struct SmallPushRows {
    let environment: BenchmarkEnvironment

    func measure() async throws -> [Row] {
        let (server, crowd) = try await environment.serverWithCrowd()
        let (embedded, alone) = try await embeddedRow(server, crowd)
        if environment.options.scale { return [embedded] }
        let users = try await userRow(server, crowd, alone: alone)
        let load = try await SmallPushLoadRows(environment: environment, alone: alone).measure()
        let database = try await Postgres.start()
        do {
            let rows = [embedded, users] + load + (try await postgresRows(database))
            try await database.stop()
            return rows
        } catch {
            try await database.stop()
            throw error
        }
    }

    var count: Int { environment.options.quick ? 20_000 : 30_000 }

    struct Load {
        /// Pushes per second: accepted, and accepted and delivered.
        let accepted: Double
        let told: Double
        /// Milliseconds of the server for 1,000.
        let cpu: Double
    }

    /// The row, and how many pushes were delivered per second.
    private func embeddedRow(_ server: Server, _ crowd: Crowd) async throws -> (Row, alone: Double) {
        let port = try freePort()
        let decoder = try Child(
            [CommandLine.arguments[0], "decoder", "--port", "\(port)"], log: "\(environment.directory)/push-decoder")
        _ = try await decoder.expect("the decoder") { $0.contains("ready") ? true : nil }
        let theirs = HTTPLoad(
            port: port, connections: 64,
            write: SmallPushRequests(
                path: "/decode-push", port: port, credentials: server.identity.sender,
                targets: crowd.singles.map { #"{"devices":["\#($0)"]}"# }
            ).write)
        _ = try await theirs.run(0..<5_000)
        var (ours, decoded, decoderCPU): ([Load], [Double], [Double]) = ([], [], [])
        for round in 0..<environment.options.rounds {
            ours.append(try await push(at: [server], crowd, round))
            let cpu = decoder.meter.cpuMilliseconds
            decoded.append(try await theirs.run(0..<count))
            decoderCPU.append((decoder.meter.cpuMilliseconds - cpu) / Double(count) * 1_000)
        }
        try await decoder.stop()
        let ratio = zip(ours, decoded).map { $0.told / $1 }.median
        let (cpu, theirCPU) = (ours.map(\.cpu).median, decoderCPU.median)
        let row = Row(
            what: "pushes to one device, accepted and told, on \(crowd.count.grouped) devices",
            ours: "\(ours.map(\.told).median.perSecond), accepted at \(ours.map(\.accepted).median.perSecond)",
            reference: "decoding alone \(decoded.median.perSecond)", ratio: ratio.fixed(2),
            target: "≥ 0.35, CPU ≤ 3 ×", isReached: ratio >= 0.35 && cpu <= 3 * theirCPU,
            cpu: "\(cpu.fixed(0)), \(theirCPU.fixed(0))")
        return (row, ours.map(\.told).median)
    }

    /// Pushes to a user with two devices on one platform and one on another.
    private func userRow(_ server: Server, _ crowd: Crowd, alone: Double) async throws -> Row {
        let users = try await server.registerUsers(Crowd.singleCount, by: environment.simulator)
        var ours: [Load] = []
        for round in 0..<environment.options.rounds {
            ours.append(
                try await push(
                    at: [server], crowd, 50 + round, devicesEach: 3,
                    targets: users.map { #"{"custom_user_ids":["\#($0)"]}"# }))
        }
        let ratio = ours.map(\.told).median / alone
        return Row(
            what: "pushes to a custom user id with three devices on two platforms",
            ours: ours.map(\.told).median.perSecond, reference: "to a device \(alone.perSecond)",
            ratio: ratio.fixed(2), target: "≥ 0.6", isReached: ratio >= 0.6, cpu: ours.map(\.cpu).median.fixed(0))
    }

    private func postgresRows(_ database: Postgres) async throws -> [Row] {
        let directory = "\(environment.directory)/small-postgres"
        // Those of an earlier run are of another database.
        try? FileManager.default.removeItem(atPath: directory)
        let server = try await Server.start(
            belfry: environment.options.belfry, directory: directory, simulator: environment.simulator,
            database: database.url)
        let (crowd, _) = try await Crowd.register(count: 10_000, at: server, in: directory)
        var (ours, theirs, logged): ([Load], [Double], [Double]) = ([], [], [])
        for round in 0..<environment.options.rounds {
            let before = try await database.logBytes()
            ours.append(try await push(at: [server], crowd, round))
            logged.append((try await database.logBytes() - before) / Double(count))
            theirs.append(
                try await database.singleInserts(clients: 64, seconds: environment.options.quick ? 5 : 10))
        }
        let second = try await Server.start(beside: server, directory: "\(directory)-2")
        var together: [Load] = []
        for round in 0..<environment.options.rounds {
            together.append(try await push(at: [server, second], crowd, environment.options.rounds + round))
        }
        try await second.stop()
        try await server.stop()
        let ratio = zip(ours, theirs).map { $0.told / $1 }.median
        let alone = ours.map(\.told).median
        let row = Row(
            what: "pushes to one device on PostgreSQL, accepted and told",
            ours: "\(ours.map(\.told).median.perSecond), accepted at \(ours.map(\.accepted).median.perSecond)",
            reference: "pgbench, single rows \(theirs.median.perSecond)", ratio: ratio.fixed(2), target: "≥ 0.3",
            isReached: ratio >= 0.3, cpu: ours.map(\.cpu).median.fixed(0))
        return [
            row,
            Row(
                what: "the log of PostgreSQL for one of them", ours: "\(logged.median.whole) bytes",
                target: "≤ 1,000 bytes", isReached: logged.median <= 1_000),
            Row(
                what: "the same at two nodes on the same cores", ours: together.map(\.told).median.perSecond,
                reference: "one node \(alone.perSecond)", ratio: (together.map(\.told).median / alone).fixed(2),
                target: "≥ 1",
                isReached: together.map(\.told).median >= alone),
        ]
    }

    /// Posts them over 64 connections, a share at each node, and waits until the last device is notified.
    ///
    /// - Parameters:
    ///   - count: how many; as many as for the rows without it.
    ///   - devicesEach: how many a push tells.
    ///   - targets: told in turn; one device each without them.
    func push(
        at nodes: [Server], _ crowd: Crowd, _ round: Int, count: Int? = nil, devicesEach: Int = 1,
        targets: [String]? = nil
    ) async throws -> Load {
        let count = count ?? self.count
        let targets = targets ?? crowd.singles.map { #"{"devices":["\#($0)"]}"# }
        // Its idempotency keys are not those of another round, or of another run.
        let first = (Int(WallClock.now) / 1_000 % 1_000_000 * 100 + round) * 1_000_000
        let (end, cpu) = (try await answered(nodes) + count * devicesEach, cpuMilliseconds(nodes))
        let started = ContinuousClock.now
        let accepted = try await withThrowingTaskGroup(of: Double.self) { group in
            for (place, node) in nodes.enumerated() {
                let requests = SmallPushRequests(
                    path: "/v1/push", port: node.port, credentials: node.identity.sender, targets: targets)
                let load = HTTPLoad(port: node.port, connections: 64 / nodes.count, write: requests.write)
                let share = count / nodes.count
                group.addTask { try await load.run(first + place * share..<first + (place + 1) * share) }
            }
            return try await group.reduce(0, +)
        }
        while try await answered(nodes) < end { try await Task.sleep(for: .milliseconds(20)) }
        return Load(
            accepted: accepted, told: Double(count) / ((ContinuousClock.now - started) / .seconds(1)),
            cpu: (cpuMilliseconds(nodes) - cpu) / Double(count) * 1_000)
    }

    private func answered(_ nodes: [Server]) async throws -> Int {
        var sum = 0
        for node in nodes { sum += try await node.answered() }
        return sum
    }

    private func cpuMilliseconds(_ nodes: [Server]) -> Double {
        nodes.reduce(0) { $0 + $1.child.meter.cpuMilliseconds }
    }
}

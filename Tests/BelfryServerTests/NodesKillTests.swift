import BelfryService
import BelfrySimulators
import BelfryTesting
import Foundation
import PostgresRig
import Testing

/// Three real programs on one PostgreSQL: the programs are ended by `kill -9` again and again while they deliver, and so is
/// the database.
///
/// See docs/Architecture.md, "What must always hold", 1 to 3. `NODES_DEVICES=300000` has so many devices.
extension CrashTests {
    @Suite struct NodesKillTests {
        @Test(.timeLimit(.minutes(20)))
        func `killed nodes and database lose nothing, repeat only in-flight`()
            async throws
        {
            try await Scratch.with { scratch in
                try await PostgresServer.with { database in
                    let settings = [
                        "data.directory": scratch.file("data"), "key.ring.file": scratch.file("key-ring"),
                        "database.url": database.url(of: "postgres"),
                    ]
                    try await TestSystem.with(settings, latency: NodesScenario.latency) { system in
                        let scenario = try await NodesScenario(scratch, database, system)
                        defer { scenario.endAllAtOnce() }
                        try await scenario.play()
                    }
                }
            }
        }
    }
}

/// One push to everyone, pushes to single devices beside it, and two hands at the switches.
private struct NodesScenario: Sendable {
    let database: PostgresServer
    let system: TestSystem
    let nodes: [NodeProgram]
    let everyone: Crowd
    let singles: Crowd
    let seed = drawKillSeed()

    private static let batchesInFlightMax = 1
    private static let devices = ProcessInfo.processInfo.environment["NODES_DEVICES"].flatMap { Int($0) } ?? 8_000
    /// Fewer devices are notified more slowly, so that there is time to be killed in.
    static let latency = devices < 10_000 ? 1_500 : devices < 100_000 ? 600 : 300
    /// From one kill to the next, and until a killed node is started again.
    private static let lifeSeconds = 0.5...2.5
    private static let downSeconds = 0.0...0.7
    /// When the database fails, as shares of the push.
    private static let databaseFaults: [(share: Double, fault: @Sendable (PostgresServer) throws -> Void)] = [
        (0.2, { try $0.restart() }), (0.45, { try $0.killAndRestart() }), (0.7, { try $0.restart() }),
    ]

    init(_ scratch: Scratch, _ database: PostgresServer, _ system: TestSystem) async throws {
        self.database = database
        self.system = system
        nodes = (1...3).map { number in
            NodeProgram(
                number, in: scratch, database: database.url(of: "postgres"), keyRing: scratch.file("key-ring"),
                ["BELFRY_DELIVERY_BATCHES_MAX": "\(Self.batchesInFlightMax)"])
        }
        everyone = try await system.crowd(Self.devices, topics: ["town"], seed: 1)
        singles = try await system.crowd(1_000, seed: 2)
    }

    func play() async throws {
        for node in nodes { try await node.start() }
        let town = try await system.sender(at: nodes[0].address ?? "").push("Town hall this Thursday", toTopic: "town")
        let end = Flag()
        async let posts = postSingles(until: end)
        async let faults: Void = failDatabase()
        let kills = try await killNodes()
        try await faults
        end.raise()
        let posted = try await posts
        print("\(kills) kills of nodes, \(Self.databaseFaults.count) faults of the database")
        try await reckon(town, posted, kills: kills)
        for node in nodes { try await node.stop() }
    }

    func endAllAtOnce() { for node in nodes { node.endAtOnce() } }

    // MARK: The hands

    private func isTold(_ share: Double) -> Bool {
        Double(system.simulator.ledger.totals().told) >= share * Double(everyone.count)
    }

    /// Ends nodes while the push goes out, one or two at a time, and returns how many.
    private func killNodes() async throws -> Int {
        var dice = SplitMix64(seed: seed)
        var kills = 0
        while !isTold(0.9) {
            try await Task.sleep(for: dice.duration(Self.lifeSeconds))
            let victims = dice.chance(0.3) ? [dice.pick(nodes), dice.pick(nodes)] : [dice.pick(nodes)]
            for node in victims { kills += try await node.kill() ? 1 : 0 }
            try await Task.sleep(for: dice.duration(Self.downSeconds))
            for node in victims { try await node.start() }
        }
        #expect(kills >= 3, "the push was over too soon; slow it down")
        return kills
    }

    private func failDatabase() async throws {
        for (share, fault) in Self.databaseFaults {
            try await eventually("the push gets on", within: .seconds(300)) { isTold(share) }
            try await offThePool { try fault(database) }
        }
    }

    private func postSingles(until end: Flag) async throws -> [TestSystem.Posted] {
        var dice = SplitMix64(seeds: seed, 2)
        return try await system.post(
            toEachOf: singles, every: .milliseconds(20), until: { end.isRaised }, at: { dice.pick(nodes).address })
    }

    // MARK: The reckoning

    private func reckon(_ town: UUID, _ posted: [TestSystem.Posted], kills: Int) async throws {
        try await system.withStore { store in
            let repeats = try await system.expectAllTold(everyone, by: town, in: store).repeats
            // A fault of the database is one of every node, whose batches may lapse meanwhile.
            let faults = kills + Self.databaseFaults.count * nodes.count
            #expect(repeats <= faults * Self.batchesInFlightMax * Batch.devicesMax, "more was in flight than may be")
            try await system.expectTold(posted, in: store)
        }
    }
}

/// Runs what blocks on a thread of its own.
private func offThePool(_ body: @escaping @Sendable () throws -> Void) async throws {
    try await withCheckedThrowingContinuation { continuation in
        DispatchQueue.global().async { continuation.resume(with: Swift.Result { try body() }) }
    }
}

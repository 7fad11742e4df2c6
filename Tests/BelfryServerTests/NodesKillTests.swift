import BelfryCore
import BelfryServer
import BelfrySimulators
import BelfryTesting
import Foundation
import PostgresRig
import Testing

/// Three real programs on one PostgreSQL: the programs are ended by `kill -9` again and again while they deliver, and so is
/// the database.
///
/// See docs/Architecture.md, "What must always hold", 1 to 3. `NODES_DEVICES=300000` has so many devices.
extension ServerTests {
    @Suite struct NodesKillTests {
        @Test(.timeLimit(.minutes(15)))
        func `nodes and their database killed inside one push lose nothing and repeat no more than was in the air`()
            async throws
        {
            try await Scratch.with { scratch in
                let database = try PostgresServer()
                defer { database.discard() }
                let scene = try await NodesScene.make(in: scratch, database)
                let result = await Result { try await scene.play() }
                scene.endAllAtOnce()
                try await scene.simulator.shutdown()
                try result.get()
            }
        }
    }
}

/// One push to everyone, pushes to single devices beside it, and two hands at the switches.
private struct NodesScene: Sendable {
    let simulator: APNsSimulator
    let database: PostgresServer
    let nodes: [NodeProgram]
    let storage: [String: String]
    let everyone: Crowd
    let singles: Crowd
    let sender: Caller
    let seed: UInt64

    private static let pagesInAirMax = 1
    private static let devices = ProcessInfo.processInfo.environment["NODES_DEVICES"].flatMap { Int($0) } ?? 20_000
    /// Fewer devices are told more slowly, so that there is time to be killed in.
    private static let latency = devices < 100_000 ? 600 : 300
    /// From one kill to the next, and until a killed node is started again.
    private static let lifeSeconds = 0.5...2.5
    private static let deathSeconds = 0.0...0.7
    /// When the database fails, as shares of the push.
    private static let databaseFaults: [(share: Double, fault: @Sendable (PostgresServer) throws -> Void)] = [
        (0.2, { try $0.restart() }), (0.45, { try $0.killAndRestart() }), (0.7, { try $0.restart() }),
    ]

    static func make(in scratch: Scratch, _ database: PostgresServer) async throws -> NodesScene {
        let key = APNsSimulator.IssuedKey()
        var simulation = APNsSimulator.Configuration()
        simulation.authentication = .tokens([key.known])
        let simulator = try await APNsSimulator.start(simulation)
        simulator.script.set(APNsScript(latencyMilliseconds: latency))
        let storage = [
            "data.directory": scratch.file("data"), "key.ring.file": scratch.file("key-ring"),
            "database.url": database.url(of: "postgres"),
        ]
        let (application, everyone, singles) = try await withPremises(storage) { premises in
            let administration = premises.administration
            let application = try await administration.createApplication(name: "Bakery")
            let platform = try await administration.createPlatform(
                of: application.application, kind: .ios, mode: .development, name: "iOS",
                credentials: House.credentials(key, of: simulator)
            ).platform
            return (
                application,
                try await Crowd.register(devices, topics: ["town"], on: platform, in: premises.store, seed: 1),
                try await Crowd.register(1_000, on: platform, in: premises.store, seed: 2)
            )
        }
        let seed =
            ProcessInfo.processInfo.environment["KILL_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0..<1_000_000)
        print("KILL_SEED=\(seed)")
        return NodesScene(
            simulator: simulator, database: database,
            nodes: (1...3).map {
                NodeProgram(
                    $0, in: scratch, database: database.url(of: "postgres"), keyRing: scratch.file("key-ring"),
                    ["BELFRY_DELIVERY_PAGES_MAX": "\(pagesInAirMax)"])
            }, storage: storage,
            everyone: everyone, singles: singles,
            sender: Caller(base: "", user: application.application.uuid.lowercased, secret: application.apiKey),
            seed: seed)
    }

    func play() async throws {
        for node in nodes { try await node.start() }
        let town = try await caller(at: nodes[0]).push("Town hall this Thursday", toTopic: "town")
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

    private func caller(at node: NodeProgram) -> Caller {
        Caller(base: node.address ?? "", user: sender.user, secret: sender.secret)
    }

    // MARK: The hands

    private func isTold(_ share: Double) -> Bool {
        Double(simulator.ledger.totals().told) >= share * Double(everyone.count)
    }

    /// Ends nodes while the push goes out, one or two at a time, and returns how many.
    private func killNodes() async throws -> Int {
        var dice = SplitMix64(seed: seed)
        var kills = 0
        while !isTold(0.9) {
            try await Task.sleep(for: dice.duration(Self.lifeSeconds))
            let victims = dice.chance(0.3) ? [dice.pick(nodes), dice.pick(nodes)] : [dice.pick(nodes)]
            for node in victims { kills += try await node.kill() ? 1 : 0 }
            try await Task.sleep(for: dice.duration(Self.deathSeconds))
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

    private struct Posted: Sendable {
        let receiptID: UUID
        let device: Device
    }

    /// Posts a push to one device after another, and keeps those that a node said it took.
    private func postSingles(until end: Flag) async throws -> [Posted] {
        var dice = SplitMix64(seeds: seed, 2)
        var posted: [Posted] = []
        for device in singles.devices {
            guard !end.isRaised else { break }
            let node = dice.pick(nodes)
            if node.address != nil, let id = try? await caller(at: node).push("Your bread is ready", to: device.uuid) {
                posted.append(Posted(receiptID: id, device: device))
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        return posted
    }

    // MARK: The reckoning

    private func reckon(_ town: UUID, _ posted: [Posted], kills: Int) async throws {
        try await Self.withPremises(storage) { premises in
            let store = premises.store
            let receipt = try await eventually("the push to everyone is settled", within: .seconds(120)) {
                let receipt = try await store.receipt(town)
                return receipt?.state == .settled ? receipt : nil
            }
            #expect(receipt.counts.filter { $0.value > 0 } == [.accepted: everyone.count])
            let answers = try await store.answerCounts(of: receipt.push.key)
            #expect(Array(answers.values) == [[.accepted: everyone.count]], "counters differ from answers")
            let times = everyone.devices.map { told($0) }
            let lost = times.count { $0 == 0 }
            let repeats = times.reduce(0, +) - (times.count - lost)
            print("\(repeats) of \(times.count) devices were told again, \(lost) lost")
            #expect(lost == 0, "lost devices")
            // A fault of the database is one of every node, whose pages may lapse meanwhile.
            let faults = kills + Self.databaseFaults.count * nodes.count
            #expect(repeats <= faults * Self.pagesInAirMax * Page.devicesMax, "more was in the air than may be")
            #expect(!posted.isEmpty, "no push was accepted between the kills")
            for push in posted {
                let receipt = try await eventually("an accepted push is settled") {
                    let receipt = try #require(try await store.receipt(push.receiptID), "an accepted push is lost")
                    return receipt.state == .settled ? receipt : nil
                }
                #expect(receipt.counts.filter { $0.value > 0 } == [.accepted: 1])
                #expect(told(push.device) >= 1)
            }
            print("\(posted.count) pushes were accepted between the kills, 0 lost")
        }
    }

    private func told(_ device: Device) -> Int { device.token.flatMap { simulator.ledger.token($0.bytes) }?.told ?? 0 }

    private static func withPremises<Value>(
        _ storage: [String: String], _ body: (Premises) async throws -> Value
    ) async throws -> Value {
        let premises = try await Premises(.load(flags: storage, environment: [:]), logger: LogBook().logger)
        let result = await Result { try await body(premises) }
        try await premises.close()
        return try result.get()
    }
}

/// Runs what blocks on a thread of its own.
private func offThePool(_ body: @escaping @Sendable () throws -> Void) async throws {
    try await withCheckedThrowingContinuation { continuation in
        DispatchQueue.global().async { continuation.resume(with: Swift.Result { try body() }) }
    }
}

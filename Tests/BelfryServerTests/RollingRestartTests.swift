import BelfryServer
import BelfryService
import BelfrySimulators
import BelfryTesting
import Foundation
import PostgresRig
import Testing

/// Three nodes on one PostgreSQL, each stopped and started again in its turn while requests go on, as an upgrade does.
extension CrashTests {
    @Suite struct RollingRestartTests {
        @Test(.timeLimit(.minutes(20)))
        func
            `nodes restarted in turn under load lose and double nothing`()
            async throws
        {
            try await PostgresServer.with { database in
                try await TestInstallation.with(database: database.url(of: "postgres")) { installation in
                    let scenario = try await RollingScenario.make(in: installation)
                    let result = await Result { try await scenario.play() }
                    for node in scenario.nodes { node.endAtOnce() }
                    try result.get()
                }
            }
        }
    }
}

/// One push to everyone; apps that register and back ends that push beside it, all through a load balancer.
private struct RollingScenario: Sendable {
    let installation: TestInstallation
    let nodes: [NodeProgram]
    let balancer: Balancer
    let everyone: Crowd
    let singles: Crowd

    /// Slow enough that the push outlives three restarts.
    private static let devices = 16_000
    private static let latency = 2_000
    private static let batchesInFlightMax = 2
    /// The part of the push that is out when each node is stopped.
    private static let shares = [0.05, 0.3, 0.55]
    private static let hands = 3
    /// A push to one device takes a place in flight as one to 500 does, and there are few.
    private static let registrationsForAPush = 25

    static func make(in installation: TestInstallation) async throws -> RollingScenario {
        let database = try #require(installation.database)
        let nodes = (1...3).map { number in
            NodeProgram(
                number, in: installation.scratch, database: database, keyRing: installation.data + "/key-ring",
                [
                    "BELFRY_DELIVERY_BATCHES_MAX": "\(batchesInFlightMax)",
                    // Nothing is killed, so nothing waits for the end of a lease; and no answer is given up.
                    "BELFRY_DELIVERY_LEASE_SECONDS": "120", "BELFRY_APNS_DEADLINE_SECONDS": "20",
                ])
        }
        installation.simulator.script.set(ServiceScript(latencyMilliseconds: latency))
        return RollingScenario(
            installation: installation, nodes: nodes, balancer: Balancer(nodes),
            everyone: try await installation.crowd(devices),
            singles: try await installation.crowd(600, topics: [], seed: 2))
    }

    private var sender: Caller { installation.sender(at: "") }

    func play() async throws {
        for node in nodes { try await node.start() }
        let town = try await push(#"{"message":{"body":"Town hall"},"target":{"topics":["town"]}}"#)
        let end = Flag()
        async let load = work(until: end)
        for (node, share) in zip(nodes, Self.shares) {
            try await eventually("the push gets on") { told >= Int(share * Double(everyone.count)) }
            try await node.stop()
            #expect(told < everyone.count, "the push was over too soon; slow it down")
            try await node.start()
        }
        end.raise()
        let done = try await load
        installation.simulator.script.set(ServiceScript())
        try await reckon(town, done)
        for node in nodes { try await node.stop() }
    }

    // MARK: The load

    private struct Done {
        var registered = 0
        var pushes: [(receipt: UUID, device: Device)] = []
    }

    /// Each hand registers devices and pushes to others, again and again; whatever fails after its repetition is thrown.
    private func work(until end: Flag) async throws -> Done {
        try await withThrowingTaskGroup(of: Done.self) { group in
            for hand in 0..<Self.hands { group.addTask { try await work(by: hand, until: end) } }
            return try await group.reduce(into: Done()) { all, done in
                all.registered += done.registered
                all.pushes += done.pushes
            }
        }
    }

    private func work(by hand: Int, until end: Flag) async throws -> Done {
        var done = Done()
        var dice = SplitMix64(seeds: 7, UInt64(hand))
        while !end.isRaised {
            let token = (0..<4).flatMap { _ in dice.next().bytes }.hex
            let reply = try await balancer.send(
                installation.app(at: ""), "/v1/registration", #"{"registration_token":"\#(token)","tags":["visitor"]}"#,
                key: UUID())
            try #require(reply.status == 200, "\(reply)")
            done.registered += 1
            if done.registered.isMultiple(of: Self.registrationsForAPush) {
                let device = singles.devices[hand + Self.hands * done.pushes.count]
                let receipt = try await push(
                    #"{"message":{"body":"Your bread"},"target":{"devices":["\#(device.uuid.uuidString)"]}}"#)
                done.pushes.append((receipt, device))
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        return done
    }

    private func push(_ body: String) async throws -> UUID {
        struct Answer: Decodable { let receipt_id: UUID }
        let reply = try await balancer.send(sender, "/v1/push", body, key: UUID())
        try #require(reply.status == 200, "\(reply)")
        return try JSONDecoder().decode(Answer.self, from: Data(reply.body.utf8)).receipt_id
    }

    // MARK: The reckoning

    private func reckon(_ town: UUID, _ done: Done) async throws {
        print("\(done.registered) devices registered, \(done.pushes.count) pushes sent, \(balancer.repeated) repeated")
        #expect(done.registered > 100 && done.pushes.count > 3, "there was no load")
        #expect(balancer.repeated >= 3, "no request met a node that was away")
        #expect(try await installation.settled(town).counts == ["accepted": everyone.count])
        // A device that was told that it is registered is.
        let openConnections = try await push(#"{"message":{"body":"Welcome"},"target":{"topics":["visitor"]}}"#)
        #expect(try await installation.settled(openConnections).counts == ["accepted": done.registered])
        try await installation.withResources { resources in
            let store = resources.store
            for receiptID in [town] + done.pushes.map(\.receipt) {
                let receipt = try await store.settled(receiptID)
                let answers = try await store.answerCounts(of: receipt.push.key)
                let counts = receipt.counts.filter { $0.value > 0 }
                #expect(Array(answers.values) == [counts], "counters differ from answers")
                #expect(counts == [.accepted: receiptID == town ? everyone.count : 1])
            }
        }
        #expect(
            everyone.devices.allSatisfy { installation.simulator.told($0) == 1 },
            "a stop in good time tells no device twice")
        #expect(done.pushes.allSatisfy { installation.simulator.told($0.device) == 1 })
    }

    /// How many notifications went out, nearly all of them of the push to everyone.
    private var told: Int { installation.simulator.ledger.totals().told }
}

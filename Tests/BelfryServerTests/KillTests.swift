import BelfryServer
import BelfryService
import BelfrySimulators
import BelfryTesting
import Foundation
import Synchronization
import Testing

/// The real program, ended by `kill -9` again and again while it delivers.
///
/// See docs/Architecture.md, "What must always hold", 1 to 3.
extension CrashTests {
    @Suite struct KillTests {
        @Test(.timeLimit(.minutes(20)))
        func `kills within one push lose nothing, repeat only in-flight`()
            async throws
        {
            try await Scratch.with { scratch in
                try await TestSystem.with(["data.directory": scratch.file("data")], latency: 600) { system in
                    try await KillScenario(scratch, system).play()
                }
            }
        }
    }
}

/// One push to an expression that everyone of the town meets, pushes to single devices beside it, and a hand at the switch.
private struct KillScenario: Sendable {
    let scratch: Scratch
    let system: TestSystem
    let everyone: Crowd
    let singles: Crowd
    let seed = drawKillSeed()

    private static let killsMin = Thoroughness.count(6, thorough: 20)
    private static let devices = 2_250 * killsMin + 3_000
    private static let batchesInFlightMax = 2
    private static let urgentBatchesInFlightMax = 32
    /// The life of a process, from its start. The server serves about half a second after it.
    private static let lifeSeconds = 0.2...2.0

    private static let environment = Program.shortLeases.merging([
        "BELFRY_HTTP_PORT": "0", "BELFRY_MANAGEMENT_PORT": "0", "BELFRY_LOG_FORMAT": "json",
        "BELFRY_DELIVERY_BATCHES_MAX": "\(batchesInFlightMax)",
        "BELFRY_DELIVERY_URGENT_BATCHES_MAX": "\(urgentBatchesInFlightMax)",
        "BELFRY_DELIVERY_PLATFORM_BATCHES_MAX": "\(urgentBatchesInFlightMax)",
    ]) { _, own in own }

    init(_ scratch: Scratch, _ system: TestSystem) async throws {
        self.scratch = scratch
        self.system = system
        everyone = try await system.crowd(Self.devices, topics: ["town"], seed: 1)
        singles = try await system.crowd(4_000, seed: 2)
    }

    func play() async throws {
        let listener = Listener()
        let town = try await acceptForTown()
        let first = try await start()
        defer { first.endAtOnce() }
        let base = try await first.addresses().http
        listener.open(at: base)

        let posted = try await withThrowingTaskGroup(of: [TestSystem.Posted].self) { group in
            group.addTask {
                try await system.post(
                    toEachOf: singles, every: .milliseconds(10), until: { listener.isShutForGood },
                    at: { listener.address })
            }
            let kills = try await killAgainAndAgain(first, town, listener)
            listener.shutForGood()
            let posted = try await group.next() ?? []
            print("\(kills.inAll) kills, \(kills.whileDelivering) of them while it delivered")
            return posted
        }
        system.simulator.script.set(ServiceScript())
        let last = try await start()
        defer { last.endAtOnce() }
        _ = try await last.addresses()
        try await expectSettled(town, posted)
        try await last.end(SIGTERM)
        #expect(last.ending == 0)
    }

    /// A push to an expression that means everyone who follows the town, by lists and by what rows say.
    private func acceptForTown() async throws -> UUID {
        let words = "platform:ios topic:town,village -topic:sports (lang:de or os:ios) osversion>=17 created:P30D"
        let request = PushRequest(
            content: Push.Content(body: "Town hall this Thursday"),
            target: Target(try AudienceExpression(text: words, field: "where")))
        return try await system.withStore { store in
            let push = try await PushBuilder(store: store, clock: store.clock).build(
                request, for: system.application.application.key)
            return try await store.accept(push).receiptID
        }
    }

    private func start() async throws -> Program {
        try Program.start(
            ["serve", "--data-directory", scratch.file("data")], Self.environment,
            log: scratch.file("log-\(UUID().uuidString)"))
    }

    // MARK: The kills

    private struct Kills {
        var inAll = 0
        var whileDelivering = 0
        /// Kills since the books were last read.
        var unread = 0
        /// Requests for devices of the large push that were notified and whose answer was lost.
        var repeats = 0
    }

    private func killAgainAndAgain(_ first: Program, _ town: UUID, _ listener: Listener) async throws -> Kills {
        var dice = SplitMix64(seed: seed)
        var kills = Kills()
        var server = first
        defer { server.endAtOnce() }
        while kills.whileDelivering < Self.killsMin {
            let toldBefore = system.simulator.ledger.totals().told
            // Pushes to single devices are far fewer in one life.
            let delivers = { system.simulator.ledger.totals().told > toldBefore + Batch.devicesMax / 2 }
            try await Task.sleep(for: dice.duration(Self.lifeSeconds))
            if dice.chance(0.7) { try await eventually("it delivers") { delivers() } }
            try await server.end(SIGKILL)
            try await eventually("the simulator has seen the last of it") {
                system.simulator.ledger.totals().connections.open == 0
            }
            kills.inAll += 1
            kills.unread += 1
            if delivers() { kills.whileDelivering += 1 }
            if dice.chance(0.4) { try await readCounts(town, &kills) }
            guard kills.whileDelivering < Self.killsMin else { break }
            server = try await start()
            if let address = try? await server.addresses().http { listener.open(at: address) }
        }
        try await readCounts(town, &kills)
        return kills
    }

    /// Compares the ledger with a copy of the database as the kill left it, so that the server has its own recovery.
    private func readCounts(_ town: UUID, _ kills: inout Kills) async throws {
        let copy = scratch.file("copy-\(UUID().uuidString)")
        try FileManager.default.copyItem(atPath: scratch.file("data"), toPath: copy)
        defer { try? FileManager.default.removeItem(atPath: copy) }
        let receipt = try await ServerResources.with(["data.directory": copy]) { try await $0.store.receipt(town) }
        let accepted = try #require(receipt).counts[.accepted, default: 0]
        try #require(
            receipt?.state != .settled, "the push was settled after \(kills.whileDelivering) kills; slow it down")
        let toldOfEveryone = everyone.devices.reduce(0) { $0 + system.simulator.told($1) }
        let lost = toldOfEveryone - accepted - kills.repeats
        #expect(lost >= 0, "more answers than requests")
        #expect(lost <= kills.unread * Self.batchesInFlightMax * Batch.devicesMax, "more was in flight than may be")
        kills.repeats += lost
        kills.unread = 0
    }

    // MARK: The reckoning

    private func expectSettled(_ town: UUID, _ posted: [TestSystem.Posted]) async throws {
        try await system.withStore { store in
            let receipt = try await system.expectAllTold(everyone, by: town, in: store).receipt
            for device in everyone.devices where device.key.rawValue.isMultiple(of: 10) {
                #expect(try await store.answer(of: device.key, in: receipt.push.key) == .accepted)
            }
            try await system.expectTold(posted, in: store)
        }
    }
}

/// Where the server can be reached at the moment, if at all.
private final class Listener: Sendable {
    private let state = Mutex<(address: String?, isShutForGood: Bool)>((nil, false))

    var address: String? { state.withLock { $0.address } }
    var isShutForGood: Bool { state.withLock { $0.isShutForGood } }

    func open(at address: String) { state.withLock { $0.address = address } }
    func shutForGood() { state.withLock { $0.isShutForGood = true } }
}

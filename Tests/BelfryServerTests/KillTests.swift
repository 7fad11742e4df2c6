import BelfryCore
import BelfryServer
import BelfrySimulators
import BelfryTesting
import Foundation
import Logging
import Synchronization
import Testing

/// The real program, ended by `kill -9` again and again while it delivers.
///
/// See docs/Architecture.md, "What must always hold", 1 to 3.
extension ServerTests {
    @Suite struct KillTests {
        @Test(.timeLimit(.minutes(5)))
        func `a server killed twenty times inside one push loses nothing and repeats no more than was in the air`()
            async throws
        {
            try await Scratch.with { scratch in
                let scene = try await KillScene.make(in: scratch)
                let result = await Result { try await scene.play() }
                try await scene.simulator.shutdown()
                try result.get()
            }
        }
    }
}

/// One push to everyone, pushes to single devices beside it, and a hand at the switch.
private struct KillScene: Sendable {
    let scratch: Scratch
    let simulator: APNsSimulator
    let everyone: Crowd
    let singles: Crowd
    let sender: Caller
    let seed: UInt64

    private static let killsMin = 20
    private static let devices = 45_000
    private static let pagesInAirMax = 2
    private static let urgentPagesInAirMax = 32
    private static let latency = 300
    /// Of a process's life, from its start. The server serves about half a second after it.
    private static let lifeSeconds = 0.2...2.0

    private static let environment = Program.shortLeases.merging([
        "BELFRY_HTTP_PORT": "0", "BELFRY_MANAGEMENT_PORT": "0", "BELFRY_LOG_FORMAT": "json",
        "BELFRY_DELIVERY_PAGES_MAX": "\(pagesInAirMax)", "BELFRY_DELIVERY_URGENT_PAGES_MAX": "\(urgentPagesInAirMax)",
        "BELFRY_DELIVERY_PLATFORM_PAGES_MAX": "\(urgentPagesInAirMax)",
    ]) { _, own in own }

    static func make(in scratch: Scratch) async throws -> KillScene {
        let key = APNsSimulator.IssuedKey()
        var simulation = APNsSimulator.Configuration()
        simulation.authentication = .tokens([key.known])
        let simulator = try await APNsSimulator.start(simulation)
        simulator.script.set(APNsScript(latencyMilliseconds: latency))
        let (application, everyone, singles) = try await withPremises(scratch.file("data")) { premises in
            let administration = premises.administration
            let application = try await administration.createApplication(name: "Bakery")
            let platform = try await administration.createPlatform(
                of: application.application, kind: .ios, mode: .development, name: "iOS",
                credentials: House.credentials(key, of: simulator)
            ).platform
            return (
                application,
                try await Crowd.register(devices, topics: ["town"], on: platform, in: premises.store, seed: 1),
                try await Crowd.register(4_000, on: platform, in: premises.store, seed: 2)
            )
        }
        let seed =
            ProcessInfo.processInfo.environment["KILL_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0..<1_000_000)
        print("KILL_SEED=\(seed)")
        return KillScene(
            scratch: scratch, simulator: simulator, everyone: everyone, singles: singles,
            sender: Caller(base: "", user: application.application.uuid.lowercased, secret: application.apiKey),
            seed: seed)
    }

    func play() async throws {
        let door = Door()
        let first = try await start()
        defer { first.endAtOnce() }
        door.open(at: try await first.addresses().http)
        let town = try await sender(at: door).push("Town hall this Thursday", toTopic: "town")

        let posted = try await withThrowingTaskGroup(of: [Posted].self) { group in
            group.addTask { try await postSingles(through: door) }
            let kills = try await killAgainAndAgain(first, town, door)
            door.shutForGood()
            let posted = try await group.next() ?? []
            print("\(kills.inAll) kills, \(kills.whileDelivering) of them while it delivered")
            return posted
        }
        simulator.script.set(APNsScript())
        let last = try await start()
        defer { last.endAtOnce() }
        _ = try await last.addresses()
        try await expectSettled(town, posted)
        try await last.end(SIGTERM)
        #expect(last.ending == 0)
    }

    private func start() async throws -> Program {
        try Program.start(
            ["serve", "--data-directory", scratch.file("data")], Self.environment,
            log: scratch.file("log-\(UUID().uuidString)"))
    }

    private func sender(at door: Door) -> Caller {
        Caller(base: door.address ?? "", user: sender.user, secret: sender.secret)
    }

    // MARK: The kills

    private struct Kills {
        var inAll = 0
        var whileDelivering = 0
        /// Of the kills since the books were last read.
        var unread = 0
        /// Requests for devices of the large push that were told and whose answer was lost.
        var repeats = 0
    }

    private func killAgainAndAgain(_ first: Program, _ town: UUID, _ door: Door) async throws -> Kills {
        var dice = SplitMix64(seed: seed)
        var kills = Kills()
        var server = first
        defer { server.endAtOnce() }
        while kills.whileDelivering < Self.killsMin {
            let toldBefore = simulator.ledger.totals().told
            // Pushes to single devices are far fewer in one life.
            let delivers = { simulator.ledger.totals().told > toldBefore + Page.devicesMax / 2 }
            try await Task.sleep(for: dice.duration(Self.lifeSeconds))
            if dice.chance(0.7) { try await eventually("it delivers") { delivers() } }
            try await server.end(SIGKILL)
            try await eventually("the simulator has seen the last of it") {
                simulator.ledger.totals().connections.open == 0
            }
            kills.inAll += 1
            kills.unread += 1
            if delivers() { kills.whileDelivering += 1 }
            if dice.chance(0.4) { try await readTheBooks(town, &kills) }
            guard kills.whileDelivering < Self.killsMin else { break }
            server = try await start()
            if let address = try? await server.addresses().http { door.open(at: address) }
        }
        try await readTheBooks(town, &kills)
        return kills
    }

    /// Compares the ledger with a copy of the database as the kill left it, so that the server has its own recovery.
    private func readTheBooks(_ town: UUID, _ kills: inout Kills) async throws {
        let copy = scratch.file("copy-\(UUID().uuidString)")
        try FileManager.default.copyItem(atPath: scratch.file("data"), toPath: copy)
        defer { try? FileManager.default.removeItem(atPath: copy) }
        let receipt = try await Self.withPremises(copy) { try await $0.store.receipt(town) }
        let accepted = try #require(receipt).counts[.accepted, default: 0]
        try #require(
            receipt?.state != .settled, "the push was settled after \(kills.whileDelivering) kills; slow it down")
        let lost = toldOfEveryone - accepted - kills.repeats
        #expect(lost >= 0, "more answers than requests")
        #expect(lost <= kills.unread * Self.pagesInAirMax * Page.devicesMax, "more was in the air than may be")
        kills.repeats += lost
        kills.unread = 0
    }

    private var toldOfEveryone: Int {
        everyone.devices.reduce(0) { sum, device in
            sum + (device.token.flatMap { simulator.ledger.token($0.bytes) }?.told ?? 0)
        }
    }

    // MARK: The small pushes

    private struct Posted: Sendable {
        let receiptID: UUID
        let device: Device
    }

    /// Posts a push to one device after another, and keeps those that the server said it took.
    private func postSingles(through door: Door) async throws -> [Posted] {
        var posted: [Posted] = []
        for device in singles.devices {
            guard !door.isShutForGood else { break }
            if door.address != nil, let id = try? await sender(at: door).push("Your bread is ready", to: device.uuid) {
                posted.append(Posted(receiptID: id, device: device))
            }
            try await Task.sleep(for: .milliseconds(10))
        }
        return posted
    }

    // MARK: The reckoning

    private func expectSettled(_ town: UUID, _ posted: [Posted]) async throws {
        try await Self.withPremises(scratch.file("data")) { premises in
            let store = premises.store
            let receipt = try await eventually("the push to everyone is settled") {
                let receipt = try await store.receipt(town)
                return receipt?.state == .settled ? receipt : nil
            }
            #expect(receipt.counts.filter { $0.value > 0 } == [.accepted: everyone.count])
            let told = everyone.devices.map { $0.token.flatMap { simulator.ledger.token($0.bytes) }?.told ?? 0 }
            let untold = told.count { $0 == 0 }
            #expect(untold == 0, "lost devices")
            print("\(told.reduce(0, +) - told.count) of \(told.count) devices were told again, \(untold) lost")
            for device in everyone.devices where device.key.rawValue.isMultiple(of: 10) {
                #expect(try await store.answer(of: device.key, in: receipt.push.key) == .accepted)
            }
            #expect(!posted.isEmpty, "no push was accepted between the kills")
            for push in posted {
                let receipt = try await eventually("an accepted push is settled") {
                    let receipt = try #require(try await store.receipt(push.receiptID), "an accepted push is lost")
                    return receipt.state == .settled ? receipt : nil
                }
                #expect(receipt.counts.filter { $0.value > 0 } == [.accepted: 1])
                #expect(try #require(simulator.ledger.token(push.device.token?.bytes ?? [])).told >= 1)
            }
            print("\(posted.count) pushes were accepted between the kills, 0 lost")
        }
    }

    private static func withPremises<Value>(
        _ directory: String, _ body: (Premises) async throws -> Value
    ) async throws -> Value {
        let configuration = try await ServerConfiguration.load(flags: ["data.directory": directory], environment: [:])
        let premises = try await Premises(configuration, logger: LogBook().logger)
        let result = await Result { try await body(premises) }
        try await premises.close()
        return try result.get()
    }
}

/// Where the server can be reached at the moment, if at all.
private final class Door: Sendable {
    private let state = Mutex<(address: String?, isShutForGood: Bool)>((nil, false))

    var address: String? { state.withLock { $0.address } }
    var isShutForGood: Bool { state.withLock { $0.isShutForGood } }

    func open(at address: String) { state.withLock { $0.address = address } }
    func shutForGood() { state.withLock { $0.isShutForGood = true } }
}

import BelfryServer
import BelfryService
import BelfrySimulators
import BelfryTesting
import Foundation
import Testing

/// An application with an iOS platform in a database, and the APNs that it sends to, for servers that come and go.
struct TestSystem: Sendable {
    /// The settings that say where the database is.
    let settings: [String: String]
    let simulator: APNsSimulator
    let application: CreatedApplication
    let platform: Platform
    /// The secret of the platform, for its apps.
    let secret: String

    /// The app of a device.
    func app(at base: String) -> Caller {
        Caller(base: base, user: platform.uuid.uuidString.lowercased(), secret: secret)
    }

    /// - Parameter latency: of the simulator's answers, in milliseconds.
    static func with(
        _ settings: [String: String], latency: Int, _ body: (TestSystem) async throws -> Void
    ) async throws {
        let key = APNsSimulator.IssuedKey()
        var simulation = APNsSimulator.Configuration()
        simulation.authentication = .tokens([key.known])
        let simulator = try await APNsSimulator.start(simulation)
        simulator.script.set(ServiceScript(latencyMilliseconds: latency))
        let result = await Result { try await body(try await make(settings, simulator, key)) }
        try await simulator.shutdown()
        try result.get()
    }

    private static func make(
        _ settings: [String: String], _ simulator: APNsSimulator, _ key: APNsSimulator.IssuedKey
    ) async throws -> TestSystem {
        try await ServerResources.with(settings) { resources in
            let operatorService = resources.operatorService
            let application = try await operatorService.createApplication(name: "Bakery")
            let platform = try await operatorService.createPlatform(
                of: application.application, kind: .ios, mode: .development, name: "iOS",
                credentials: TestServer.credentials(key, of: simulator))
            return TestSystem(
                settings: settings, simulator: simulator, application: application, platform: platform.platform,
                secret: platform.secret)
        }
    }

    func withStore<Value>(_ body: (any Store) async throws -> Value) async throws -> Value {
        try await ServerResources.with(settings) { try await body($0.store) }
    }

    /// Registers devices while no server runs.
    func crowd(_ count: Int, topics: Set<String> = [], seed: UInt64 = 1) async throws -> Crowd {
        try await withStore { try await Crowd.register(count, topics: topics, on: platform, in: $0, seed: seed) }
    }

    func sender(at base: String) -> Caller {
        Caller(base: base, user: application.application.uuid.lowercased, secret: application.apiKey)
    }
}

// MARK: - What is posted while servers die

extension TestSystem {
    struct Posted: Sendable {
        let receiptID: UUID
        let device: Device
    }

    /// Posts a push to one device after another, and keeps those that a server said it took.
    ///
    /// - Parameters:
    ///   - isOver: whether to stop before the last of them.
    ///   - address: where a server can be reached at the moment, if at all.
    func post(
        toEachOf crowd: Crowd, every pause: Duration, until isOver: () -> Bool, at address: () -> String?
    ) async throws -> [Posted] {
        var posted: [Posted] = []
        for device in crowd.devices {
            guard !isOver() else { break }
            if let base = address(), let id = try? await sender(at: base).push("Your bread is ready", to: device.uuid) {
                posted.append(Posted(receiptID: id, device: device))
            }
            try await Task.sleep(for: pause)
        }
        return posted
    }

    /// That the push was settled and each device was notified and counted.
    ///
    /// Returns the receipt, and how many more requests the provider took than there are devices.
    func expectAllTold(
        _ crowd: Crowd, by push: UUID, in store: any Store
    ) async throws -> (receipt: Receipt, repeats: Int) {
        let receipt = try await store.settled(push)
        #expect(receipt.counts.filter { $0.value > 0 } == [.accepted: crowd.count])
        let answers = try await store.answerCounts(of: receipt.push.key)
        #expect(Array(answers.values) == [[.accepted: crowd.count]], "counters differ from answers")
        let times = crowd.devices.map { simulator.told($0) }
        let lost = times.count { $0 == 0 }
        let repeats = times.reduce(0, +) - (times.count - lost)
        print("\(repeats) of \(times.count) devices were told again, \(lost) lost")
        #expect(lost == 0, "lost devices")
        return (receipt, repeats)
    }

    /// That each of the pushes was settled, and its device was notified and counted.
    func expectTold(_ posted: [Posted], in store: any Store) async throws {
        #expect(!posted.isEmpty, "no push was accepted between the kills")
        for push in posted {
            let receipt = try await store.settled(push.receiptID)
            #expect(receipt.counts.filter { $0.value > 0 } == [.accepted: 1])
            #expect(simulator.told(push.device) >= 1)
        }
        print("\(posted.count) pushes were accepted between the kills, 0 lost")
    }
}

/// Draws the seed of the kills. `KILL_SEED=n` repeats those of an earlier run.
func drawKillSeed() -> UInt64 {
    let given = ProcessInfo.processInfo.environment["KILL_SEED"].flatMap { UInt64($0) }
    let seed = given ?? UInt64.random(in: 0..<1_000_000)
    print("KILL_SEED=\(seed)")
    return seed
}

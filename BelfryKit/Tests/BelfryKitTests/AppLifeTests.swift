import BelfryKit
import Foundation
import Synchronization
import Testing

/// Random lives of an app against the real server: at the end the server's device is what the app wants, and every event is counted once.
///
/// `KIT_BINARY` names the program, `KIT_LIVES` how many lives (500 in `make kit`), `KIT_SEED` the first,
/// `KIT_DATABASE` a PostgreSQL in place of a file.
@Suite(.enabled(if: RealServer.binary != nil)) struct AppLifeTests {
    @Test(.timeLimit(.minutes(10))) func `the server ends with what the app wants, events once`()
        async throws
    {
        let environment = ProcessInfo.processInfo.environment
        let first = environment["KIT_SEED"].flatMap { UInt64($0) } ?? 1
        let count = environment["KIT_LIVES"].flatMap { UInt64($0) } ?? 20
        let server = try await RealServer.shared()
        for seed in first..<first + count {
            var life = try AppLife(seed: seed, server: server)
            try await life.run()
        }
    }
}

/// One life.
private struct AppLife {
    let seed: UInt64
    let server: RealServer
    private var generator: SeededGenerator
    private let folder: URL
    private let network = Network()
    private let clock = PhoneClock(Int64(Date().timeIntervalSince1970 * 1_000))
    private var identity = UUID()
    private var app: Belfry
    private var token: String
    private var wish: Registration?
    /// The receipts of real pushes, each with what became of it on this phone.
    private var noted: [(receipt: String, kind: String)] = []
    private var steps: [String] = []
    private var tokens = 0
    /// Finds all devices that the life has made.
    private var alias: String { "life-\(folder.lastPathComponent)" }

    init(seed: UInt64, server: RealServer) throws {
        self.seed = seed
        self.server = server
        generator = SeededGenerator(seed: seed)
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("life-\(UUID().uuidString)")
        token = "\(seed)-\(UUID().uuidString)-0"
        app = try Self.start(folder, identity, server, network, clock)
    }

    mutating func run() async throws {
        for _ in 0..<Int.random(in: 5...25, using: &generator) { try await step() }
        network.become(.fine)
        try await app.resume()
        try await check()
        try? FileManager.default.removeItem(at: folder)
    }

    private mutating func step() async throws {
        switch Int.random(in: 0..<12, using: &generator) {
        case 0, 1: try await register(["news", "sport", "town"].filter { _ in Bool.random(using: &generator) })
        case 2: try await changeToken()
        case 3: try await unregister()
        case 4: go(.offline)
        case 5: go(.fine)
        case 6: go(.lostBefore)
        case 7: go(.lostAfter)
        case 8: try restart("the app is ended and started")
        case 9: try await restore()
        case 10: moveClock()
        default: try await events()
        }
    }

    private mutating func register(_ topics: [String]) async throws {
        let user = Bool.random(using: &generator) ? "user-\(Int.random(in: 0..<3, using: &generator))-\(seed)" : nil
        let wanted = Registration(
            token: token, topics: Set(topics), user: user, alias: alias, system: "android", language: nil, timeZone: nil
        )
        wish = wanted
        steps.append("register \(topics) \(user ?? "-")")
        _ = try? await app.register(wanted)
    }

    private mutating func changeToken() async throws {
        tokens += 1
        token = "\(seed)-\(identity.uuidString)-\(tokens)"
        steps.append("token \(tokens)")
        guard var wanted = wish else { return }
        wanted.token = token
        wish = wanted
        _ = try? await app.register(wanted)
    }

    private mutating func unregister() async throws {
        steps.append("unregister")
        wish = nil
        try? await app.unregister()
    }

    private mutating func go(_ condition: Network.Condition) {
        steps.append("\(condition)")
        network.become(condition)
    }

    /// The app is ended in the middle of whatever it did: a new one reads what is on the disk.
    private mutating func restart(_ why: String) throws {
        steps.append(why)
        app = try Self.start(folder, identity, server, network, clock)
    }

    /// The phone's backup is put onto another phone, and the first is wiped.
    private mutating func restore() async throws {
        network.become(.fine)
        try await app.resume()
        // What happened before the server gave the phone a name is the first phone's, and goes with it.
        noted.removeLast(await app.waitingEvents)
        try await app.unregister()
        identity = UUID()
        tokens += 1
        token = "\(seed)-\(identity.uuidString)-\(tokens)"
        wish = nil
        try restart("restored on another phone")
        let device = await app.device
        #expect(device == nil, "seed \(seed): \(steps)")
    }

    private mutating func moveClock() {
        let hours = Int64.random(in: -2_000...2_000, using: &generator)
        steps.append("clock \(hours) h")
        clock.change { $0 += hours * 3_600_000 }
    }

    private mutating func events() async throws {
        clock.change { $0 += 7 }
        let push = try await server.ask(
            "POST", "apps/\(server.app)/pushes",
            ["message": ["body": "\(seed)"], "target": ["topics": ["nobody-\(seed)"]]])
        let receipt = push["receipt_id"] as? String ?? ""
        try await arrive(PushMessage(receiptID: receipt, receivedAt: clock.value))
        noted.append((receipt, "received"))
        switch Int.random(in: 0..<3, using: &generator) {
        case 0:
            try await app.opened(receiptID: receipt)
            noted.append((receipt, "opened"))
        case 1:
            try await app.dismissed(receiptID: receipt)
            noted.append((receipt, "dismissed"))
        default: break
        }
        if Bool.random(using: &generator) { try? await app.resume() }
    }

    /// A push arrives at the extension, which may be ended before it has reported, or at the app, or at both.
    private mutating func arrive(_ message: PushMessage) async throws {
        let place = Int.random(in: 0..<4, using: &generator)
        steps.append("a push at \(["the app", "the extension", "the extension, which is ended", "both"][place])")
        if place > 0 {
            let (clock, network) = (clock, network)
            let reports = ExtensionReports(
                Self.configuration(folder, server), transport: network, clock: { clock.value })
            try reports.received(message)
            if place != 2 { try? await reports.send() }
        }
        if place == 0 || place == 3 { try await app.received(message) }
    }

    private mutating func check() async throws {
        let found = try await server.ask(
            "GET", "apps/\(server.app)/devices?platform_uuid=\(server.platform)&q=\(alias)")
        let devices = (found["devices"] as? [[String: Any]] ?? []).filter { $0["active"] as? Bool == true }
        let device = await app.device
        let shown = try await device.asyncMap { try await server.ask("GET", "apps/\(server.app)/devices/\($0)") }
        let isActive = shown?["active"] as? Bool ?? false
        #expect(isActive == (wish != nil), "seed \(seed): \(steps) \(String(describing: shown))")
        if let wish, let shown {
            let topics = Set(shown["topics"] as? [String] ?? [])
            #expect(topics == wish.topics, "seed \(seed): \(steps) \(shown)")
            #expect(shown["custom_user_id"] as? String == wish.user, "seed \(seed): \(steps) \(shown)")
        }
        #expect(devices.count == (wish == nil ? 0 : 1), "seed \(seed): \(steps) \(devices)")
        guard await app.device != nil else { return }
        let waiting = await app.waitingEvents
        #expect(waiting == 0, "seed \(seed): \(steps)")
        for receipt in Set(noted.map(\.receipt)) {
            let analytics = try await server.ask("GET", "pushes/\(receipt)/analytics")
            let platforms = analytics["platforms"] as? [[String: Any]] ?? []
            let counts = platforms.first?["counts"] as? [String: Int] ?? [:]
            let wanted = noted.filter { $0.receipt == receipt }.map { ($0.kind, 1) }
            #expect(counts == Dictionary(uniqueKeysWithValues: wanted), "seed \(seed): \(steps)")
        }
    }

    private static func start(
        _ folder: URL, _ identity: UUID, _ server: RealServer, _ network: Network, _ clock: PhoneClock
    ) throws -> Belfry {
        try Belfry(
            configuration(folder, server), identity: FixedIdentity(own: identity), transport: network,
            clock: { clock.value })
    }

    private static func configuration(_ folder: URL, _ server: RealServer) -> BelfryConfiguration {
        BelfryConfiguration(
            server: server.url, platform: server.platform, platformSecret: server.secret, folder: folder)
    }
}

/// The wall clock of a phone, which its user may set.
private final class PhoneClock: Sendable {
    private let held: Mutex<Int64>

    init(_ value: Int64) { held = Mutex(value) }

    var value: Int64 { held.withLock { $0 } }
    func change(_ edit: (inout Int64) -> Void) { held.withLock { edit(&$0) } }
}

extension Optional where Wrapped: Sendable {
    fileprivate func asyncMap<Value>(_ change: (Wrapped) async throws -> Value) async rethrows -> Value? {
        if let self { try await change(self) } else { nil }
    }
}

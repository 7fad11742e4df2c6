import BelfryTesting
import FoundationEssentials
import Logging
import Synchronization
import Testing

@testable import BelfryService

@Suite struct MirrorWorkerTests {
    private static let otherNode = UUID(words: 1, 2)

    @Test(arguments: Engine.allCases)
    func `a failing device holds back only itself`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            try await fixture.mirror(1, of: Array(repeating: 1, count: 501))
            try await fixture.mirror(2, of: [2])
            let server = ScriptedMirror { $0 == 2 ? .heard(nil) : .unheard }
            #expect(await fixture.rounds(2, to: server) == [.more, .failed])
            #expect(server.bodies == [1, 2])
            #expect(try await fixture.store.mirrorBacklog() == 501)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a doubted secret holds back its platform alone`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let other = try await fixture.store.create(NewPlatform.numbered(2, of: fixture.platform.applicationKey))
            try await fixture.mirror(1, of: Array(1...501))
            try await fixture.store.mirror(
                MirrorCall(.post, body: [2]), of: [502], on: other.key, atMost: 9_999)
            let server = ScriptedMirror { $0 == 2 ? .heard(nil) : .doubted }
            #expect(await fixture.rounds(2, to: server) == [.more, .failed])
            #expect(server.bodies.count == 501 && server.bodies.last == 2)
            #expect(try await fixture.store.mirrorBacklog() == 501)
        }
    }

    @Test func `a server that is down gets pages with pauses`() async throws {
        try await TestStore.play(on: .sqlite) { fixture in
            try await fixture.mirror(1, of: Array(1...501))
            let server = ScriptedMirror { _ in .unheard }
            #expect(await fixture.rounds(2, to: server) == [.failed, .failed])
            #expect(server.bodies.count == 501)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a slow round renews its lease`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, clock) = (fixture.store, fixture.clock)
            try await fixture.mirror(1, of: Array(repeating: 1, count: 9))
            let server = ScriptedMirror { _ in
                clock.advance(by: .seconds(14))
                return (try? await store.holdMirror(as: Self.otherNode, for: .seconds(60))) == false
                    ? .heard(nil) : .unheard
            }
            #expect(await fixture.rounds(1, to: server) == [.more])
            #expect(server.bodies.count == 9)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a node that lost its lease settles and stops`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, clock) = (fixture.store, fixture.clock)
            try await fixture.mirror(1, of: [1, 1])
            let server = ScriptedMirror { _ in
                clock.advance(by: .seconds(61))
                _ = try? await store.holdMirror(as: Self.otherNode, for: .seconds(60))
                return .heard(nil)
            }
            #expect(await fixture.rounds(2, to: server) == [.failed, .idle])
            #expect(server.bodies == [1])
            #expect(try await store.mirrorBacklog() == 1)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a change that fails for a week is dropped`(engine: Engine) async throws {
        let (dropped, log) = (DroppedEntries(), CapturedLog())
        try await TestStore.play(on: engine, observer: dropped) { fixture in
            try await fixture.mirror(1, of: [1])
            fixture.clock.advance(by: MirrorEntry.ageMax)
            try await fixture.mirror(2, of: [1])
            fixture.clock.advance(by: .seconds(1))
            let server = ScriptedMirror { _ in .unheard }
            #expect(await fixture.rounds(1, to: server, log) == [.failed])
            #expect(server.bodies == [1, 2])
            #expect(try await fixture.store.mirrorEntries(limit: 9).map(\.call.body) == [[2]])
            #expect(dropped.count.load(ordering: .relaxed) == 1)
            #expect(log.lines(atLeast: .warning).count == 1)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a refused change counts as dropped`(engine: Engine) async throws {
        let (dropped, log) = (DroppedEntries(), CapturedLog())
        try await TestStore.play(on: engine, observer: dropped) { fixture in
            try await fixture.mirror(1, of: [1])
            try await fixture.mirror(2, of: [1])
            let server = ScriptedMirror { $0 == 1 ? .refused(400) : .heard(nil) }
            #expect(await fixture.rounds(1, to: server, log) == [.more])
            #expect(server.bodies == [1, 2])
            #expect(try await fixture.store.mirrorBacklog() == 0)
            #expect(dropped.count.load(ordering: .relaxed) == 1)
        }
    }

    @Test(arguments: DamageableEngine.allCases)
    func `a damaged entry goes, and the next is sent`(engine: DamageableEngine) async throws {
        try await engine.damageable { damageable in
            try await damageable.fixture.mirror(1, of: [1, 2])
            let damaged = try #require(try await damageable.store.mirrorEntries(limit: 1).first)
            let withoutChecks =
                switch engine {
                case .sqlite: "PRAGMA ignore_check_constraints = 1;"
                case .postgres: "ALTER TABLE mirror_entry DROP CONSTRAINT mirror_entry_method_check;"
                }
            try await damageable.run(
                withoutChecks + "UPDATE mirror_entry SET method = 'HEAD' WHERE id = \(damaged.key)")
            let server = ScriptedMirror { _ in .heard(nil) }
            #expect(await damageable.fixture.rounds(2, to: server) == [.idle, .more])
            #expect(server.bodies == [1] && damageable.complaints == 1)
            #expect(try await damageable.store.mirrorBacklog() == 0)
        }
    }

    @Test(arguments: Engine.allCases)
    func `an old entry takes the room of one`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            try await fixture.mirror(1, of: Array(repeating: 1, count: 2_001), atMost: 2_000)
            #expect(try await store.mirrorBacklog() == 2_000)
            let keys = try await store.mirrorEntries(limit: 2_000).map(\.key)
            try await store.settle(Array(keys[1..<1_999]))
            try await fixture.mirror(1, of: [1], atMost: 2_000)
            #expect(try await store.mirrorBacklog() == 3)
        }
    }
}

extension TestStore {
    /// Keeps a call of each device for an old server.
    fileprivate func mirror(_ body: UInt8, of devices: [Int64], atMost limit: Int = 9_999) async throws {
        try await store.mirror(MirrorCall(.post, body: [body]), of: devices, on: platform.key, atMost: limit)
    }

    fileprivate func rounds(
        _ count: Int, to server: ScriptedMirror, _ log: CapturedLog = CapturedLog()
    ) async -> [MirrorWorker.RoundOutcome] {
        let worker = MirrorWorker(store: store, server: server, clock: clock, logger: log.logger)
        var (outcomes, failing) = ([MirrorWorker.RoundOutcome](), MirrorFailures())
        for _ in 0..<count { outcomes.append(await worker.round(without: &failing)) }
        return outcomes
    }
}

extension Store {
    fileprivate func mirror(
        _ call: MirrorCall, of devices: [Int64], on platform: Key<Platform>, atMost limit: Int
    ) async throws {
        try await write { session in
            for device in devices { try session.mirror(call, of: Key(device), on: platform, atMost: limit) }
        }
    }
}

/// An old server that answers as a test says, by the body of the call.
private final class ScriptedMirror: MirrorServer {
    private let calls = Mutex<[UInt8]>([])
    private let answer: @Sendable (UInt8) async -> MirrorVerdict

    init(_ answer: @escaping @Sendable (UInt8) async -> MirrorVerdict) { self.answer = answer }

    var bodies: [UInt8] { calls.withLock { $0 } }

    func tell(_ call: MirrorCall, of uuid: UUID?, on platform: Platform) async -> MirrorVerdict {
        calls.withLock { $0.append(call.body[0]) }
        return await answer(call.body[0])
    }
}

private final class DroppedEntries: StoreObserver {
    let count = Atomic(0)

    func writesWaiting(_ count: Int) {}
    func transactionEnded(after duration: Duration) {}
    func unmirrored(_ count: Int) { self.count.add(count, ordering: .relaxed) }
}

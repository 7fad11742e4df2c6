import BelfryTesting
import Foundation
import PostgreSQL
import Synchronization
import Testing

@testable import BelfryService

/// Set once, and seen by all tasks.
private final class Flag: Sendable {
    private let value = Mutex(false)

    var isSet: Bool { value.withLock { $0 } }
    func set() { value.withLock { $0 = true } }
}

/// Several nodes on one database.
@Suite(.timeLimit(.minutes(20))) struct NodesTests {
    @Test func `no batch is claimed by two nodes`() async throws {
        try await withNodes(3) { nodes, fixture in
            let devices = try await fixture.registerMany(60)
            _ = try await fixture.push()
            try await fixture.fanOut(batchesOf: 2)
            let batches = try await withThrowingTaskGroup(of: [Batch].self) { group in
                for node in nodes {
                    group.addTask {
                        var batches: [Batch] = []
                        while true {
                            let more = try await node.claimBatches(
                                BatchClaim(burstsMax: 3, roomElsewhere: .max, lease: .seconds(60)))
                            batches += more
                            if more.isEmpty { return batches }
                        }
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(batches.flatMap(\.devices).sorted() == devices)
        }
    }

    @Test func `a new webhook is announced to other nodes`() async throws {
        try await withPostgresStore { store, connection in
            let application = try await store.create(.named("news")).key
            // It hears of changes, and looks for none.
            let other = try await PostgresStore.open(
                .init(connection: connection, connectionsMax: 1, use: .copyingFrom), logger: .strict, migrate: false)
            try await store.create(
                "crm", "https://crm.example", [.deviceRegistered], as: UUID(), secrets: Sealed(bytes: [1]),
                for: application)
            while !other.listeners.wants(.deviceRegistered, application) { await Task.yield() }
            await other.close()
        }
    }

    @Test func `a cancel ends a push everywhere with one answer each`()
        async throws
    {
        try await withNodes(3) { nodes, fixture in
            _ = try await fixture.registerMany(300)
            let push = try await fixture.push()
            let cancelled = Flag()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (number, node) in nodes.enumerated() {
                    group.addTask {
                        while try await node.receipt(push.receiptID)?.settledAt == nil {
                            try await Self.fanOut(on: node)
                            let wasCancelled = cancelled.isSet
                            let batches = try await node.claimBatches(
                                BatchClaim(
                                    burstsMax: 2, roomElsewhere: .max, lease: .seconds(60), burst: Burst(weightMax: 1)))
                            if wasCancelled { #expect(batches.allSatisfy { $0.isCancelled }) }
                            for batch in batches {
                                #expect(try await node.settle(Self.tried(batch, at: fixture.clock.now)))
                            }
                            guard number == 0, !batches.isEmpty, !wasCancelled else { continue }
                            _ = try await node.cancel(push.key)
                            cancelled.set()
                        }
                    }
                }
                try await group.waitForAll()
            }
            let counts = try await fixture.counts(of: push)
            #expect(counts.values.reduce(0, +) == 300)
            #expect(Set(counts.keys) == [.accepted, .skipped(.cancelled)])
            #expect(try await fixture.store.answerCounts(of: push.key) == [fixture.platform.key: counts])
        }
    }

    private static func fanOut(on node: PostgresStore) async throws {
        for fanOut in try await node.claimFanOuts(atMost: 1, lanes: Lane.allCases, for: .seconds(60)) {
            let found = try await node.devices(in: fanOut, after: fanOut.cursor, limit: 2)
            let step = FanOutStep(fanOut: fanOut, batches: found.isEmpty ? [] : [found], isLast: found.count < 2)
            _ = try await node.advance(step)
        }
    }

    /// The first device is notified at once, the other one at the second attempt.
    private static func tried(_ batch: Batch, at now: Instant) -> Settlement {
        if batch.isCancelled { return Settlement(cancelled: batch) }
        let answers = batch.answers.enumerated().map { index, answer -> Answer in
            answer == .pending && (index == 0 || batch.attempt > 1) ? .accepted : answer
        }
        return Settlement(batch: batch, answers: answers, retryAt: answers.contains(.pending) ? now : nil)
    }

    @Test func `two registrations of one token get one device`() async throws {
        try await withNodes(2) { nodes, fixture in
            let keys = try await withThrowingTaskGroup(of: [Key<Device>].self) { group in
                for node in nodes {
                    group.addTask {
                        var keys: [Key<Device>] = []
                        for number in 1...40 {
                            let registration = try Registration(
                                token: DeviceToken(bytes: Array("\(number)".utf8)), about: .init(), customUserID: .keep,
                                topics: .replace(["a", "\(number)"]))
                            keys.append(try await node.register(registration, as: nil, on: fixture.platform).key)
                        }
                        return keys
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(keys[0] == keys[1])
            #expect(try await fixture.devices(.topic("a")) == keys[0].sorted())
            #expect(try await fixture.store.deviceCount(on: fixture.platform.key) == 40)
        }
    }

    @Test func `a topic deleted elsewhere is made anew when named`() async throws {
        try await withNodes(2) { nodes, fixture in
            try await fixture.register("a", topics: .replace(["town"]))
            let application = fixture.application.key
            let old = try #require(try await nodes[1].topic(named: "town", of: application))
            #expect(try await nodes[1].deleteTopics([old.key], of: application) == 1)
            let device = try await fixture.register("b", topics: .replace(["town"]))
            #expect(try await fixture.devices(.topic("town")) == [device.key])
            let new = try #require(try await nodes[1].topic(named: "town", of: application))
            #expect(new.key != old.key)
        }
    }

    @Test func `a platform changed on one node changes on others`() async throws {
        try await withNodes(2) { nodes, fixture in
            let other = nodes[1]
            #expect(try await other.platform(fixture.platform.key)?.credentialsVersion == 1)
            try await nodes[0].replaceCredentials(of: fixture.platform.key, with: Sealed(bytes: [1]))
            while try await other.platform(fixture.platform.key)?.credentialsVersion != 2 { await Task.yield() }
        }
    }

    @Test func `a command's last change is announced at closing`() async throws {
        let clock = ManualClock()
        try await withPostgresStore(clock: clock) { first, connection in
            let fixture = try await TestStore(store: first, clock: clock)
            let heard = Mutex<[String]>([])
            let isListening = Atomic(false)
            let listener = try Listener(ConnectionOptions(connection), channels: ["belfry"]) { event in
                switch event {
                case .listening: isListening.store(true, ordering: .releasing)
                case .heard(_, let payload): heard.withLock { $0.append(payload) }
                case .pooled, .lost: break
                }
            }
            defer { listener.close() }
            while !isListening.load(ordering: .acquiring) { await Task.yield() }
            let command = try await PostgresStore.open(
                .init(connection: connection, connectionsMax: 2, clock: clock, use: .copyingFrom), logger: .strict,
                migrate: false)
            try await command.replaceCredentials(of: fixture.platform.key, with: Sealed(bytes: [1]))
            await command.close()
            while !heard.withLock({ $0.contains { $0.hasPrefix("registryCache") } }) { await Task.yield() }
        }
    }

    @Test func `a node hears what falls due through another`() async throws {
        try await withNodes(2) { nodes, fixture in
            while try await nodes[0].listenerCount() < 2 {}
            var receiver = nodes[1].hints(of: .all).makeAsyncIterator()
            _ = try await fixture.push()
            #expect(await receiver.next(isolation: nil) != nil)
        }
    }

    @Test func `a late settlement of another node's batch changes nothing`() async throws {
        try await withNodes(2) { nodes, fixture in
            _ = try await fixture.registerMany(3)
            let push = try await fixture.push()
            try await fixture.fanOut()
            let claim = BatchClaim(burstsMax: 1, roomElsewhere: .max, lease: .seconds(10))
            let late = try #require(try await nodes[0].claimBatches(claim).first)
            fixture.clock.advance(by: .seconds(11))
            let batch = try #require(try await nodes[1].claimBatches(claim).first)
            #expect(batch.isLapsed)
            #expect(try await nodes[1].settle(Settlement(batch, all: .accepted)))
            #expect(try await !nodes[0].settle(Settlement(late, all: .skipped(.missing))))
            #expect(try await fixture.counts(of: push) == [.accepted: 3])
        }
    }

    @Test func `one node at a time tells devices of their geofences`() async throws {
        try await withNodes(2) { nodes, fixture in
            _ = try await fixture.fence([try await fixture.locate()])
            fixture.clock.advance(by: .seconds(60))
            let first = try await nodes[0].dueGeofenceUpdates(atMost: 10)
            #expect(first.count == 1)
            #expect(try await nodes[1].dueGeofenceUpdates(atMost: 10).isEmpty)
            fixture.clock.advance(by: .seconds(31))
            #expect(try await nodes[1].dueGeofenceUpdates(atMost: 10) == first)
        }
    }

    /// Runs `body` with some nodes, and with a `TestStore` of the first.
    private func withNodes(_ count: Int, _ body: ([PostgresStore], TestStore) async throws -> Void) async throws {
        let clock = ManualClock()
        try await withPostgresStore(clock: clock) { first, connection in
            var nodes = [first]
            for _ in 1..<count {
                nodes.append(
                    try await PostgresStore.open(
                        .init(connection: connection, connectionsMax: 2, clock: clock), logger: .strict, migrate: false)
                )
            }
            let outcome: Result<Void, any Error>
            do {
                outcome = .success(try await body(nodes, try await TestStore(store: first, clock: clock)))
            } catch {
                outcome = .failure(error)
            }
            for node in nodes.dropFirst() { await node.close() }
            try outcome.get()
        }
    }
}

extension PostgresStore {
    /// How many nodes listen in the database.
    fileprivate func listenerCount() async throws -> Int64 {
        try await readCommitted { connection in
            try connection.prepared(
                """
                SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'
                """
            ).first { $0.integer(0) } ?? 0
        }
    }
}

import BelfryTesting
import Foundation
import GRDB
import Synchronization
import Testing

@testable import BelfryService

@Suite struct GroupCommitTests {
    private struct TestError: Error, Equatable { let number: Int }

    @Test func `writes that wait together share a transaction`() async throws {
        try await withSQLiteStore { store, _ in
            let commits = Mutex(Set<Int>())
            try await store.together(20) { session, _ in
                commits.withLock { _ = $0.insert(session.transactions) }
            }
            // One, unless the machine is so busy that the transaction's time is over before all have written.
            #expect(commits.withLock(\.count) < 10)
        }
    }

    @Test(arguments: [false, true])
    func `a write that throws harms no other, leaving nothing`(writesFirst: Bool) async throws {
        try await withSQLiteStore { store, _ in
            let failures = Mutex([Int]())
            try await store.together(20) { session, number in
                if writesFirst || !number.isMultiple(of: 5) { try session.writeSetting("n\(number)") }
                if number.isMultiple(of: 5) { throw TestError(number: number) }
            } failed: { error in
                failures.withLock { $0.append((error as? TestError)?.number ?? -1) }
            }
            #expect(failures.withLock { $0.sorted() } == [0, 5, 10, 15])
            let kept = try await store.pool.read { try String.fetchAll($0, sql: "SELECT name FROM setting") }
            #expect(Set(kept.filter { $0.hasPrefix("n") && $0 != "naming" }).count == 16)
        }
    }

    @Test func `topics that were rolled back are not remembered`() async throws {
        try await withSQLiteStore { store, _ in
            let fixture = try await TestStore(store: store, clock: ManualClock())
            let platform = fixture.platform
            try await store.together(2) { session, number in
                let ids = try session.intern(["t"], in: platform.applicationKey, at: session.now)
                #expect(try session.db.topicNames(ids, at: session.now) == ["t"])
                if number == 1 { throw TestError(number: 1) }
            } failed: {
                #expect($0 as? TestError == TestError(number: 1))
            }
            let device = try await fixture.register("a", topics: .replace(["t", "u"]))
            #expect(try await store.device(device.uuid, on: platform.key)?.topics == ["t", "u"])
        }
    }

    @Test func `past the limit writes are turned away`() async throws {
        // It writes nothing by itself, which would have a place among them.
        try await withSQLiteStore(use: .copyingFrom) { store, _ in
            let overloads = Atomic(0)
            try await store.together(WriterQueue.countMax + 10) { _, _ in
            } failed: { error in
                if case .overloaded = error as? StoreError { overloads.add(1, ordering: .relaxed) }
            }
            #expect(overloads.load(ordering: .relaxed) == 10)
        }
    }

    @Test func `a closed store turns writes away, after those that waited`() async throws {
        try await withDirectory { directory in
            let path = directory + "/belfry.sqlite"
            let store = try SQLiteStore.open(at: path, clock: ManualClock(), logger: .strict, migrate: true)
            let application = try await store.create(.named("news"))
            try await store.close()
            await #expect(throws: StoreError.self) { try await store.create(.named("late")) }
            #expect(try FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int == 0)
            let again = try SQLiteStore.open(at: path, clock: ManualClock(), logger: .strict, migrate: false)
            #expect(try await again.applications() == [application])
            try await again.close()
        }
    }
}

extension SQLiteStore {
    /// Holds the writer until `count` writes wait, lets them go together, and returns when all are answered.
    fileprivate func together(
        _ count: Int, _ body: @escaping @Sendable (SQLiteWriteSession, Int) throws -> Void,
        failed: @escaping @Sendable (any Error) -> Void = { _ in }
    ) async throws {
        let gate = DispatchSemaphore(value: 0)
        pool.asyncWriteWithoutTransaction { _ in gate.wait() }
        let (answers, answered) = AsyncStream.makeStream(of: Void.self)
        for number in 0..<count {
            let job = Writer.Job(
                run: { session in
                    try body(session, number)
                    return { answered.yield() }
                },
                fail: { error in
                    failed(error)
                    answered.yield()
                })
            writer.submit(job)
        }
        gate.signal()
        for await _ in answers.prefix(count) {}
    }
}

extension SQLiteWriteSession {
    fileprivate func writeSetting(_ name: String) throws {
        try prepared(SecretStatements.insert).run(name, [UInt8]([1]))
    }
}

import BelfryTesting
import Dispatch
import Synchronization
import Testing

@testable import BelfryService

/// No caller is answered before the disk is, and the writer does not rest meanwhile.
@Suite(.timeLimit(.minutes(20))) struct DurabilityTests {
    @Test func `a write is answered when it is on the disk`() async throws {
        try await withSQLiteStore { store, _ in
            let events = Mutex<[String]>([])
            let writer = store.writer { events.withLock { $0.append("flushed") } }
            for number in 0..<3 {
                try await writer.write { try $0.note("n\(number)") }
                events.withLock { $0.append("answered") }
            }
            #expect(events.withLock { $0 } == ["flushed", "answered", "flushed", "answered", "flushed", "answered"])
        }
    }

    @Test func `writes gather while a commit reaches the disk`() async throws {
        try await withSQLiteStore { store, _ in
            let isWritten = DispatchSemaphore(value: 0)
            let (answers, answered) = AsyncStream.makeStream(of: Void.self)
            let idle = Mutex<Writer?>(nil)
            let writer = store.writer {
                guard let writer = idle.withLock({ $0.take() }) else { return }
                let second = Writer.Job(
                    run: { session in
                        try session.note("second")
                        isWritten.signal()
                        return { answered.yield() }
                    }, fail: { _ in })
                writer.submit(second)
                isWritten.wait()
            }
            idle.withLock { $0 = writer }
            try await writer.write { try $0.note("first") }
            for await _ in answers.prefix(1) {}
        }
    }

    @Test func `a claim is answered before it is on the disk`() async throws {
        try await withSQLiteStore { store, _ in
            let disk = DispatchSemaphore(value: 0)
            let flushes = Mutex(0)
            let writer = store.writer {
                disk.wait()
                flushes.withLock { $0 += 1 }
            }
            try await writer.write { session in
                session.answerAtCommit()
                try session.note("claim")
            }
            #expect(flushes.withLock { $0 } == 0)
            disk.signal()
            try await writer.write { $0.awaitDisk() }
            #expect(flushes.withLock { $0 } == 1)
        }
    }

    @Test func `a claim beside a new push waits for the disk`() async throws {
        try await withSQLiteStore { store, _ in
            let flushes = Mutex(0)
            let writer = store.writer { flushes.withLock { $0 += 1 } }
            let keys = try await writer.write { session in
                session.answerAtCommit()
                try session.note("claim")
                return try session.insert([])
            }
            #expect(keys.isEmpty)
            #expect(flushes.withLock { $0 } == 1)
        }
    }

    /// The disk may have lost what lies before the next write, and says so once.
    @Test func `a write failing to reach the disk hears so`() async throws {
        try await withSQLiteStore { store, _ in
            let isWorn = Mutex(true)
            let writer = store.writer { if isWorn.withLock({ $0 }) { throw StoreError.unavailable("worn") } }
            await #expect(throws: StoreError.self) { try await writer.write { try $0.note("lost") } }
            isWorn.withLock { $0 = false }
            await #expect(throws: StoreError.self) {
                try await writer.write { _ in Issue.record("it began, and would take effect") }
            }
        }
    }

    @Test func `a group open at a failed flush is undone`() async throws {
        try await withSQLiteStore { store, _ in
            let isWritten = DispatchSemaphore(value: 0)
            let (answers, answered) = AsyncStream.makeStream(of: Bool.self)
            let idle = Mutex<Writer?>(nil)
            let writer = store.writer {
                guard let writer = idle.withLock({ $0.take() }) else { return }
                let second = Writer.Job(
                    run: { session in
                        try session.note("second")
                        isWritten.signal()
                        return { answered.yield(true) }
                    }, fail: { _ in answered.yield(false) })
                writer.submit(second)
                isWritten.wait()
                throw StoreError.unavailable("worn")
            }
            idle.withLock { $0 = writer }
            await #expect(throws: StoreError.self) { try await writer.write { try $0.note("first") } }
            for await isDone in answers.prefix(1) { #expect(!isDone) }
            let names = try await store.read { db in
                try db.prepared("SELECT count(*) FROM setting").first { $0.integer(0) }
            }
            #expect(names == 4, "three of the store, and the first")
        }
    }

    @Test func `a write that changes nothing skips the disk`() async throws {
        try await withSQLiteStore { store, _ in
            let flushes = Mutex(0)
            let writer = store.writer { flushes.withLock { $0 += 1 } }
            let names = try await writer.write {
                try $0.prepared("SELECT count(*) FROM setting").first { $0.integer(0) }
            }
            #expect(names == 3)
            #expect(flushes.withLock { $0 } == 0)
        }
    }
}

extension SQLiteStore {
    /// Another writer on the same connection, whose disk is `sync`.
    fileprivate func writer(sync: @escaping @Sendable () throws -> Void) -> Writer {
        Writer(
            pool: pool,
            session: SQLiteWriteSession(
                clock: clock, secrets: secrets, pushes: pushes, quotaCounts: quotaCounts, listeners: WebhookListeners()),
            flusher: LogFlusher(sync: sync), observer: NoStoreObserver(), logger: .strict
        ) { _, _, _ in }
    }
}

extension SQLiteWriteSession {
    fileprivate func note(_ name: String) throws {
        try prepared(SecretStatements.insert).run(name, [UInt8]([1]))
    }
}

import BelfryTesting
import Foundation
import GRDB
import Testing

@testable import BelfryService

@Suite struct TroubleTests {
    @Test func `an answered write is in the files`() async throws {
        try await withSQLiteStore { store, path in
            let (journal, synchronous, foreignKeys) = try await store.pool.writeWithoutTransaction { db in
                (
                    try String.fetchOne(db, sql: "PRAGMA journal_mode"),
                    try Int.fetchOne(db, sql: "PRAGMA synchronous"),
                    try Int.fetchOne(db, sql: "PRAGMA foreign_keys")
                )
            }
            #expect(journal == "wal" && synchronous == 1 && foreignKeys == 1)
            _ = try await store.create(.named("news"))
            // What another process would find, were this one killed now.
            let copy = path + ".copy"
            for suffix in ["", "-wal"] {
                try FileManager.default.copyItem(atPath: path + suffix, toPath: copy + suffix)
            }
            let survivor = try SQLiteStore.open(at: copy, clock: ManualClock(), logger: .strict, migrate: false)
            #expect(try await survivor.applications().map(\.name) == ["news"])
            try await survivor.close()
        }
    }

    @Test func `a full disk writes nothing by halves and later continues`() async throws {
        try await withSQLiteStore { store, _ in
            let fixture = try await TestStore(store: store, clock: ManualClock())
            _ = try await fixture.registerMany(10)
            try await store.limitPages(beyond: 20)
            let long = String(repeating: "x", count: 200_000)
            await #expect {
                _ = try await fixture.push(body: long)
            } throws: { error in
                if case .unavailable(let words) = error as? StoreError { words.contains("full") } else { false }
            }
            #expect(try await store.nextDue() == nil)
            #expect(try await store.pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM push") } == 0)
            #expect(try await fixture.register("small").isActive)
            try await store.limitPages(beyond: 1_000_000)
            let push = try await fixture.push(body: long)
            try await fixture.fanOut()
            #expect(try await fixture.counts(of: push) == [.pending: 11])
        }
    }

    @Test func `a copy in pieces is of one moment`() async throws {
        try await withSQLiteStore { store, path in
            let fixture = try await TestStore(store: store, clock: ManualClock())
            _ = try await fixture.register("a")
            let long = String(repeating: "x", count: 200_000)
            for _ in 0..<20 { _ = try await fixture.push(body: long) }
            let (written, writing) = AsyncStream.makeStream(of: Void.self)
            let writes = Task {
                while !Task.isCancelled {
                    _ = try await fixture.push(body: long)
                    writing.yield()
                }
            }
            for await _ in written.prefix(1) {}
            let copy = path + ".copy"
            try SQLiteBackup.copy(from: path, to: copy)
            writes.cancel()
            try await writes.value
            #expect(try SQLiteBackup.inspect(copy, of: "the database").schema.breaking.isEmpty)
            let (pushes, receipts) = try await DatabaseQueue(path: copy).read { db in
                (
                    try Int.fetchOne(db, sql: "SELECT count(*) FROM push"),
                    try Int.fetchOne(db, sql: "SELECT count(*) FROM push_progress")
                )
            }
            #expect(try #require(pushes) > 20 && pushes == receipts)
        }
    }

    @Test func `an unwritable database says so and stays readable`() async throws {
        try await withSQLiteStore { store, _ in
            let fixture = try await TestStore(store: store, clock: ManualClock())
            let device = try await fixture.register("a")
            try await store.pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA query_only = 1") }
            await #expect {
                try await fixture.register("b")
            } throws: { error in
                if case .unavailable = error as? StoreError { true } else { false }
            }
            #expect(try await store.device(device.uuid, on: fixture.platform.key) == device)
            try await store.pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA query_only = 0") }
            #expect(try await fixture.register("b").isActive)
        }
    }

    @Test func `a file that is no usable database is refused`() async throws {
        try await withDirectory { directory in
            let path = directory + "/belfry.sqlite"
            try Data(repeating: 7, count: 8_192).write(to: URL(fileURLWithPath: path))
            for path in [path, directory, directory + "/missing/belfry.sqlite"] {
                #expect(throws: StoreError.self) {
                    try SQLiteStore.open(at: path, clock: ManualClock(), logger: .strict, migrate: true)
                }
            }
        }
    }

    @Test func `the invariants stand in the schema`() async throws {
        try await withSQLiteStore { store, _ in
            let fixture = try await TestStore(store: store, clock: ManualClock())
            _ = try await fixture.registerMany(2)
            _ = try await fixture.push()
            try await fixture.fanOut()
            for sql in [
                "UPDATE device SET token = NULL", "UPDATE device SET reach = 3",
                "UPDATE push_progress SET settled_at_ms = 1", "UPDATE batch SET claim_count = 1",
                "UPDATE platform SET parked_cause = 'dead_tokens'", "UPDATE platform SET application_id = 99",
                "INSERT INTO batch (push_id, platform_id, lane, first_device_id, last_device_id, due_at_ms, devices, answers) "
                    + "SELECT push_id, platform_id, lane, first_device_id, last_device_id, 0, devices, answers FROM batch",
            ] {
                await #expect(throws: DatabaseError.self) {
                    try await store.pool.write { try $0.execute(sql: sql) }
                }
            }
        }
    }
}

extension SQLiteStore {
    fileprivate func limitPages(beyond more: Int) async throws {
        try await pool.writeWithoutTransaction { db in
            let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
            try db.execute(sql: "PRAGMA max_page_count = \(pages + more)")
        }
    }
}

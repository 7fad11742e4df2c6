import BelfryTesting
import Dispatch
import FoundationEssentials
import GRDB
import Testing

@testable import BelfryService

/// A search takes neither for ever nor from others.
@Suite(.timeLimit(.minutes(20))) struct SearchLimitsTests {
    /// Counts without end, in one statement.
    private static let endless = """
        WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number) SELECT count(*) FROM number WHERE n < 0
        """

    @Test func `a statement ends midway when its caller has left`() async throws {
        try await withSQLiteStore { store, _ in
            let begun = DispatchSemaphore(value: 0)
            let search = Task {
                try await store.search(for: Key(1)) { db, _ in
                    begun.signal()
                    return try db.prepared(Self.endless).first { $0.integer(0) }
                }
            }
            search.cancelOnceBegun(begun)
            await #expect(throws: CancellationError.self) { try await search.value }
            // The connection is whole.
            let answer = try await store.search(for: Key(1)) { db, _ in
                try db.prepared("SELECT 7").first { $0.integer(0) }
            }
            #expect(answer == 7)
        }
    }

    @Test func `a statement ends midway when time is up`() async throws {
        try await withSQLiteStore { store, _ in
            await #expect(throws: InvalidInput.self) {
                _ = try await store.pool.read(within: SearchBudget(.milliseconds(20))) { db, _ in
                    try db.prepared(Self.endless).first { $0.integer(0) }
                }
            }
        }
    }

    @Test func `a search of an application without devices looks at none`() async throws {
        try await withSQLiteStore { store, _ in
            let own = try await store.create(.of(try await store.create(.named("own"))))
            let other = try await store.create(.of(try await store.create(.named("other"))))
            let device = try await store.register(try .sample(1), as: nil, on: other)
            // Too short for the search index: all devices of the platforms are looked at.
            let search = DeviceSearch(platforms: [own.key], text: "1")
            #expect(try await store.devices(search, skip: 0, limit: 9).total == 0)
            let others = DeviceSearch(platforms: [other.key], text: String(device.uuid.uuidString.prefix(1)))
            #expect(try await store.devices(others, skip: 0, limit: 9).elements == [device])
        }
    }
}

extension Task {
    /// Cancels it from a thread of its own: a task may have its turn when the search's time is up already.
    func cancelOnceBegun(_ begun: DispatchSemaphore) {
        DispatchQueue(label: "leaving caller").async {
            begun.wait()
            self.cancel()
        }
    }
}

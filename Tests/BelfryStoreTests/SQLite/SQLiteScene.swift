import BelfryCore
import GRDB
import Logging

@testable import BelfryStoreSQLite
import BelfryTesting

/// Runs `body` with an empty store and its path.
func withSQLiteStore(
    clock: HandClock = HandClock(), _ body: (SQLiteStore, String) async throws -> Void
) async throws {
    try await withDirectory { directory in
        let path = directory + "/belfry.sqlite"
        let store = try SQLiteStore.open(at: path, clock: clock, logger: .strict, migrate: true)
        try await body(store, path)
        try await store.close()
    }
}

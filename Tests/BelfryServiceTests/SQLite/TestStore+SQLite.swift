import BelfryTesting
import GRDB
import Logging

@testable import BelfryService

/// Runs `body` with an empty store and its path.
func withSQLiteStore(
    clock: ManualClock = ManualClock(), use: StoreUse = .serving, quotas: Quotas = .standard,
    _ body: (SQLiteStore, String) async throws -> Void
) async throws {
    try await withDirectory { directory in
        let path = directory + "/belfry.sqlite"
        let store = try SQLiteStore.open(
            at: path, clock: clock, logger: .strict, migrate: true, for: use, quotas: quotas,
            searchLimit: .patient)
        try await body(store, path)
        try await store.close()
    }
}

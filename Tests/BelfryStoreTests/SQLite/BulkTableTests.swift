import GRDB
import Testing

@testable import BelfryService

@Suite struct BulkTableTests {
    /// Made by the engine itself, derived from other tables, or of no meaning to a database that no server uses.
    private static let own: Set = [
        "grdb_migrations", "setting", "subscription", "subscription_mark", "device_token", "token_mark",
        "deleted_topic",
        "search_index",
        "search_index_posting",
        "search_index_count", "search_index_stale", "search_index_segment", "audit_horizon", "node", "command_count",
        "application_use",
        "connection_fault", "mirror_holder",
        // People log in anew.
        "dashboard_session",
    ]

    @Test func `every table is copied, or is the engine's own`() async throws {
        try await withSQLiteStore { store, _ in
            let sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
            let tables = try await store.pool.read { db in try db.prepared(sql).all { $0.text(0) } }
            #expect(Set(tables) == Self.own.union(BulkTable.all.map(\.name)))
        }
    }
}

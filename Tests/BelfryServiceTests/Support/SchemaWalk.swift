import PostgreSQL

@testable import BelfryService

/// The schema of an engine, after all migrations.
enum SchemaWalk: String, CaseIterable, Sendable {
    case sqlite, postgres

    static let allCases: [SchemaWalk] = Engine.allCases.compactMap { SchemaWalk(rawValue: $0.rawValue) }

    /// The names of all tables.
    func tables() async throws -> Set<String> {
        try await rows(
            sqlite: "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
            postgres: """
                SELECT relname::text FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace
                """)
    }

    /// The primary key of every table as `table(columns)`, columns in their order.
    func primaryKeys() async throws -> Set<String> {
        try await rows(
            sqlite: """
                SELECT m.name || '(' || (SELECT group_concat(name, ', ')
                                           FROM (SELECT name FROM pragma_table_info(m.name) WHERE pk > 0 ORDER BY pk)) || ')'
                  FROM sqlite_master AS m
                 WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
                """,
            postgres: """
                SELECT t.relname || '(' || string_agg(a.attname, ', ' ORDER BY array_position(x.indkey::int2[], a.attnum)) || ')'
                  FROM pg_index AS x
                  JOIN pg_class AS t ON t.oid = x.indrelid
                  JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attnum = ANY (x.indkey)
                 WHERE x.indisprimary AND t.relnamespace = current_schema()::regnamespace
                 GROUP BY t.relname
                """)
    }

    /// Every unique index as `table(columns)`, columns by their names; ids that the database gives are left out.
    func uniqueIndexes() async throws -> Set<String> {
        let all = try await rows(
            sqlite: """
                SELECT m.name || '(' || (SELECT group_concat(name, ',') FROM (SELECT name FROM pragma_index_info(i.name) ORDER BY name))
                       || ')'
                  FROM sqlite_master AS m, pragma_index_list(m.name) AS i
                 WHERE m.type = 'table' AND i."unique" = 1
                """,
            postgres: """
                SELECT t.relname || '(' || string_agg(a.attname, ',' ORDER BY a.attname) || ')'
                  FROM pg_index AS x
                  JOIN pg_class AS t ON t.oid = x.indrelid
                  JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attnum = ANY (x.indkey)
                 WHERE x.indisunique AND t.relnamespace = current_schema()::regnamespace
                 GROUP BY x.indexrelid, t.relname
                """)
        return all.filter { !$0.hasSuffix("(id)") }
    }

    private func rows(sqlite: SQLText, postgres: SQLText) async throws -> Set<String> {
        var found: [String] = []
        switch self {
        case .sqlite:
            try await withSQLiteStore { store, _ in
                found = try await store.read { db in try db.prepared(sqlite).all { $0.text(0) } }
            }
        case .postgres:
            try await withPostgresStore { store, _ in
                found = try await store.read { db in try db.prepared(postgres).all { $0.text(0) } }
            }
        }
        return Set(found)
    }
}

extension SQLStore {
    package func databaseSize() async throws -> DatabaseSize {
        try await readCommitted { db in
            let size = try db.prepared(DatabaseStatements.size).first { row in
                DatabaseSize(bytes: row.integer(0), engineVersion: row.text(1))
            }
            guard let size else { throw StoreError.unavailable("the database does not tell its size") }
            return size
        }
    }
}

enum DatabaseStatements {
    static let size: SQLText = """
        SELECT \(
            sqlite: "page_count * page_size, sqlite_version() /* database.size */ FROM pragma_page_count(), pragma_page_size()",
            postgres: "pg_database_size(current_database()), current_setting('server_version') /* database.size */")
        """
}

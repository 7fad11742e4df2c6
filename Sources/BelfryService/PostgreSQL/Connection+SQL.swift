import PostgreSQL

extension Connection: SQLConnection {
    func run(script: SQLText) throws { try run(script: script.postgres) }

    func prepared(_ sql: SQLText) -> Statement { prepared(sql.postgres) }

    /// Counts rows, however many there are.
    func deviceCount(on platforms: [Key<Platform>]) throws -> Int {
        let count = prepared(PostgresDeviceStatements.count)
        return try platforms.reduce(0) { try $0 + count.count($1) }
    }

    func device(of platforms: [Key<Platform>], skipping count: Int) -> (device: Key<Device>, skipped: Int)? { nil }
}

extension Statement: SQLStatement {
    func sendEach<each Value: SQLValue>(_ columns: repeat [each Value]) throws {
        try send(repeat PostgresArray(each columns))
    }
}

extension Row: SQLRow {}

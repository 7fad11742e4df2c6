import BelfryTesting
import Testing

@testable import BelfryService

/// Every table describes itself, and the description is true on both engines.
@Suite struct StoreTableConformance {
    @Test(arguments: SchemaWalk.allCases)
    func `the schema has the described tables and keys`(engine: SchemaWalk) async throws {
        let tables = engine == .sqlite ? StoreTable.sqlite : StoreTable.postgres
        #expect(try await engine.tables() == Set(tables.map(\.name)))
        #expect(try await engine.primaryKeys() == Set(tables.map { "\($0.name)(\($0.key))" }))
    }

    @Test func `a table follows its owner`() {
        for (number, table) in StoreTable.all.enumerated() {
            guard case .row(let owner, _) = table.owner else { continue }
            #expect(StoreTable.all.prefix(number).contains { $0.name == owner }, "\(table.name)")
        }
    }

    /// Whatever leads to another table ends at a quota, a limit, or what operators make.
    @Test func `every bound ends at a quota or limit`() throws {
        let bounds = Dictionary(uniqueKeysWithValues: StoreTable.all.map { ($0.name, $0.rows) })
        for (table, first) in bounds {
            var (bound, steps) = (first, 0)
            while let next = Self.next(bound) {
                bound = try #require(bounds[next], "\(table)")
                steps += 1
                try #require(steps < 8, "\(table)")
            }
            if case .quota(let quota) = bound { #expect(Quotas.standard[quota] != nil, "\(table)") }
            if case .limit(let limit) = bound { #expect(limit.most > 0, "\(table)") }
        }
    }

    private static func next(_ bound: StoreTable.RowBound) -> String? {
        switch bound {
        case .perRow(let table, let most): most > 0 ? table : "nowhere"
        case .derived(let table): table
        case .quota, .limit, .retention, .operators: nil
        }
    }

    @Test func `both engines have the copied columns`() async throws {
        var columns: Set<[String]> = []
        for engine in Engine.allCases {
            try await engine.withStore(clock: ManualClock()) { store in
                columns.insert(try await store.copiedTables().map { "\($0.name): \($0.columnNames)" })
            }
        }
        #expect(columns.count == 1)
    }

    @Test(arguments: Engine.allCases)
    func `rows behind a key of any copied table are read`(engine: Engine) async throws {
        try await engine.withStore(clock: ManualClock()) { store in
            for table in try await store.copiedTables() {
                let key = table.columns.prefix(table.keyCount).map { column -> BulkValue in
                    switch column.kind {
                    case .integer, .flag: .integer(.max)
                    case .real: .real(.infinity)
                    case .text: .text("z")
                    case .bytes, .uuid: .bytes([UInt8](repeating: 0xFF, count: 16))
                    }
                }
                #expect(try await store.rows(of: table, after: key, limit: 1).isEmpty, "\(table.name)")
            }
        }
    }
}

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

    @Test func `both engines have the copied columns`() async throws {
        var columns: Set<[String]> = []
        for engine in Engine.allCases {
            try await engine.withStore(clock: ManualClock()) { store in
                columns.insert(try await store.copiedTables().map { "\($0.name): \($0.columnNames)" })
            }
        }
        #expect(columns.count == 1)
    }
}

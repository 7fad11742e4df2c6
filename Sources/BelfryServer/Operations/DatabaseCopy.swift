import BelfryService

/// Copies a whole database into an empty one, table by table, and compares both at the end.
///
/// An interrupted copy continues where it stopped. No server serves from it before `Store.endImport`.
package struct DatabaseCopy: Sendable {
    let source: any Store
    let target: any Store

    /// The progress of a table.
    package struct Progress: Sendable {
        package let table: String
        package let rows: Int
        package let rowsInAll: Int
    }

    /// The contents of a table in both databases.
    package struct Verdict: Sendable {
        package let table: String
        package let rows: Int
        package let digest: UInt64
    }

    package struct Difference: Error, CustomStringConvertible {
        let table: String
        let source: Digest
        let target: Digest

        package var description: String {
            "the copy of \(table) differs: \(source.rows) rows and digest \(source.sum) there, "
                + "\(target.rows) rows and digest \(target.sum) here. The old database was changed since the copy began: start it "
                + "again; where they still differ, empty the new database first (delete the file, or drop and create the database)"
        }
    }

    package func run(_ report: (Progress) -> Void) async throws {
        for table in try await target.copiedTables() { try await copy(table, report) }
    }

    /// Throws `Difference` at the first table whose rows differ.
    package func compare() async throws -> [Verdict] {
        var verdicts: [Verdict] = []
        for table in try await target.copiedTables() {
            let (there, here) = (try await digest(of: table, in: source), try await digest(of: table, in: target))
            guard there == here else { throw Difference(table: table.name, source: there, target: here) }
            verdicts.append(Verdict(table: table.name, rows: here.rows, digest: here.sum))
        }
        return verdicts
    }

    private func copy(_ table: BulkTable, _ report: (Progress) -> Void) async throws {
        let rowsInAll = try await source.count(of: table)
        var count = try await target.count(of: table)
        var last = try await target.lastKey(of: table)
        while true {
            let rows = try await source.rows(of: table, after: last, limit: table.rowsAtOnce)
            guard let end = rows.last else { break }
            try await target.write(rows, to: table)
            last = table.key(of: end)
            count += rows.count
            report(Progress(table: table.name, rows: count, rowsInAll: rowsInAll))
        }
        if table.isNumbered { try await target.setLastNumber(source.lastNumber(of: table.name), of: table.name) }
    }

    private func digest(of table: BulkTable, in store: any Store) async throws -> Digest {
        var digest = Digest()
        var last: [BulkValue]?
        while true {
            let rows = try await store.rows(of: table, after: last, limit: table.rowsAtOnce)
            guard let end = rows.last else { return digest }
            for row in rows { digest.add(row) }
            last = table.key(of: end)
        }
    }

    /// A sum of the hashes of rows, independent of their order.
    struct Digest: Sendable, Hashable {
        private(set) var rows = 0
        private(set) var sum: UInt64 = 0

        private static let hash = SipHash(key0: 0, key1: 0)

        mutating func add(_ row: [BulkValue]) {
            var bytes: [UInt8] = []
            for value in row { value.append(to: &bytes) }
            rows += 1
            sum &+= Self.hash.hash(bytes)
        }
    }
}

extension BulkTable {
    /// Rows per chunk.
    fileprivate var rowsAtOnce: Int { columns.contains { $0.name == "content" } ? 50 : 2_000 }
}

extension BulkValue {
    /// A byte for its kind, its length where that varies, and its bytes.
    fileprivate func append(to bytes: inout [UInt8]) {
        func append(_ number: UInt64) { withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) } }
        switch self {
        case .null: bytes.append(0)
        case .integer(let value):
            bytes.append(1)
            append(UInt64(bitPattern: value))
        case .real(let value):
            bytes.append(2)
            append(value.bitPattern)
        case .text(let value):
            bytes.append(3)
            append(UInt64(value.utf8.count))
            bytes.append(contentsOf: value.utf8)
        case .bytes(let value):
            bytes.append(4)
            append(UInt64(value.count))
            bytes.append(contentsOf: value)
        }
    }
}

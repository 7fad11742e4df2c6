/// Rows that wait to be written together: no more than so many, and no more than came of so many bytes.
package struct ImportWindow: Sendable {
    private let rowsMax: Int
    private var rows: [ImportReader.Row] = []
    private var bytes = 0

    /// The text of a window's rows, in bytes; a single row may have 1 MiB.
    package static let bytesMax = 2 << 20

    package init(rowsMax: Int) { self.rowsMax = rowsMax }

    /// Returns the rows of a window that is full with this one.
    package mutating func add(_ row: ImportReader.Row) -> [ImportReader.Row]? {
        rows.append(row)
        bytes += row.bytes
        return rows.count >= rowsMax || bytes >= Self.bytesMax ? rest() : nil
    }

    /// The rows that wait, which then wait no more.
    package mutating func rest() -> [ImportReader.Row] {
        defer { (rows, bytes) = ([], 0) }
        return rows
    }
}

/// Takes a list while it comes in and does its rows window by window: the one way in for the admin API and the dashboard.
///
/// What is in memory is bounded by a window and a piece, however short the rows are.
package struct ImportIntake: Sendable {
    package var recorded: RecordedImport
    private var reader: ImportReader
    private var waiting = ImportWindow(rowsMax: RecordedImport.windowRows)
    /// Rows of the list before the part of it that comes in.
    private let before: Int

    package var ignoredColumns: IgnoredColumns? { reader.ignoredColumns }

    /// Does some rows; returns false where none are to be done after them.
    package typealias Write = (inout RecordedImport, [ImportReader.Row]) async throws -> Bool

    package init(into recorded: RecordedImport, behind before: Int = 0) throws(InvalidInput) {
        let source = recorded.job.source
        let mapping: ImportMapping = if let text = source.mapping { try ImportMapping(text) } else { .standard }
        reader = ImportReader(source.format, mapping: mapping, skipping: recorded.job.position - before)
        self.recorded = recorded
        self.before = before
    }

    /// Returns false where `write` did.
    package mutating func take(_ bytes: some Collection<UInt8>, _ write: Write) async throws -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = rest.prefix(ImportReader.pieceBytes)
            rest = rest[piece.endIndex...]
            guard try await take(try reader.read(piece), write) else { return false }
        }
        return true
    }

    /// To be called at the end of the list, once all of it was taken.
    package mutating func finish(_ write: Write) async throws -> Bool {
        guard try await take(try reader.finish(), write) else { return false }
        return try await write(&recorded, waiting.rest())
    }

    private mutating func take(_ rows: [ImportReader.Row], _ write: Write) async throws -> Bool {
        for row in rows {
            guard let full = waiting.add(row.moved(by: before)) else { continue }
            guard try await write(&recorded, full) else { return false }
        }
        return true
    }
}

extension ImportReader.Row {
    fileprivate func moved(by rows: Int) -> ImportReader.Row {
        ImportReader.Row(number: number + rows, outcome: outcome, bytes: bytes, columns: columns)
    }
}

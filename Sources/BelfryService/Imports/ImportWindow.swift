/// Rows that wait to be written together, limited in number and in bytes of text.
package struct ImportWindow: Sendable {
    private let rowsMax: Int
    private var rows: [ImportReader.Row] = []
    private var bytes = 0

    /// The text of a window's rows, in bytes; a single row may have 1 MiB.
    package static let bytesMax = 2 << 20

    package init(rowsMax: Int) { self.rowsMax = rowsMax }

    /// Adds a row; returns all rows if the window is full then.
    package mutating func add(_ row: ImportReader.Row) -> [ImportReader.Row]? {
        rows.append(row)
        bytes += row.bytes
        return rows.count >= rowsMax || bytes >= Self.bytesMax ? rest() : nil
    }

    /// Removes and returns the waiting rows.
    package mutating func rest() -> [ImportReader.Row] {
        defer { (rows, bytes) = ([], 0) }
        return rows
    }
}

/// Takes a list while it streams in and processes its rows window by window, for the admin API and the dashboard.
///
/// At most a window and a piece are in memory, however short the rows are.
package struct ImportIntake: Sendable {
    package var recorded: RecordedImport
    private var reader: ImportReader
    private var waiting = ImportWindow(rowsMax: RecordedImport.windowRows)
    /// The number of rows before this part of the list.
    private let before: Int

    package var ignoredColumns: IgnoredColumns? { reader.ignoredColumns }

    /// Processes some rows; returns false to stop.
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
            guard try await step(write, { reader throws(InvalidInput) in try reader.read(piece) }) else { return false }
        }
        return true
    }

    /// Called at the end of the list.
    package mutating func finish(_ write: Write) async throws -> Bool {
        let isPart = recorded.job.position > 0
        guard try await step(write, { reader throws(InvalidInput) in try reader.finish(isPart: isPart) }) else {
            return false
        }
        return try await write(&recorded, waiting.rest())
    }

    /// Reads some rows. Where the list cannot be read any further, the rows before that are processed before it throws.
    private mutating func step(
        _ write: Write, _ read: (inout ImportReader) throws(InvalidInput) -> [ImportReader.Row]
    ) async throws -> Bool {
        let rows: [ImportReader.Row]
        do throws(InvalidInput) { rows = try read(&reader) } catch {
            guard try await write(&recorded, waiting.rest()) else { return false }
            throw error
        }
        return try await take(rows, write)
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

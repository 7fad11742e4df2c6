/// Reads the list of another service while it streams in. Rows are numbered from 1; each is readable or has a reason why not.
package struct ImportReader: Sendable {
    package struct Row: Sendable, Hashable {
        package let number: Int
        package let outcome: Result<ImportRow, InvalidInput>
        /// The length of the row's text.
        package let bytes: Int
        /// The column of each field, by the field's name in faults.
        package let columns: [String: String]

        package init(
            number: Int, outcome: Result<ImportRow, InvalidInput>, bytes: Int = 0, columns: [String: String] = [:]
        ) {
            self.number = number
            self.outcome = outcome
            self.bytes = bytes
            self.columns = columns
        }
    }

    private var splitter: any RowSplitter
    private let parser: any ImportRowParser
    private let columnNames: [String: String]
    private var csv: CSVHeader?
    private var count = 0
    /// Rows up to this one are skipped unread.
    private let skipped: Int
    private var pieces: [RowPiece] = []
    /// Why the rest of the text cannot be read.
    private var fault: InvalidInput?

    /// - Parameter skipped: the number of rows that were done before.
    package init(_ format: ImportFormat, mapping: ImportMapping = .standard, skipping skipped: Int = 0) {
        self.skipped = skipped
        switch format {
        case .pcf: (splitter, parser) = (PageSplitter(member: "registrations"), PCFImport())
        case .sns: (splitter, parser) = (PageSplitter(member: "Endpoints"), SNSImport())
        case .parse: (splitter, parser) = (PageSplitter(member: "results"), ParseImport())
        case .airship: (splitter, parser) = (PageSplitter(member: "channels"), AirshipImport())
        case .pinpoint: (splitter, parser) = (LineSplitter(), PinpointImport())
        case .azure: (splitter, parser) = (LineSplitter(), AzureImport())
        case .jsonl: (splitter, parser) = (LineSplitter(), MappedImport(mapping: mapping))
        case .onesignal:
            (splitter, parser) = (CSVSplitter(), OneSignalImport())
            csv = CSVHeader(required: ["id", "identifier", "device_type"])
        case .csv:
            (splitter, parser) = (CSVSplitter(), MappedImport(mapping: mapping))
            csv = CSVHeader(required: [mapping.column(.token)])
        }
        columnNames = parser.columnNames
    }

    /// The columns of the header that nothing reads; nil for formats without a header, and before it was read.
    package var ignoredColumns: IgnoredColumns? { csv?.ignored }

    /// Reads a single registration of PCF, from the list of a platform.
    package static func pcfRow(_ bytes: [UInt8], of platform: Platform) -> Result<ImportRow, InvalidInput> {
        do throws(InvalidInput) {
            var row = try PCFImport().row(bytes)
            row.platform = platform.uuid
            return .success(row)
        } catch {
            return .failure(error)
        }
    }

    /// The bytes read at once. A row takes two bytes at least, and some hundred in memory.
    package static let pieceBytes = 4_096

    /// Reads a text of any length, and hands its rows over in pieces, so that few are in memory.
    package mutating func read(_ bytes: some Collection<UInt8>, _ take: ([Row]) async throws -> Void) async throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = rest.prefix(Self.pieceBytes)
            rest = rest[piece.endIndex...]
            try await take(try read(piece))
        }
    }

    /// Where the rest of the text cannot be read, it returns the rows before that, and throws `InvalidInput` from the next call on.
    package mutating func read(_ bytes: some Sequence<UInt8>) throws(InvalidInput) -> [Row] {
        if let fault { throw fault }
        do throws(InvalidInput) { try splitter.feed(bytes, into: &pieces) } catch { fault = error }
        return try rows()
    }

    /// Called at the end of the text.
    ///
    /// - Parameter isPart: whether the text is a later part of a list, which may be empty.
    package mutating func finish(isPart: Bool = false) throws(InvalidInput) -> [Row] {
        if let fault { throw fault }
        try splitter.finish(into: &pieces)
        let rows = try self.rows()
        guard isPart || csv?.isRead != false else { throw CSVHeader.missing }
        return rows
    }

    private mutating func rows() throws(InvalidInput) -> [Row] {
        var rows: [Row] = []
        for piece in pieces {
            if csv?.isRead == false {
                let known = parser.columns
                try csv?.read(piece, known: known)
                continue
            }
            count += 1
            guard count > skipped else { continue }
            rows.append(Row(number: count, outcome: outcome(of: piece), bytes: piece.bytes, columns: columnNames))
        }
        pieces.removeAll(keepingCapacity: true)
        return rows
    }

    private func outcome(of piece: RowPiece) -> Result<ImportRow, InvalidInput> {
        guard case .row(let bytes) = piece else {
            guard case .fault(let problem) = piece else { return .failure(InvalidInput(field: "row", "is missing")) }
            return .failure(InvalidInput(field: "row", problem))
        }
        do throws(InvalidInput) {
            if let csv { return .success(try parser.row(fields: try csv.fields(of: bytes))) }
            return .success(try parser.row(bytes))
        } catch {
            return .failure(error)
        }
    }
}

/// Reads the rows of one service's list.
protocol ImportRowParser: Sendable {
    func row(_ bytes: [UInt8]) throws(InvalidInput) -> ImportRow
    /// - Parameter fields: by the names of the columns.
    func row(fields: [String: String]) throws(InvalidInput) -> ImportRow
    /// The columns of comma-separated values that it reads.
    var columns: Set<String> { get }
    /// The column of each field whose value is judged later, by the field's name in faults.
    var columnNames: [String: String] { get }
}

extension ImportRowParser {
    var columns: Set<String> { [] }
    var columnNames: [String: String] { [:] }

    func row(_ bytes: [UInt8]) throws(InvalidInput) -> ImportRow {
        throw InvalidInput(field: "row", "is no record of comma-separated values")
    }

    func row(fields: [String: String]) throws(InvalidInput) -> ImportRow {
        throw InvalidInput(field: "row", "is a record of comma-separated values")
    }
}

/// The columns of a CSV that nothing reads.
package struct IgnoredColumns: Sendable, Hashable {
    /// Columns that have no meaning here; the first `namedMax` of them.
    package let unread: [String]
    /// Columns that occur more than once; the first one of each is read.
    package let repeated: [String]

    /// The most columns of each kind that are listed.
    package static let namedMax = 40
    private static let nameBytesMax = 64

    init(_ names: [String], known: Set<String>) {
        var seen: Set<String> = []
        let others = names.filter { !seen.insert($0).inserted }
        unread = Self.named(names.filter { !known.contains($0) })
        repeated = Self.named(others)
    }

    private static func named(_ names: [String]) -> [String] {
        names.withoutRepeats.prefix(namedMax).map { $0.prefix(bytes: nameBytesMax) }
    }
}

/// The columns of a CSV, from its first record.
private struct CSVHeader: Sendable {
    let required: [String]
    private(set) var ignored: IgnoredColumns?
    private var count = 0
    /// Where the columns are that have a meaning here.
    private var places: [String: Int] = [:]

    init(required: [String]) { self.required = required }

    var isRead: Bool { ignored != nil }

    static let missing = InvalidInput(field: "the file", "has no line with the names of its columns")

    mutating func read(_ piece: RowPiece, known: Set<String>) throws(InvalidInput) {
        guard case .row(let bytes) = piece else { throw Self.missing }
        guard !bytes.starts(with: [0xFF, 0xFE]), !bytes.starts(with: [0xFE, 0xFF]) else {
            throw InvalidInput(field: "the file", "is in UTF-16, it has to be in UTF-8")
        }
        guard !bytes.starts(with: [0x1F, 0x8B]), !bytes.starts(with: [0x50, 0x4B, 0x03, 0x04]) else {
            throw InvalidInput(field: "the file", "is packed, or a spreadsheet: unpack it, or save it as CSV")
        }
        let names = try CSVSplitter.fields(of: bytes)
        for name in required where !names.contains(name) {
            let found = names.prefix(IgnoredColumns.namedMax).joined(separator: ", ").prefix(bytes: 1_024)
            // As spreadsheets of some countries write it.
            let hint = names.count == 1 && found.contains(";") ? "; commas have to be between them" : ""
            throw InvalidInput(field: "the file", "has no column '\(name)', it has \(found)\(hint)")
        }
        count = names.count
        for (place, name) in names.enumerated() where known.contains(name) && places[name] == nil {
            places[name] = place
        }
        ignored = IgnoredColumns(names, known: known)
    }

    /// The values of known columns, by name. Reading the names once keeps the cost of a row linear in its own length.
    func fields(of record: [UInt8]) throws(InvalidInput) -> [String: String] {
        let values = try CSVSplitter.fields(of: record)
        guard values.count == count else {
            throw InvalidInput(field: "row", "has \(values.count) values, there are \(count) columns")
        }
        return places.mapValues { values[$0] }
    }
}

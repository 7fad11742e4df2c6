/// Reads the list of another service while it streams in: bytes become rows, numbered from 1, each of which can be read or says
/// why not.
package struct ImportReader: Sendable {
    package struct Row: Sendable, Hashable {
        package let number: Int
        package let outcome: Result<ImportRow, InvalidInput>
        /// The length of the text that it comes of.
        package let bytes: Int

        package init(number: Int, outcome: Result<ImportRow, InvalidInput>, bytes: Int = 0) {
            self.number = number
            self.outcome = outcome
            self.bytes = bytes
        }
    }

    private var splitter: any RowSplitter
    private let parser: any ImportRowParser
    private var csv: CSVHeader?
    private var count = 0
    /// Rows up to this one are passed over unread.
    private let skipped: Int
    private var pieces: [RowPiece] = []

    /// - Parameter skipped: how many rows were done before.
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
    }

    /// A registration of PCF that was read by itself, for a platform that is known.
    package static func pcfRow(_ bytes: [UInt8], kind: PlatformKind) -> Result<ImportRow, InvalidInput> {
        do throws(InvalidInput) {
            var row = try PCFImport().row(bytes)
            row.kinds = [kind]
            return .success(row)
        } catch {
            return .failure(error)
        }
    }

    /// What is read at once: a row takes two bytes at least, and some hundred in memory.
    package static let pieceBytes = 4_096

    /// Reads a text of any length, and hands its rows over some at a time, so that no more of them are in memory.
    package mutating func read(_ bytes: some Collection<UInt8>, _ take: ([Row]) async throws -> Void) async throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = rest.prefix(Self.pieceBytes)
            rest = rest[piece.endIndex...]
            try await take(try read(piece))
        }
    }

    /// Throws `InvalidInput` where what follows cannot be read.
    package mutating func read(_ bytes: some Sequence<UInt8>) throws(InvalidInput) -> [Row] {
        try splitter.feed(bytes, into: &pieces)
        return try rows()
    }

    /// To be called at the end of the text.
    package mutating func finish() throws(InvalidInput) -> [Row] {
        try splitter.finish(into: &pieces)
        return try rows()
    }

    private mutating func rows() throws(InvalidInput) -> [Row] {
        var rows: [Row] = []
        for piece in pieces {
            if csv?.names == nil, csv != nil {
                try csv?.read(piece)
                continue
            }
            count += 1
            guard count > skipped else { continue }
            rows.append(Row(number: count, outcome: outcome(of: piece), bytes: piece.bytes))
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

/// What one service's rows mean.
protocol ImportRowParser: Sendable {
    func row(_ bytes: [UInt8]) throws(InvalidInput) -> ImportRow
    /// - Parameter fields: by the names of the columns.
    func row(fields: [String: String]) throws(InvalidInput) -> ImportRow
}

extension ImportRowParser {
    func row(_ bytes: [UInt8]) throws(InvalidInput) -> ImportRow {
        throw InvalidInput(field: "row", "is no record of comma-separated values")
    }

    func row(fields: [String: String]) throws(InvalidInput) -> ImportRow {
        throw InvalidInput(field: "row", "is a record of comma-separated values")
    }
}

/// The names of the columns of a CSV, which stand in its first record.
private struct CSVHeader: Sendable {
    let required: [String]
    private(set) var names: [String]?

    init(required: [String]) { self.required = required }

    mutating func read(_ piece: RowPiece) throws(InvalidInput) {
        guard case .row(let bytes) = piece else {
            throw InvalidInput(field: "the file", "has no line with the names of its columns")
        }
        let names = try CSVSplitter.fields(of: bytes)
        for name in required where !names.contains(name) {
            throw InvalidInput(
                field: "the file",
                "has no column '\(name)', it has \(names.prefix(40).joined(separator: ", ").prefix(bytes: 1_024))")
        }
        self.names = names
    }

    func fields(of record: [UInt8]) throws(InvalidInput) -> [String: String] {
        let values = try CSVSplitter.fields(of: record)
        let names = names ?? []
        guard values.count == names.count else {
            throw InvalidInput(field: "row", "has \(values.count) values, there are \(names.count) columns")
        }
        return Dictionary(zip(names, values)) { first, _ in first }
    }
}

/// Splits comma-separated values into records. A record is a line, or several where a line end stands between quotes.
///
/// Source: RFC 4180 §2.
struct CSVSplitter: RowSplitter {
    /// Where in its field the next byte stands. A quote opens a field at its start alone.
    private enum Place { case start, plain, quoted, closed }

    private var record: [UInt8] = []
    private var place = Place.start
    /// After a record that is too long, the rest of its line is skipped.
    private var isSkipping = false

    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    mutating func feed(_ bytes: some Sequence<UInt8>, into rows: inout [RowPiece]) {
        for byte in bytes { take(byte, &rows) }
    }

    private mutating func take(_ byte: UInt8, _ rows: inout [RowPiece]) {
        // A line ends as on Linux, Windows or an old Mac: the record between CR and LF is empty, and skipped.
        let isLineEnd = byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
        if isSkipping {
            isSkipping = !isLineEnd
        } else if isLineEnd, place != .quoted {
            end(into: &rows)
        } else {
            place = next(after: byte)
            record.append(byte)
            if record == Self.byteOrderMark { reset() }
            guard record.count > RowPiece.bytesMax else { return }
            rows.append(place == .quoted ? .fault("has a quote that is not closed") : .tooLong)
            reset()
            isSkipping = true
        }
    }

    private func next(after byte: UInt8) -> Place {
        switch (place, byte) {
        case (.quoted, UInt8(ascii: "\"")): .closed
        case (.quoted, _), (.start, UInt8(ascii: "\"")), (.closed, UInt8(ascii: "\"")): .quoted
        case (_, UInt8(ascii: ",")): .start
        default: .plain
        }
    }

    mutating func finish(into rows: inout [RowPiece]) {
        if place == .quoted {
            rows.append(.fault("has a quote that is not closed"))
            reset()
        } else {
            end(into: &rows)
        }
    }

    private mutating func end(into rows: inout [RowPiece]) {
        if !record.isEmpty { rows.append(.row(record)) }
        reset()
    }

    private mutating func reset() {
        record.removeAll(keepingCapacity: true)
        place = .start
    }

    /// The most columns; no list has as many.
    static let columnsMax = 1_024

    static func fields(of record: [UInt8]) throws(InvalidInput) -> [String] {
        var fields: [String] = []
        var field: [UInt8] = []
        var index = 0
        let (quote, comma) = (UInt8(ascii: "\""), UInt8(ascii: ","))
        func text() throws(InvalidInput) -> String {
            let column = "column \(fields.count + 1)"
            guard let text = String(validating: field, as: UTF8.self) else {
                throw InvalidInput(field: column, "is no UTF-8")
            }
            return try text.storable(column)
        }
        while index < record.count {
            if record[index] == quote, field.isEmpty {
                index += 1
                while index < record.count {
                    if record[index] != quote {
                        field.append(record[index])
                    } else if index + 1 < record.count, record[index + 1] == quote {
                        field.append(quote)
                        index += 1
                    } else {
                        break
                    }
                    index += 1
                }
                index += 1
                guard index >= record.count || record[index] == comma else {
                    throw InvalidInput(field: "column \(fields.count + 1)", "goes on behind its closing quote")
                }
            } else if record[index] == comma {
                guard fields.count < columnsMax - 1 else {
                    throw InvalidInput(field: "row", "has more values than \(columnsMax), the limit")
                }
                fields.append(try text())
                field.removeAll(keepingCapacity: true)
                index += 1
                if index == record.count { return fields + [""] }
            } else {
                field.append(record[index])
                index += 1
            }
        }
        fields.append(try text())
        return fields
    }
}

/// Splits a text into lines; empty lines are skipped.
struct LineSplitter: RowSplitter {
    private var line: [UInt8] = []
    private var isTooLong = false

    mutating func feed(_ bytes: some Sequence<UInt8>, into rows: inout [RowPiece]) {
        for byte in bytes {
            if byte == UInt8(ascii: "\n") {
                end(into: &rows)
            } else if line.count < RowPiece.bytesMax {
                line.append(byte)
            } else {
                isTooLong = true
            }
        }
    }

    mutating func finish(into rows: inout [RowPiece]) { end(into: &rows) }

    private mutating func end(into rows: inout [RowPiece]) {
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        if line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }
        if isTooLong {
            rows.append(.tooLong)
        } else if line.contains(where: { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }) {
            rows.append(.row(line))
        }
        line.removeAll(keepingCapacity: true)
        isTooLong = false
    }
}

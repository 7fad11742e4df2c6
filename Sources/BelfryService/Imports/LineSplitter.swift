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

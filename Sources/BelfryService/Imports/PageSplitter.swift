/// Splits JSON into the objects of a page's list, `{"registrations": [{…}, {…}]}`, or of a bare list. Pages may follow one another.
///
/// It only counts brackets; the reader of a row checks that it is JSON.
struct PageSplitter: RowSplitter {
    /// The member of a page that holds its rows.
    private let member: [UInt8]
    private var row: [UInt8] = []
    /// Whether each open container is a list.
    private var isList: [Bool] = []
    /// The number of open containers at the beginning of the row; nil outside of rows.
    private var rowDepth: Int?
    private var isInString = false
    private var isEscaped = false
    /// The last string of the page itself, up to the length of `member`.
    private var name: [UInt8] = []
    /// Whether the open list is that of the rows.
    private var isInRows = false
    private var offset = 0
    private var isTooLong = false

    private static let depthMax = 64

    init(member: String) { self.member = Array(member.utf8) }

    mutating func feed(_ bytes: some Sequence<UInt8>, into rows: inout [RowPiece]) throws(InvalidInput) {
        for byte in bytes {
            try take(byte, &rows)
            offset += 1
        }
    }

    mutating func finish(into rows: inout [RowPiece]) throws(InvalidInput) {
        guard isList.isEmpty, rowDepth == nil else {
            throw InvalidInput(field: "the file", "ends after \(offset) bytes in the middle of a page")
        }
    }

    private mutating func take(_ byte: UInt8, _ rows: inout [RowPiece]) throws(InvalidInput) {
        if isInString {
            keep(byte)
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isInString = false
            } else if rowDepth == nil, name.count <= member.count {
                name.append(byte)
            }
            return
        }
        switch byte {
        case UInt8(ascii: "\""):
            beginRowIfAny()
            isInString = true
            if rowDepth == nil { name.removeAll(keepingCapacity: true) }
            keep(byte)
        case UInt8(ascii: "{"), UInt8(ascii: "["): try open(byte)
        case UInt8(ascii: "}"), UInt8(ascii: "]"): try close(byte, &rows)
        case UInt8(ascii: ","):
            if rowDepth == isList.count { end(&rows) } else { keep(byte) }
        case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"):
            keep(byte)
        default:
            guard !isList.isEmpty || (offset < 3 && byte >= 0x80) else { throw stray("no page begins with it") }
            beginRowIfAny()
            keep(byte)
        }
    }

    private mutating func open(_ byte: UInt8) throws(InvalidInput) {
        guard isList.count < Self.depthMax else { throw stray("it is nested deeper than \(Self.depthMax) levels") }
        beginRowIfAny()
        keep(byte)
        if rowDepth == nil {
            let isBare = isList.isEmpty && byte == UInt8(ascii: "[")
            isInRows = isBare || (byte == UInt8(ascii: "[") && isList == [false] && name == member)
        }
        isList.append(byte == UInt8(ascii: "["))
    }

    private mutating func close(_ byte: UInt8, _ rows: inout [RowPiece]) throws(InvalidInput) {
        if rowDepth == isList.count { end(&rows) }
        guard let wasList = isList.popLast(), wasList == (byte == UInt8(ascii: "]")) else {
            throw stray("nothing was opened that it closes")
        }
        keep(byte)
        if rowDepth == isList.count { end(&rows) }
        if rowDepth == nil, isInRows, isList.count < 2 { isInRows = isList == [true] }
    }

    private var isAtRow: Bool { isInRows && rowDepth == nil && (isList == [true] || isList == [false, true]) }

    private mutating func beginRowIfAny() {
        if isAtRow { rowDepth = isList.count }
    }

    private mutating func keep(_ byte: UInt8) {
        guard rowDepth != nil else { return }
        if row.count < RowPiece.bytesMax { row.append(byte) } else { isTooLong = true }
    }

    private mutating func end(_ rows: inout [RowPiece]) {
        rows.append(isTooLong ? .tooLong : .row(row))
        row.removeAll(keepingCapacity: true)
        (rowDepth, isTooLong) = (nil, false)
    }

    private func stray(_ problem: String) -> InvalidInput {
        InvalidInput(field: "the file", "cannot be read from byte \(offset) on: \(problem)")
    }
}

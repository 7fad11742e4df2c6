/// A row's bytes, or a fault where the splitter cannot tell a row from the rest of the text.
package enum RowPiece: Sendable, Hashable {
    case row([UInt8])
    case fault(String)

    /// The longest row; a device of 1,024 topics with 255 bytes each has a quarter of it.
    static let bytesMax = 1 << 20
    var bytes: Int { if case .row(let bytes) = self { bytes.count } else { 0 } }

    static let tooLong = RowPiece.fault("is longer than \(bytesMax) bytes")
}

/// Splits a text into rows while it streams in, with at most one row in memory.
protocol RowSplitter: Sendable {
    /// Throws `InvalidInput` where the text is not of the format; the rest cannot be read then.
    mutating func feed(_ bytes: some Sequence<UInt8>, into rows: inout [RowPiece]) throws(InvalidInput)
    /// Called at the end of the text.
    mutating func finish(into rows: inout [RowPiece]) throws(InvalidInput)
}

/// A row's bytes, or a fault where the splitter cannot tell a row from the rest of the text.
package enum RowPiece: Sendable, Hashable {
    case row([UInt8])
    case fault(String)

    /// A device of 1,024 topics with 255 bytes each has a quarter of it.
    static let bytesMax = 1 << 20
    var bytes: Int { if case .row(let bytes) = self { bytes.count } else { 0 } }

    static let tooLong = RowPiece.fault("is longer than \(bytesMax) bytes")
}

/// Tells the rows of a text apart while it streams in, with one row in memory at most.
protocol RowSplitter: Sendable {
    /// Throws `InvalidInput` where the text cannot be one of its format; nothing that follows can be read then.
    mutating func feed(_ bytes: some Sequence<UInt8>, into rows: inout [RowPiece]) throws(InvalidInput)
    /// To be called at the end of the text.
    mutating func finish(into rows: inout [RowPiece]) throws(InvalidInput)
}

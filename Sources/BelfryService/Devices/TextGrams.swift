/// Numbers by which a text is found from any sufficiently long part of it.
///
/// A gram stands for four consecutive bytes. Of an indexed text, the grams at even positions are kept, half of all. A
/// part of it may begin at an even position or an odd one, so one of its two sequences of grams is among the kept
/// ones. Two groups of bytes may share a number, so matches must be verified.
package enum TextGrams {
    /// The shortest part that has a gram in both sequences.
    package static let partBytesMin = 5
    /// All grams are below this.
    package static let count = 1 << 16

    private static let width = 4
    /// The most grams of a sequence; more would not narrow the search further.
    private static let sequenceMax = 4

    /// Calls `body` with each gram that a text is indexed under. A gram may come twice.
    package static func each(in text: ArraySlice<UInt8>, _ body: (UInt16) -> Void) {
        var place = text.startIndex
        while place + width <= text.endIndex {
            body(gram(text, at: place))
            place += 2
        }
    }

    /// A text that contains `part` is indexed under all grams of one of these sequences; nil when the part is too
    /// short.
    package static func sequences(in part: [UInt8]) -> [[UInt16]]? {
        guard part.count >= partBytesMin else { return nil }
        return [0, 1].map { start in
            let places = stride(from: start, through: part.count - width, by: 2)
            // The end distinguishes ids better than the beginning, which they often share.
            return Array(Set(places.suffix(sequenceMax).map { gram(part[...], at: $0) }))
        }
    }

    private static func gram(_ text: ArraySlice<UInt8>, at place: Int) -> UInt16 {
        var word: UInt32 = 0
        for offset in 0..<width { word = word << 8 | UInt32(text[place + offset]) }
        // The upper half of a product with an odd number of golden ratio. Source: Knuth, TAOCP 3, §6.4.
        return UInt16(truncatingIfNeeded: (word &* 0x9E37_79B1) >> 16)
    }
}

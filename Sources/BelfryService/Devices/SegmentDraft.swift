/// Devices that are indexed together, and the postings that find them.
package struct SegmentDraft: Sendable {
    package private(set) var devices: [Key<Device>] = []
    /// A gram, and the position of a device whose text has it; by position.
    private var entries: [UInt32] = []

    /// The most devices of a segment: a posting of this many fills a quarter of a database page.
    package static let devicesMax = 1 << placeBits
    private static let placeBits: UInt32 = 13

    /// Grams whose postings are in one block.
    private static let gramsPerBlock = 64
    package static let blockCount = TextGrams.count / gramsPerBlock

    package init() {}

    package mutating func add(_ device: Key<Device>, _ text: DeviceText) {
        precondition(devices.count < Self.devicesMax, "a segment is full")
        let place = UInt32(devices.count)
        devices.append(device)
        for field in text.fields {
            TextGrams.each(in: field) { entries.append(UInt32($0) << Self.placeBits | place) }
        }
    }

    /// Calls `body` with the content of each block that is not empty.
    package func blocks(_ body: (Int, [UInt8]) throws -> Void) rethrows {
        let sorted = sortedEntries()
        let blockBits = Self.placeBits + 6
        var start = 0
        while start < sorted.count {
            let block = sorted[start] >> blockBits
            var end = start + 1
            while end < sorted.count, sorted[end] >> blockBits == block { end += 1 }
            try body(Int(block), SearchPosting.encode(sorted[start..<end], mask: 1 << blockBits - 1))
            start = end
        }
    }

    /// The entries by gram, then by position: they are sorted by position already, so a counting sort by gram is enough.
    private func sortedEntries() -> [UInt32] {
        var starts = [Int](repeating: 0, count: TextGrams.count + 1)
        for entry in entries { starts[Int(entry >> Self.placeBits) + 1] += 1 }
        for gram in 1...TextGrams.count { starts[gram] += starts[gram - 1] }
        var sorted = [UInt32](repeating: 0, count: entries.count)
        for entry in entries {
            let gram = Int(entry >> Self.placeBits)
            sorted[starts[gram]] = entry
            starts[gram] += 1
        }
        return sorted
    }

    package static func block(of gram: UInt16) -> Int { Int(gram) / gramsPerBlock }

    /// The prefix of this gram's positions in a block's content.
    fileprivate static func prefix(of gram: UInt16) -> UInt32 { UInt32(gram) % UInt32(gramsPerBlock) }

    /// The positions of a gram in the content of its block, ascending.
    package static func places(of gram: UInt16, in block: UnsafeRawBufferPointer) -> [UInt16] {
        let wanted = prefix(of: gram)
        var places: [UInt16] = []
        SearchPosting.decode(block) { entry in
            let found = entry >> placeBits
            if found == wanted { places.append(UInt16(entry & (1 << placeBits - 1))) }
            return found <= wanted
        }
        return places
    }

    /// The positions that have all the grams, ascending.
    package static func places(ofAll grams: [UInt16], lookUp: (UInt16) throws -> [UInt16]) rethrows -> [UInt16] {
        var common: [UInt16]?
        for gram in grams {
            let places = try lookUp(gram)
            common = common.map { $0.common(with: places) } ?? places
            if common?.isEmpty ?? true { return [] }
        }
        return common ?? []
    }
}

extension [UInt16] {
    /// The common elements of two ascending lists.
    fileprivate func common(with other: [UInt16]) -> [UInt16] {
        var common: [UInt16] = []
        var (mine, theirs) = (startIndex, other.startIndex)
        while mine < endIndex, theirs < other.endIndex {
            if self[mine] == other[theirs] { common.append(self[mine]) }
            let (left, right) = (self[mine], other[theirs])
            if left <= right { mine += 1 }
            if right <= left { theirs += 1 }
        }
        return common
    }
}

/// Ascending numbers as differences of variable length.
private enum SearchPosting {
    /// Leaves out duplicates.
    static func encode(_ entries: ArraySlice<UInt32>, mask: UInt32) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(entries.count * 2)
        var last: UInt32?
        for entry in entries {
            let value = entry & mask
            guard value != last else { continue }
            var difference = value - (last ?? 0)
            while difference >= 0x80 {
                bytes.append(UInt8(truncatingIfNeeded: difference) | 0x80)
                difference >>= 7
            }
            bytes.append(UInt8(difference))
            last = value
        }
        return bytes
    }

    /// Calls `body` with each number until it returns false.
    static func decode(_ bytes: UnsafeRawBufferPointer, _ body: (UInt32) -> Bool) {
        var value: UInt32 = 0
        var difference: UInt32 = 0
        var shift: UInt32 = 0
        for byte in bytes {
            difference |= UInt32(byte & 0x7F) << shift
            shift += 7
            guard byte < 0x80 else { continue }
            value &+= difference
            guard body(value) else { return }
            (difference, shift) = (0, 0)
        }
    }
}

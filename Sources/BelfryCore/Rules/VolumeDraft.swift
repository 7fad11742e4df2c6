/// Devices that are catalogued together, and the cards by which they are found.
package struct VolumeDraft: Sendable {
    package private(set) var devices: [Key<Device>] = []
    /// A gram, and the place of a device whose text has it; by place.
    private var entries: [UInt32] = []

    /// The most devices of a volume: so many that a card of it fills a quarter of a database page.
    package static let devicesMax = 1 << placeBits
    private static let placeBits: UInt32 = 13

    /// Grams whose cards lie in one drawer.
    private static let gramsPerDrawer = 64
    package static let drawerCount = TextGrams.count / gramsPerDrawer

    package init() {}

    package mutating func add(_ device: Key<Device>, _ text: DeviceText) {
        precondition(devices.count < Self.devicesMax, "a volume is full")
        let place = UInt32(devices.count)
        devices.append(device)
        for field in text.fields {
            TextGrams.each(in: field) { entries.append(UInt32($0) << Self.placeBits | place) }
        }
    }

    /// Calls `body` with the content of each drawer that has any.
    package func drawers(_ body: (Int, [UInt8]) throws -> Void) rethrows {
        let sorted = sortedEntries()
        let drawerBits = Self.placeBits + 6
        var start = 0
        while start < sorted.count {
            let drawer = sorted[start] >> drawerBits
            var end = start + 1
            while end < sorted.count, sorted[end] >> drawerBits == drawer { end += 1 }
            try body(Int(drawer), Card.encode(sorted[start..<end], mask: 1 << drawerBits - 1))
            start = end
        }
    }

    /// By gram, then by place: they lie by place already, so the grams are counted out.
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

    package static func drawer(of gram: UInt16) -> Int { Int(gram) / gramsPerDrawer }

    /// What a drawer's content begins the places of this gram with.
    fileprivate static func prefix(of gram: UInt16) -> UInt32 { UInt32(gram) % UInt32(gramsPerDrawer) }

    /// The places of a gram in the content of its drawer, ascending.
    package static func places(of gram: UInt16, in drawer: UnsafeRawBufferPointer) -> [UInt16] {
        let wanted = prefix(of: gram)
        var places: [UInt16] = []
        Card.decode(drawer) { entry in
            let found = entry >> placeBits
            if found == wanted { places.append(UInt16(entry & (1 << placeBits - 1))) }
            return found <= wanted
        }
        return places
    }

    /// The places that have all the grams, ascending.
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
    /// Of two ascending lists, what stands in both.
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
private enum Card {
    /// Leaves out what stands twice.
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

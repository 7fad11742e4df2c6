/// A stable part of all users, in percent: `0-25@spring` is a quarter of them, and `25-50@spring` is another.
///
/// A user's devices are together. Different seeds cut independently of each other.
package struct AudienceShare: Sendable, Hashable {
    package let seed: String
    /// From 0 to 99.
    package let from: Int
    /// From 1 to 100; not in the part.
    package let to: Int

    package init(seed: String, from: Int, to: Int) { (self.seed, self.from, self.to) = (seed, from, to) }

    /// Reads `0-25@spring`.
    package init(_ text: String, field: String) throws(InvalidInput) {
        let problem = InvalidInput(
            field: field, "is '\(text.prefix(64))', it has to be such as 0-25@spring: percents, and a name for the draw"
        )
        let parts = text.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
        let bounds = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, bounds.count == 2, let from = Int(bounds[0]), let to = Int(bounds[1]), from >= 0,
            from < to, to <= 100
        else { throw problem }
        let seed = try String(parts[1]).asName(field: field)
        guard seed.utf8.count <= 200 else {
            throw InvalidInput(field: field, "has a name of \(seed.utf8.count) bytes, the limit is 200")
        }
        self.init(seed: seed, from: from, to: to)
    }

    package var text: String { "\(from)-\(to)@\(seed)" }

    func holds(_ holder: String) -> Bool { from..<to ~= Self.percent(of: holder, seed) }

    /// A number from 0 to 99 that is the same on every node and in every release.
    static func percent(of holder: String, _ seed: String) -> Int {
        // FNV-1a, and the finalizer of MurmurHash3, since the last bytes alone would else move neighbours little.
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in seed.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        hash = (hash ^ 0xFF) &* 0x100_0000_01B3
        for byte in holder.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        hash = (hash ^ hash >> 33) &* 0xFF51_AFD7_ED55_8CCD
        hash = (hash ^ hash >> 33) &* 0xC4CE_B9FE_1A85_EC53
        return Int((hash ^ hash >> 33) % 100)
    }
}

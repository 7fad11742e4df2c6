/// A set of 64-bit hashes by open addressing: 8 bytes for each slot, at most three quarters full.
struct HashSet64 {
    private var slots: [UInt64] = Array(repeating: 0, count: 16)
    private var used = 0
    /// Marks a slot whose hash was removed, so that searches skip it.
    private static let removed: UInt64 = 1

    /// Whether the hash was new.
    mutating func insert(_ hash: UInt64) -> Bool {
        let hash = Self.allowed(hash)
        if used * 4 >= slots.count * 3 { grow() }
        let slot = slot(of: hash)
        guard slots[slot] != hash else { return false }
        slots[slot] = hash
        used += 1
        return true
    }

    mutating func remove(_ hash: UInt64) {
        let slot = slot(of: Self.allowed(hash))
        if slots[slot] != 0 { slots[slot] = Self.removed }
    }

    private func slot(of hash: UInt64) -> Int {
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: hash >> 7) & mask
        while slots[slot] != 0, slots[slot] != hash { slot = (slot + 1) & mask }
        return slot
    }

    private mutating func grow() {
        let old = slots
        slots = Array(repeating: 0, count: old.count * 2)
        used = 0
        for hash in old where hash > Self.removed {
            slots[slot(of: hash)] = hash
            used += 1
        }
    }

    private static func allowed(_ hash: UInt64) -> UInt64 { hash > removed ? hash : hash + 2 }
}

import Foundation

/// One stripe of a ledger: an open-addressing table over raw token bytes, 36 bytes and the token itself for each entry.
struct LedgerTable {
    struct Entry {
        var keyStart: UInt32
        var keyCount: UInt16
        /// The status of the last answer; 0 before the first.
        var lastStatus: UInt16 = 0
        var told: UInt32 = 0
        var answered: UInt32 = 0
        var refused: UInt32 = 0
        var duplicateIDs: UInt32 = 0
        var firstAt: Int64
        var lastAt: Int64
    }

    private(set) var entries: [Entry] = []
    /// Index into `entries` plus one; 0 is a free slot. The count is a power of two.
    private var slots: [UInt32] = Array(repeating: 0, count: 16)
    private var keys: [UInt8] = []
    private var ids = HashSet64()
    private var kept: [Int: LedgerRequest] = [:]
    private var told = 0
    private var accepted: [Int: Int] = [:]
    private var duplicateIDs = 0
    private var refusals: [LedgerAnswer: Int] = [:]

    mutating func recordTold(
        _ token: UnsafeRawBufferPointer, hash: UInt64, id: UInt64?, at milliseconds: Int64, byToken: Bool
    ) {
        told += 1
        guard byToken else { return }
        let index = findOrInsert(token, hash: hash, at: milliseconds)
        entries[index].told += 1
        entries[index].lastAt = milliseconds
        guard let id, !ids.insert(id ^ hash) else { return }
        entries[index].duplicateIDs += 1
        duplicateIDs += 1
    }

    mutating func takeBack(_ token: UnsafeRawBufferPointer, hash: UInt64, id: UInt64?) {
        told -= 1
        guard let index = find(token, hash: hash) else { return }
        entries[index].told -= 1
        if let id { ids.remove(id ^ hash) }
    }

    mutating func recordAnswer(
        _ token: UnsafeRawBufferPointer, hash: UInt64, _ answer: LedgerAnswer, at milliseconds: Int64, byToken: Bool
    ) {
        if answer.isRefusal { refusals[answer, default: 0] += 1 } else { accepted[answer.status, default: 0] += 1 }
        guard byToken, !token.isEmpty else { return }
        let index = findOrInsert(token, hash: hash, at: milliseconds)
        entries[index].answered += 1
        entries[index].lastStatus = UInt16(truncatingIfNeeded: answer.status)
        entries[index].lastAt = milliseconds
        if answer.isRefusal { entries[index].refused += 1 }
    }

    mutating func keep(_ request: LedgerRequest, for token: UnsafeRawBufferPointer, hash: UInt64) {
        if let index = find(token, hash: hash) { kept[index] = request }
    }

    func add(to totals: inout LedgerTotals) {
        totals.told += told
        totals.duplicateIDs += duplicateIDs
        totals.tokens += entries.count
        for entry in entries where entry.told > 1 { totals.tokensToldTwice += 1 }
        for (refusal, count) in refusals {
            totals.refused += count
            totals.byStatus[String(refusal.status), default: 0] += count
            totals.byReason[refusal.reason ?? "", default: 0] += count
        }
        for (status, count) in accepted {
            totals.accepted += count
            totals.byStatus[String(status), default: 0] += count
        }
    }

    func token(at index: Int, as text: Ledger.TokenText) -> LedgerToken {
        let entry = entries[index]
        let start = Int(entry.keyStart)
        let key = keys[start..<start + Int(entry.keyCount)]
        return LedgerToken(
            token: text == .hex ? Hex.encode(key) : String(decoding: key, as: UTF8.self),
            told: Int(entry.told), answered: Int(entry.answered), refused: Int(entry.refused),
            duplicateIDs: Int(entry.duplicateIDs), lastStatus: entry.lastStatus == 0 ? nil : Int(entry.lastStatus),
            firstAt: entry.firstAt, lastAt: entry.lastAt, lastRequest: kept[index])
    }
}

// MARK: - The table

extension LedgerTable {
    func find(_ token: UnsafeRawBufferPointer, hash: UInt64) -> Int? {
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: hash) & mask
        while slots[slot] != 0 {
            let index = Int(slots[slot]) - 1
            if holds(token, at: index) { return index }
            slot = (slot + 1) & mask
        }
        return nil
    }

    private mutating func findOrInsert(_ token: UnsafeRawBufferPointer, hash: UInt64, at milliseconds: Int64) -> Int {
        if let index = find(token, hash: hash) { return index }
        if entries.count * 4 >= slots.count * 3 { grow() }
        entries.append(
            Entry(
                keyStart: UInt32(keys.count), keyCount: UInt16(token.count),
                firstAt: milliseconds, lastAt: milliseconds))
        keys.append(contentsOf: token)
        place(entries.count - 1, hash: hash)
        return entries.count - 1
    }

    private func holds(_ token: UnsafeRawBufferPointer, at index: Int) -> Bool {
        let entry = entries[index]
        guard Int(entry.keyCount) == token.count, let wanted = token.baseAddress else { return false }
        return keys.withUnsafeBytes { keys in
            guard let held = keys.baseAddress else { return false }
            return memcmp(held + Int(entry.keyStart), wanted, token.count) == 0
        }
    }

    private mutating func place(_ index: Int, hash: UInt64) {
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: hash) & mask
        while slots[slot] != 0 { slot = (slot + 1) & mask }
        slots[slot] = UInt32(index + 1)
    }

    private mutating func grow() {
        slots = Array(repeating: 0, count: slots.count * 2)
        for (index, entry) in entries.enumerated() {
            let start = Int(entry.keyStart)
            let hash = keys.withUnsafeBytes {
                StableHash.hash(UnsafeRawBufferPointer(rebasing: $0[start..<start + Int(entry.keyCount)]))
            }
            place(index, hash: hash)
        }
    }
}

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

/// A fast hash of bytes that is the same in every process, so that a share selects the same tokens each time.
enum StableHash {
    static func hash(_ bytes: UnsafeRawBufferPointer, salt: UInt64 = 0) -> UInt64 {
        var hash = salt ^ (UInt64(truncatingIfNeeded: bytes.count) &* 0x9E37_79B9_7F4A_7C15)
        var offset = 0
        while offset + 8 <= bytes.count {
            hash = mix(hash ^ bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            offset += 8
        }
        while offset < bytes.count {
            hash = mix(hash ^ UInt64(bytes[offset]))
            offset += 1
        }
        return mix(hash)
    }

    /// The finisher of SplitMix64 (Steele, Lea, Flood 2014).
    static func mix(_ value: UInt64) -> UInt64 {
        var value = value &+ 0x9E37_79B9_7F4A_7C15
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}

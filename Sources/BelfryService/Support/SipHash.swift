/// SipHash-2-4: a keyed hash that cannot be predicted without the key, equal in every process and on every machine.
///
/// Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012; `SipHashTests` checks its test vectors.
package struct SipHash: Sendable, Hashable {
    private let key0: UInt64
    private let key1: UInt64

    package init(key0: UInt64, key1: UInt64) {
        self.key0 = key0
        self.key1 = key1
    }

    /// Takes the first 16 bytes as the key, in little-endian order.
    package init(key: some Collection<UInt8>) {
        precondition(key.count >= 16, "a SipHash key is 16 bytes")
        self.init(
            key0: UInt64(littleEndianBytes: key.prefix(8)), key1: UInt64(littleEndianBytes: key.dropFirst(8).prefix(8)))
    }

    package func hash(_ word: UInt64) -> UInt64 {
        var state = State(key0, key1)
        state.compress(word)
        state.compress(8 << 56)
        return state.finish()
    }

    package func hash(_ bytes: [UInt8]) -> UInt64 {
        var state = State(key0, key1)
        var rest = bytes[...]
        while rest.count >= 8 {
            state.compress(UInt64(littleEndianBytes: rest.prefix(8)))
            rest = rest.dropFirst(8)
        }
        state.compress(UInt64(littleEndianBytes: rest) | UInt64(truncatingIfNeeded: bytes.count) << 56)
        return state.finish()
    }

    private struct State {
        var v0, v1, v2, v3: UInt64

        init(_ key0: UInt64, _ key1: UInt64) {
            v0 = key0 ^ 0x736f_6d65_7073_6575
            v1 = key1 ^ 0x646f_7261_6e64_6f6d
            v2 = key0 ^ 0x6c79_6765_6e65_7261
            v3 = key1 ^ 0x7465_6462_7974_6573
        }

        mutating func compress(_ word: UInt64) {
            v3 ^= word
            round()
            round()
            v0 ^= word
        }

        mutating func finish() -> UInt64 {
            v2 ^= 0xff
            for _ in 0..<4 { round() }
            return v0 ^ v1 ^ v2 ^ v3
        }

        mutating func round() {
            v0 &+= v1
            v1 = v1.rotated(13) ^ v0
            v0 = v0.rotated(32)
            v2 &+= v3
            v3 = v3.rotated(16) ^ v2
            v0 &+= v3
            v3 = v3.rotated(21) ^ v0
            v2 &+= v1
            v1 = v1.rotated(17) ^ v2
            v2 = v2.rotated(32)
        }
    }
}

extension UInt64 {
    fileprivate func rotated(_ bits: UInt64) -> UInt64 { self << bits | self >> (64 - bits) }

    fileprivate init(littleEndianBytes bytes: some Collection<UInt8>) {
        var word: UInt64 = 0
        var shift: UInt64 = 0
        for byte in bytes {
            word |= UInt64(byte) << shift
            shift += 8
        }
        self = word
    }
}

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

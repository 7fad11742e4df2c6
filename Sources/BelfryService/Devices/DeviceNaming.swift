package import FoundationEssentials

/// Gives each device its UUID, and finds the device of a UUID, without an index: the UUID is the key, encrypted.
///
/// 61 bits are a keyed hash of the device's key, 61 the key itself masked by that hash (a synthetic initialization
/// vector). No caller can guess a UUID or tell the order of two devices from theirs, and it saves a random index of 16
/// bytes for each device. Why: docs/decisions/0002-device-uuids.md.
package struct DeviceNaming: Sendable {
    private let tagHash: SipHash
    private let maskHash: SipHash

    private static let half: UInt64 = (1 << 61) - 1

    /// - Parameter secret: 32 bytes, made once with the database.
    package init(secret: [UInt8]) {
        precondition(secret.count == 32, "the naming secret is 32 bytes")
        tagHash = SipHash(key: secret[..<16])
        maskHash = SipHash(key: secret[16...])
    }

    package func uuid(of device: Key<Device>) -> UUID {
        let key = UInt64(bitPattern: device.rawValue)
        let tag = tagHash.hash(key) & Self.half
        let masked = (key ^ maskHash.hash(tag)) & Self.half
        return UUID(high: tag, low: masked)
    }

    /// nil for a UUID that this database never issued.
    package func device(of uuid: UUID) -> Key<Device>? {
        guard let (tag, masked) = uuid.halves else { return nil }
        let key = (masked ^ maskHash.hash(tag)) & Self.half
        guard key != 0, tagHash.hash(key) & Self.half == tag else { return nil }
        return Key(Int64(bitPattern: key))
    }
}

extension UUID {
    /// Spreads twice 61 bits over the 122 free bits of a version 8 UUID. Source: RFC 9562 §5.8.
    fileprivate init(high: UInt64, low: UInt64) {
        let first = (high >> 13) << 16 | 0x8000 | (high >> 1) & 0xFFF
        let second = 0b10 << 62 | (high & 1) << 61 | low
        self.init(words: first, second)
    }

    fileprivate var halves: (high: UInt64, low: UInt64)? {
        let (first, second) = words
        guard first >> 12 & 0xF == 8, second >> 62 == 0b10 else { return nil }
        return ((first >> 16) << 13 | (first & 0xFFF) << 1 | second >> 61 & 1, second & ((1 << 61) - 1))
    }

    /// The sixteen bytes as two big-endian words.
    package var words: (UInt64, UInt64) {
        withUnsafeBytes(of: uuid) { bytes in
            (
                UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
        }
    }

    package init(words first: UInt64, _ second: UInt64) {
        var bytes: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        withUnsafeMutableBytes(of: &bytes) { buffer in
            buffer.storeBytes(of: first.bigEndian, as: UInt64.self)
            buffer.storeBytes(of: second.bigEndian, toByteOffset: 8, as: UInt64.self)
        }
        self.init(uuid: bytes)
    }
}

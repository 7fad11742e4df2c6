package import FoundationEssentials

/// The id of one push's message to one device: the same whenever the message is sent again.
package struct MessageID: Sendable {
    private let firstHash: SipHash
    private let secondHash: SipHash

    package init(push receiptID: UUID) {
        let (first, second) = receiptID.words
        firstHash = SipHash(key0: first, key1: second)
        secondHash = SipHash(key0: second, key1: first)
    }

    /// Two words that make a UUID of version 8.
    package func words(for device: Key<Device>) -> (UInt64, UInt64) {
        let key = UInt64(bitPattern: device.rawValue)
        return (
            firstHash.hash(key) & ~0xF000 | 0x8000,
            secondHash.hash(key) & ~(0b11 << 62) | 0b10 << 62
        )
    }
}

package import FoundationEssentials

extension UUID {
    /// The text form used everywhere outside. `uuidString` goes through `snprintf`, at some 6,500 instructions.
    package var lowercased: String {
        withUnsafeBytes(of: uuid) { bytes in
            String(unsafeUninitializedCapacity: 36) { text in
                var end = 0
                for (index, byte) in bytes.enumerated() {
                    if index == 4 || index == 6 || index == 8 || index == 10 {
                        text[end] = UInt8(ascii: "-")
                        end += 1
                    }
                    text[end] = (byte >> 4).hexDigit
                    text[end + 1] = (byte & 15).hexDigit
                    end += 2
                }
                return end
            }
        }
    }

    /// The stored form.
    package var bytes: [UInt8] { withUnsafeBytes(of: uuid) { Array($0) } }

    /// Makes a UUID that ascends with time, so that an index grows at its end and not everywhere. Source: RFC 9562 §5.7,
    /// version 7: milliseconds since 1970, the rest random.
    package static func timeOrdered() -> UUID {
        // `UUID()` opens `/dev/urandom` each time, which a push would pay for.
        var random = SystemRandomNumberGenerator()
        let milliseconds = UInt64(max(0, Date().timeIntervalSince1970 * 1_000))
        return UUID(
            words: milliseconds << 16 | 0x7000 | random.next() & 0xFFF, 1 << 63 | random.next() & (1 << 62 - 1))
    }

    /// From the 36 characters of its text, of either case; nil on anything else. `uuidString:` goes through `sscanf`, at some 5,000
    /// instructions, and takes signs and blanks between the digits.
    package init?(text: some Collection<UInt8>) {
        guard text.count == 36 else { return nil }
        var (first, second) = (UInt64(0), UInt64(0))
        for (index, character) in text.enumerated() {
            if index == 8 || index == 13 || index == 18 || index == 23 {
                guard character == UInt8(ascii: "-") else { return nil }
            } else {
                guard let digit = character.hexNibble else { return nil }
                first = first << 4 | second >> 60
                second = second << 4 | UInt64(digit)
            }
        }
        self.init(words: first, second)
    }

    package init?(text: some StringProtocol) { self.init(text: text.utf8) }

    /// Reads the forms in which people and libraries write a UUID: with blanks or braces around it, behind `urn:uuid:`, without hyphens.
    package init?(looseText text: String) {
        if let uuid = UUID(text: text) {
            self = uuid
            return
        }
        guard text.utf8.count <= 64 else { return nil }
        var digits = text.lowercased().utf8.filter { !($0 == UInt8(ascii: " ") || 0x09...0x0D ~= $0) }[...]
        if digits.starts(with: "urn:uuid:".utf8) { digits = digits.dropFirst(9) }
        if digits.first == UInt8(ascii: "{"), digits.last == UInt8(ascii: "}") {
            digits = digits.dropFirst().dropLast()
        }
        if digits.count == 36 {
            self.init(text: digits)
        } else {
            guard let bytes = [UInt8](hex: Array(digits)) else { return nil }
            self.init(bytes: bytes)
        }
    }

    /// nil unless there are 16 bytes.
    fileprivate init?(bytes: [UInt8]) {
        guard let uuid = bytes.withUnsafeBytes(UUID.init(bytes:)) else { return nil }
        self = uuid
    }

    /// nil unless there are 16 bytes.
    package init?(bytes: UnsafeRawBufferPointer) {
        guard bytes.count == 16 else { return nil }
        self.init(uuid: bytes.loadUnaligned(as: uuid_t.self))
    }
}

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

package import FoundationEssentials

/// The texts a device is found by: its UUID, token, custom user id and alias, in lower case and as bytes.
package struct DeviceText: Sendable {
    package private(set) var fields: [[UInt8]] = []

    package init(uuid: UUID, token: DeviceToken?, kind: PlatformKind, customUserID: String?, alias: String?) {
        fields.reserveCapacity(4)
        fields.append(uuid.lowercasedBytes)
        if let token { fields.append(kind.spellsTokensInHex ? token.bytes.hexBytes : token.bytes.lowercasedUTF8) }
        if let customUserID { fields.append(Array(customUserID.utf8).lowercasedUTF8) }
        if let alias { fields.append(Array(alias.utf8).lowercasedUTF8) }
    }

    /// - Parameter text: in lower case.
    package func contains(_ text: [UInt8]) -> Bool { fields.contains { $0.contains(bytes: text) } }
}

extension [UInt8] {
    fileprivate var lowercasedUTF8: [UInt8] {
        if allSatisfy({ $0 < 0x80 }) { return map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 } }
        return Array(String(decoding: self, as: UTF8.self).lowercased().utf8)
    }

    fileprivate var hexBytes: [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count * 2) { buffer, count in
            for (index, byte) in enumerated() {
                buffer[2 * index] = (byte >> 4).hexCharacter
                buffer[2 * index + 1] = (byte & 15).hexCharacter
            }
            count = self.count * 2
        }
    }

    fileprivate func contains(bytes text: [UInt8]) -> Bool {
        guard let first = text.first else { return true }
        guard count >= text.count else { return false }
        return withUnsafeBufferPointer { whole in
            text.withUnsafeBufferPointer { text in
                for start in 0...(whole.count - text.count) where whole[start] == first {
                    if whole[start..<start + text.count].elementsEqual(text) { return true }
                }
                return false
            }
        }
    }
}

extension UUID {
    /// The 36 characters, in lower case.
    fileprivate var lowercasedBytes: [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(36)
        withUnsafeBytes(of: uuid) { bytes in
            for (index, byte) in bytes.enumerated() {
                if index == 4 || index == 6 || index == 8 || index == 10 { text.append(UInt8(ascii: "-")) }
                text.append((byte >> 4).hexCharacter)
                text.append((byte & 15).hexCharacter)
            }
        }
        return text
    }
}

extension UInt8 {
    fileprivate var hexCharacter: UInt8 { self < 10 ? 0x30 + self : 0x57 + self }
}

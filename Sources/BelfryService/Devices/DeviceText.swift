package import FoundationEssentials

/// The texts by which a device is found: its UUID, the one that another server gave it, token, custom user id and alias,
/// with case folded and as bytes.
package struct DeviceText: Sendable {
    /// The texts one after the other, each ended by a byte that UTF-8 does not use: a search makes one such array for
    /// each device that it inspects.
    private var bytes: [UInt8] = []
    private static let end: UInt8 = 0xFF

    package init(
        uuid: UUID, importedUUID: UUID? = nil, token: DeviceToken?, kind: PlatformKind, customUserID: String?,
        alias: String?
    ) {
        bytes.reserveCapacity(2 * (token?.bytes.count ?? 0) + 128)
        append(uuid)
        if let importedUUID { append(importedUUID) }
        if let token { kind.spellsTokensInHex ? append(hexOf: token.bytes) : append(token.bytes) }
        if let customUserID { append(customUserID.utf8) }
        if let alias { append(alias.utf8) }
    }

    package var fields: [ArraySlice<UInt8>] { bytes.split(separator: Self.end) }

    /// - Parameter text: with case folded.
    package func contains(_ text: [UInt8]) -> Bool {
        guard let first = text.first else { return true }
        guard bytes.count >= text.count else { return false }
        return bytes.withUnsafeBufferPointer { whole in
            text.withUnsafeBufferPointer { text in
                for start in 0...(whole.count - text.count) where whole[start] == first {
                    if whole[start..<start + text.count].elementsEqual(text) { return true }
                }
                return false
            }
        }
    }

    private mutating func append(_ uuid: UUID) {
        withUnsafeBytes(of: uuid.uuid) { uuid in
            for (index, byte) in uuid.enumerated() {
                if index == 4 || index == 6 || index == 8 || index == 10 { bytes.append(UInt8(ascii: "-")) }
                append(hexOf: byte)
            }
        }
        bytes.append(Self.end)
    }

    private mutating func append(hexOf token: [UInt8]) {
        for byte in token { append(hexOf: byte) }
        bytes.append(Self.end)
    }

    private mutating func append(hexOf byte: UInt8) {
        bytes.append((byte >> 4).hexDigit)
        bytes.append((byte & 15).hexDigit)
    }

    private mutating func append(_ text: some Collection<UInt8>) {
        if text.allSatisfy({ $0 < 0x80 }) {
            for byte in text { bytes.append((0x41...0x5A).contains(byte) ? byte | 0x20 : byte) }
        } else {
            bytes.append(contentsOf: String(decoding: text, as: UTF8.self).caseFolded.utf8)
        }
        bytes.append(Self.end)
    }
}

/// The address a provider knows a device by, as bytes.
///
/// APNs tokens arrive as hex in either case and are kept as the bytes they stand for, so that both spellings are one
/// device. All others are kept as the UTF-8 they came in.
package struct DeviceToken: Sendable, Hashable {
    package let bytes: [UInt8]

    /// The longest token any provider hands out, with room to spare. FCM's are below 400 bytes, channel URIs of WNS
    /// below 2,048.
    package static let bytesMax = 2_048
    /// APNs tokens are 32 bytes today; Apple asks not to rely on it. Source: "Registering your app with APNs".
    package static let apnsBytesMax = 100

    package init(bytes: [UInt8]) { self.bytes = bytes }

    package init(_ text: String, for kind: PlatformKind) throws(InvalidInput) {
        guard !text.isEmpty else { throw InvalidInput(field: "registration_token", "is empty") }
        guard kind == .ios else {
            guard text.utf8.count <= Self.bytesMax else {
                throw InvalidInput(
                    field: "registration_token", "is \(text.utf8.count) bytes, the limit is \(Self.bytesMax)")
            }
            bytes = Array(text.utf8)
            return
        }
        guard let decoded = [UInt8](hex: text.utf8) else {
            throw InvalidInput(
                field: "registration_token", "is no APNs token: it has to be an even number of hex digits")
        }
        guard decoded.count <= Self.apnsBytesMax else {
            throw InvalidInput(
                field: "registration_token", "is \(decoded.count) bytes, the limit is \(Self.apnsBytesMax)")
        }
        bytes = decoded
    }

    /// The spelling that apps and back ends see.
    package func text(for kind: PlatformKind) -> String {
        kind == .ios ? bytes.hex : String(decoding: bytes, as: UTF8.self)
    }
}

extension [UInt8] {
    /// Decodes pairs of hex digits of either case; nil on anything else.
    package init?(hex digits: some Collection<UInt8>) {
        guard digits.count.isMultiple(of: 2) else { return nil }
        self = []
        reserveCapacity(digits.count / 2)
        var high: UInt8?
        for digit in digits {
            guard let nibble = digit.hexNibble else { return nil }
            if let first = high {
                append(first << 4 | nibble)
                high = nil
            } else {
                high = nibble
            }
        }
    }

    /// Lower-case hex.
    package var hex: String {
        String(unsafeUninitializedCapacity: count * 2) { buffer in
            for (index, byte) in enumerated() {
                buffer[2 * index] = (byte >> 4).hexDigit
                buffer[2 * index + 1] = (byte & 15).hexDigit
            }
            return count * 2
        }
    }
}

extension UInt8 {
    fileprivate var hexDigit: UInt8 { self < 10 ? 0x30 + self : 0x57 + self }

    fileprivate var hexNibble: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46: self - 0x37
        case 0x61...0x66: self - 0x57
        default: nil
        }
    }
}

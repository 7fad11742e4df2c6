import FoundationEssentials
import NIOCore

/// A range of network addresses, such as `10.0.0.0/8` or `::1`.
public struct AddressBlock: Sendable, Hashable, CustomStringConvertible {
    /// 4 bytes or 16.
    let bytes: [UInt8]
    let prefixBits: Int
    public let description: String

    /// nil when the text is neither an address nor an address with the length of its prefix.
    public init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = try? SocketAddress(ipAddress: String(parts[0]), port: 0), let bytes = address.ipBytes
        else { return nil }
        let bitsMax = bytes.count * 8
        guard let bits = parts.count == 1 ? bitsMax : Int(parts[1]), 0...bitsMax ~= bits else { return nil }
        self.bytes = bytes
        prefixBits = bits
        description = text
    }

    func contains(_ address: [UInt8]) -> Bool {
        guard address.count == bytes.count else { return false }
        for (index, (mine, other)) in zip(bytes, address).enumerated() {
            let bits = min(max(prefixBits - index * 8, 0), 8)
            let mask = bits == 0 ? 0 : UInt8.max << UInt8(8 - bits)
            guard mine & mask == other & mask else { return false }
        }
        return true
    }
}

extension SocketAddress {
    /// The address in network order, from `sin_addr` and `sin6_addr`; nil for a socket that is a file.
    var ipBytes: [UInt8]? {
        switch self {
        case .v4(let address): withUnsafeBytes(of: address.address) { Array($0[4..<8]) }
        case .v6(let address): withUnsafeBytes(of: address.address) { Array($0[8..<24]) }
        case .unixDomainSocket: nil
        }
    }
}

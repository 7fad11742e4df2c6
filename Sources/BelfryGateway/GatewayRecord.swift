/// A notification in Apple's binary protocol, which its providers spoke until 2021.
///
/// Source: Apple, "Binary Provider API", and "Legacy Notification Format" for commands 0 and 1.
package struct GatewayRecord: Sendable, Hashable {
    package var command: Command
    /// The sender's own identifier, which error packets repeat; 0 where it gave none.
    package var identifier: UInt32 = 0
    package var token: [UInt8]
    package var payload: [UInt8]
    /// Seconds since 1970; 0 to try once and not to store. nil where the sender gave none.
    package var expiry: UInt32?
    package var priority = Priority.immediate

    /// The first byte of a record.
    package enum Command: UInt8, Sendable, Hashable, CaseIterable {
        case simple = 0
        case enhanced = 1
        case frame = 2
    }

    package enum Priority: UInt8, Sendable, Hashable, CaseIterable {
        case immediate = 10
        case considerate = 5
    }

    package static let tokenBytesMax = 100
    /// Apple never issued shorter ones; one that a sender cut would become a device that nothing reaches.
    package static let tokenBytesMin = 32
    package static let payloadBytesMax = 2_048
}

// MARK: - As bytes

extension GatewayRecord {
    /// The record as a sender writes it. Commands 0 and 1 have no place for some of its values.
    package var bytes: [UInt8] {
        switch command {
        case .simple: [command.rawValue] + Self.field(token) + Self.field(payload)
        case .enhanced:
            [command.rawValue] + identifier.octets + (expiry ?? 0).octets + Self.field(token) + Self.field(payload)
        case .frame: [command.rawValue] + UInt32(items.count).octets + items
        }
    }

    private var items: [UInt8] {
        var items = Self.item(.token, token) + Self.item(.payload, payload) + Self.item(.identifier, identifier.octets)
        if let expiry { items += Self.item(.expiry, expiry.octets) }
        return items + Self.item(.priority, [priority.rawValue])
    }

    /// The parts of a frame.
    enum Item: UInt8, Sendable {
        case token = 1
        case payload = 2
        case identifier = 3
        case expiry = 4
        case priority = 5
    }

    private static func item(_ item: Item, _ bytes: [UInt8]) -> [UInt8] { [item.rawValue] + field(bytes) }

    private static func field(_ bytes: [UInt8]) -> [UInt8] {
        UInt16(truncatingIfNeeded: bytes.count).octets + bytes
    }
}

extension FixedWidthInteger {
    /// Its bytes in network order.
    var octets: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }
}

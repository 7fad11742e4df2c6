/// The part of a push that is the same for all devices.
public struct WNSMessage: Sendable, Hashable {
    public let kind: Kind
    /// XML; for ``Kind/raw`` any bytes.
    public let body: [UInt8]
    /// Seconds for which it is useful; nil for as long as the service stores it.
    public let ttl: Int?
    /// Whether the service stores it for an offline device; nil for the default of the kind.
    public let isCached: Bool?
    /// A tile is replaced by a later one with the same tag.
    public let tag: String?
    public let priority: Priority?

    public enum Kind: String, Sendable, Hashable, CaseIterable {
        case toast, tile, badge, raw
    }

    public enum Priority: Int, Sendable, Hashable, CaseIterable {
        case high = 1
        case medium = 2
        case low = 3
        case veryLow = 4
    }

    public static let bodyBytesMax = 5_000
    public static let tagBytesMax = 16

    public init(
        _ kind: Kind, body: [UInt8], ttl: Int? = nil, isCached: Bool? = nil, tag: String? = nil,
        priority: Priority? = nil
    ) throws(WNSError) {
        guard !body.isEmpty else { throw WNSError("body is empty") }
        guard body.count <= Self.bodyBytesMax else {
            throw WNSError("body is \(body.count) bytes, WNS takes \(Self.bodyBytesMax)")
        }
        if let ttl, ttl < 0 { throw WNSError("ttl is \(ttl), it counts seconds from 0") }
        if let tag { try Self.check(tag: tag) }
        self.kind = kind
        self.body = body
        self.ttl = ttl
        self.isCached = isCached
        self.tag = tag
        self.priority = priority
    }

    private static func check(tag: String) throws(WNSError) {
        let isPlain = tag.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
            default: false
            }
        }
        guard 1...tagBytesMax ~= tag.utf8.count, isPlain else {
            throw WNSError("tag has to be 1 to \(tagBytesMax) letters and digits")
        }
    }
}

/// Why something cannot be sent, detected beforehand.
public struct WNSError: Error, Sendable, Hashable, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
}

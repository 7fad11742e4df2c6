import Outbound

/// The part of a push that is the same for all devices.
public struct ADMMessage: Sendable, Hashable {
    let body: [UInt8]

    /// The most bytes that all keys and values may have together. Source: Amazon, "Sending a message via Amazon Device Messaging".
    public static let dataBytesMax = 6 * 1_024
    /// The lifetimes that Amazon accepts, in seconds.
    public static let lifetimes = 60...2_678_400
    public static let consolidationKeyBytesMax = 64

    /// - Parameters:
    ///   - consolidationKey: a waiting message is replaced by a later one with the same key.
    ///   - lifetime: seconds for which Amazon keeps it, brought into what Amazon takes; nil for its own week.
    public init(data: [String: String], consolidationKey: String? = nil, lifetime: Int? = nil) throws(ADMError) {
        try self.init(
            data: data.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }, consolidationKey: consolidationKey,
            lifetime: lifetime)
    }

    /// Creates a message from data in a given order. Keys may look the same and differ in their bytes.
    package init(
        data: [(key: String, text: String)], consolidationKey: String?, lifetime: Int?
    ) throws(ADMError) {
        let bytes = data.reduce(0) { $0 + $1.key.utf8.count + $1.text.utf8.count }
        guard bytes <= Self.dataBytesMax else {
            throw ADMError("data are \(bytes) bytes, ADM takes \(Self.dataBytesMax)")
        }
        guard (consolidationKey?.utf8.count ?? 0) <= Self.consolidationKeyBytesMax else {
            throw ADMError("consolidation key is over \(Self.consolidationKeyBytesMax) bytes")
        }
        let expiresAfter = lifetime.map { min(max($0, Self.lifetimes.lowerBound), Self.lifetimes.upperBound) }
        var members: [[UInt8]] = []
        if let consolidationKey {
            members.append(JSONText.member("consolidationKey", JSONText.quoted(consolidationKey)))
        }
        members.append(JSONText.member("data", JSONText.object(data)))
        if let expiresAfter { members.append(JSONText.member("expiresAfter", "\(expiresAfter)".utf8)) }
        body = JSONText.object(of: members)
    }
}

/// Why something cannot be sent, detected beforehand.
public struct ADMError: Error, Sendable, Hashable, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
}

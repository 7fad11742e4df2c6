#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What is the same for all devices a message goes to, encoded once: data that the app finds.
///
/// Source: Huawei, Push Kit, "Downlink Message Sending", v1.
public struct HMSMessage: Sendable, Hashable {
    /// What stands before and after the tokens.
    let head: [UInt8]
    let tail: [UInt8]

    /// Of a request without its tokens.
    public static let bytesMax = 4_096
    /// 15 days. Source: as above, `ttl`.
    public static let secondsMax: Int64 = 1_296_000
    public static let collapseKeys: ClosedRange<Int> = -1...100

    /// - Parameters:
    ///   - data: the text the app gets, by custom JSON.
    ///   - timeToLive: seconds; nil leaves it at a day.
    ///   - collapseKey: -1 keeps all that wait for a device, any other the last with the same key.
    ///   - isValidatedOnly: the message is checked and delivered to nobody.
    public init(
        data: String, timeToLive: Int64? = nil, collapseKey: Int? = nil, isHighPriority: Bool = false,
        isValidatedOnly: Bool = false
    ) throws(HMSMessageError) {
        if let timeToLive, !(1...Self.secondsMax ~= timeToLive) { throw .timeToLive(timeToLive) }
        if let collapseKey, !Self.collapseKeys.contains(collapseKey) { throw .collapseKey(collapseKey) }
        let android = Android(
            collapse_key: collapseKey, ttl: timeToLive.map { "\($0)s" }, urgency: isHighPriority ? "HIGH" : nil)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let parts = try? encoder.encode(Parts(android: android, data: data)) else { throw .unwritable }
        head =
            Array(#"{"validate_only":\#(isValidatedOnly),"message":"#.utf8) + parts.dropLast()
            + Array(#","token":"#.utf8)
        tail = Array("}}".utf8)
        guard head.count + tail.count <= Self.bytesMax else { throw .tooLarge(bytes: head.count + tail.count) }
    }

    private struct Parts: Encodable {
        let android: Android
        let data: String
    }

    private struct Android: Encodable {
        let collapse_key: Int?
        let ttl: String?
        let urgency: String?
    }
}

/// Why something cannot be sent, found before it is.
public enum HMSMessageError: Error, Sendable, Hashable, CustomStringConvertible {
    case timeToLive(Int64)
    case collapseKey(Int)
    case tooLarge(bytes: Int)
    case unwritable

    public var description: String {
        switch self {
        case .timeToLive(let seconds): "ttl is \(seconds) s, Push Kit takes 1 to \(HMSMessage.secondsMax)"
        case .collapseKey(let key): "collapse_key is \(key), Push Kit takes -1 to 100"
        case .tooLarge(let bytes): "message is \(bytes) bytes, Push Kit takes \(HMSMessage.bytesMax)"
        case .unwritable: "message cannot be written as JSON"
        }
    }
}

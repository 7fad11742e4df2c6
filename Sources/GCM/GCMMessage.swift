#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import FoundationEssentials
#endif

/// The part of a message that is the same for all devices, encoded once.
///
/// Source: Firebase, "Firebase Cloud Messaging HTTP protocol" (legacy).
public struct GCMMessage: Sendable, Hashable {
    /// The members after the tokens, without braces; empty if there are none.
    let members: [UInt8]

    /// The limit on all keys and values.
    public static let bytesMax = 4_096
    /// Four weeks, the longest that a message is stored, and the default.
    public static let secondsMax: Int64 = 2_419_200

    /// - Parameters:
    ///   - timeToLive: seconds; 0 is now or never.
    ///   - isDryRun: the message is checked and not delivered.
    public init(
        data: [String: String], collapseKey: String? = nil, timeToLive: Int64? = nil, isHighPriority: Bool = false,
        isDryRun: Bool = false
    ) throws(GCMMessageError) {
        for key in data.keys.sorted()
        where key == "from" || key == "message_type" || key.hasPrefix("google.") || key.hasPrefix("gcm.") {
            throw .reservedKey(key)
        }
        if let timeToLive, !(0...Self.secondsMax ~= timeToLive) { throw .timeToLive(timeToLive) }
        let bytes = data.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
        guard bytes <= Self.bytesMax else { throw .tooLarge(bytes: bytes) }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let object = Members(
            collapse_key: collapseKey, data: data.isEmpty ? nil : data, dry_run: isDryRun ? true : nil,
            priority: isHighPriority ? "high" : nil, time_to_live: timeToLive)
        guard let text = try? encoder.encode(object) else { throw .unwritable }
        members = Array(text.dropFirst().dropLast())
    }

    private struct Members: Encodable {
        let collapse_key: String?
        let data: [String: String]?
        let dry_run: Bool?
        let priority: String?
        let time_to_live: Int64?
    }
}

/// Why something cannot be sent, detected beforehand.
public enum GCMMessageError: Error, Sendable, Hashable, CustomStringConvertible {
    case reservedKey(String)
    case timeToLive(Int64)
    case tooLarge(bytes: Int)
    case unwritable

    public var description: String {
        switch self {
        case .reservedKey(let key): "data key \(key) belongs to Google"
        case .timeToLive(let seconds): "time_to_live is \(seconds) s, GCM takes 0 to \(GCMMessage.secondsMax)"
        case .tooLarge(let bytes): "message is \(bytes) bytes, GCM takes \(GCMMessage.bytesMax)"
        case .unwritable: "message cannot be written as JSON"
        }
    }
}

import Outbound

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
        try self.init(
            data: data.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }, collapseKey: collapseKey,
            timeToLive: timeToLive, isHighPriority: isHighPriority, isDryRun: isDryRun)
    }

    /// Creates a message from data in a given order. Keys may look the same and differ in their bytes.
    package init(
        data: [(key: String, text: String)], collapseKey: String?, timeToLive: Int64?, isHighPriority: Bool,
        isDryRun: Bool = false
    ) throws(GCMMessageError) {
        for (key, _) in data
        where key == "from" || key == "message_type" || key.hasPrefix("google.") || key.hasPrefix("gcm.") {
            throw .reservedKey(key)
        }
        if let timeToLive, !(0...Self.secondsMax ~= timeToLive) { throw .timeToLive(timeToLive) }
        let bytes = data.reduce(0) { $0 + $1.key.utf8.count + $1.text.utf8.count }
        guard bytes <= Self.bytesMax else { throw .tooLarge(bytes: bytes) }
        var members: [[UInt8]] = []
        if let collapseKey { members.append(JSONText.member("collapse_key", JSONText.quoted(collapseKey))) }
        if !data.isEmpty { members.append(JSONText.member("data", JSONText.object(data))) }
        if isDryRun { members.append(JSONText.member("dry_run", "true".utf8)) }
        if isHighPriority { members.append(JSONText.member("priority", #""high""#.utf8)) }
        if let timeToLive { members.append(JSONText.member("time_to_live", "\(timeToLive)".utf8)) }
        self.members = Array(members.joined(separator: [UInt8(ascii: ",")]))
    }
}

/// Why something cannot be sent, detected beforehand.
public enum GCMMessageError: Error, Sendable, Hashable, CustomStringConvertible {
    case reservedKey(String)
    case timeToLive(Int64)
    case tooLarge(bytes: Int)

    public var description: String {
        switch self {
        case .reservedKey(let key): "data key \(key) belongs to Google"
        case .timeToLive(let seconds): "time_to_live is \(seconds) s, GCM takes 0 to \(GCMMessage.secondsMax)"
        case .tooLarge(let bytes): "message is \(bytes) bytes, GCM takes \(GCMMessage.bytesMax)"
        }
    }
}

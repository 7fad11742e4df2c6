import HTTP2Client

/// One update or end of a Live Activity, and its channels. APNs delivers it to every subscribed device.
///
/// Source: Apple, "Sending broadcast push notification requests to APNs".
public struct APNsBroadcast: Sendable, Hashable {
    public let bundleID: String
    public let priority: APNsPriority
    /// Unix seconds until which APNs stores it; 0, which a channel that stores nothing requires, makes one attempt.
    public let expiration: Int64
    public let payload: [UInt8]
    public let channels: [APNsChannelID]

    /// The most bytes of a payload.
    public static let payloadBytesMax = 5_120

    /// - Parameters:
    ///   - bundleID: the app's, without a suffix.
    ///   - payload: JSON, sent as it is.
    public init(
        bundleID: String, priority: APNsPriority = .immediate, expiration: Int64 = 0, payload: [UInt8],
        channels: [APNsChannelID]
    ) throws(APNsMessageError) {
        guard Self.isBundleID(bundleID) else { throw .topic(bundleID) }
        guard APNsPushType.liveActivity.priorities.contains(priority) else {
            throw .priority(priority, for: .liveActivity)
        }
        guard expiration >= 0 else { throw .expiration(expiration) }
        guard !payload.isEmpty else { throw .payloadEmpty }
        guard payload.count <= Self.payloadBytesMax else {
            throw .payloadTooLarge(bytes: payload.count, limit: Self.payloadBytesMax)
        }
        self.bundleID = bundleID
        self.priority = priority
        self.expiration = expiration
        self.payload = payload
        self.channels = channels
    }

    /// It is put into a path unescaped.
    static func isBundleID(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."): true
                default: false
                }
            }
    }
}

/// APNs' id of a broadcast channel: Base64, in a header.
public struct APNsChannelID: Sendable, Hashable, CustomStringConvertible {
    public let text: String

    /// Apple names no maximum. A longer text is not an id.
    public static let bytesMax = 255

    public var description: String { text }

    public init(_ text: String) throws(APNsMessageError) {
        guard 1...Self.bytesMax ~= text.utf8.count, text.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
            throw .channelID
        }
        self.text = text
    }
}

extension APNsBroadcast {
    /// A request for each of the channels at `indices`.
    func requests(_ indices: some Sequence<Int>) -> HTTP2Batch {
        var batch = HTTP2Batch(
            headers: [
                HTTP2Header("apns-push-type", APNsPushType.liveActivity.rawValue),
                HTTP2Header("apns-priority", "\(priority.rawValue)"),
                HTTP2Header("apns-expiration", "\(expiration)", indexing: .never),
            ], varying: ["apns-channel-id"], body: .shared(payload))
        for index in indices {
            batch.append(path: "/4/broadcasts/apps/\(bundleID)", values: [channels[index].text])
        }
        return batch
    }
}

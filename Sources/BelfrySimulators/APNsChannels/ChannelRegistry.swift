import FoundationEssentials
import Synchronization

/// The existing broadcast channels, for callers that manage them and callers that send to them.
package final class ChannelRegistry: Sendable {
    /// Source: Apple, "Sending channel management requests to APNs".
    package static let channelsOfAppMax = 10_000

    private let channels = Mutex<[String: [String: Int]]>([:])
    private let ofAppMax: Int

    /// - Parameter ofAppMax: the limit on the channels of one app.
    package init(ofAppMax: Int = channelsOfAppMax) { self.ofAppMax = ofAppMax }

    /// A new channel's id: Base64 of 16 bytes. nil when the app has reached its limit.
    package func create(storing policy: Int, of bundle: String) -> String? {
        channels.withLock { channels in
            guard channels[bundle, default: [:]].count < ofAppMax else { return nil }
            let id = Data((0..<16).map { _ in UInt8.random(in: 0...255) }).base64EncodedString()
            channels[bundle, default: [:]][id] = policy
            return id
        }
    }

    /// The storage policy of a channel: 0 for none, 1 for the latest message; nil when there is no such channel.
    package func policy(of id: String, in bundle: String) -> Int? { channels.withLock { $0[bundle]?[id] } }

    /// Whether there was such a channel.
    package func delete(_ id: String, of bundle: String) -> Bool {
        channels.withLock { $0[bundle]?.removeValue(forKey: id) != nil }
    }

    package func all(of bundle: String) -> [String] {
        channels.withLock { $0[bundle, default: [:]].keys.sorted() }
    }

    /// Whether it has the form of an id.
    static func isID(_ text: String) -> Bool { Data(base64Encoded: text).map { !$0.isEmpty } ?? false }
}

import FoundationEssentials

/// The response bodies of APNs' channel management.
package enum APNsChannelAnswer {
    /// Reads the response about one channel.
    package static func storage(_ body: ArraySlice<UInt8>) throws(APNsChannelError) -> APNsChannel.Storage {
        let channel: Channel = try read(body)
        guard let storage = APNsChannel.Storage(rawValue: channel.storage) else {
            throw .unreadable("APNs answered with message-storage-policy \(channel.storage)")
        }
        return storage
    }

    /// Reads the ids of all channels of an app, without malformed ones.
    package static func ids(_ body: ArraySlice<UInt8>) throws(APNsChannelError) -> [APNsChannelID] {
        let list: List = try read(body)
        return list.channels.compactMap { try? APNsChannelID($0) }
    }

    private static func read<Body: Decodable>(_ body: ArraySlice<UInt8>) throws(APNsChannelError) -> Body {
        do {
            return try JSONDecoder().decode(Body.self, from: Data(body))
        } catch {
            throw .unreadable("the body of the answer is not what Apple describes")
        }
    }

    private struct Channel: Decodable {
        let storage: Int

        enum CodingKeys: String, CodingKey { case storage = "message-storage-policy" }
    }

    private struct List: Decodable { let channels: [String] }
}

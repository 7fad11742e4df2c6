/// The broadcast channels of a platform, which its provider keeps.
package protocol BroadcastChannels: Sendable {
    func createChannel(_ storage: BroadcastChannel.Storage, on platform: Platform) async throws(BroadcastChannelError)
        -> BroadcastChannel
    func channel(_ id: String, on platform: Platform) async throws(BroadcastChannelError) -> BroadcastChannel
    func deleteChannel(_ id: String, on platform: Platform) async throws(BroadcastChannelError)
    /// The ids of all there are.
    func channels(on platform: Platform) async throws(BroadcastChannelError) -> [String]
}

/// Why nothing came of it. The words are for a person.
package enum BroadcastChannelError: Error, Sendable, Hashable {
    /// Platforms of this kind have no channels.
    case unsupported(String)
    /// The provider has no channel of that id.
    case unknown
    /// The provider would not do it.
    case refused(String)
    /// The provider cannot be asked at present, or did not say.
    case unavailable(String)
}

extension BroadcastChannelError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unsupported(let words), .refused(let words), .unavailable(let words): words
        case .unknown: "the provider has no such channel"
        }
    }
}

/// Of providers that have none.
package struct NoChannels: BroadcastChannels {
    package init() {}

    package func createChannel(
        _ storage: BroadcastChannel.Storage, on platform: Platform
    ) async throws(BroadcastChannelError) -> BroadcastChannel { throw Self.none }

    package func channel(_ id: String, on platform: Platform) async throws(BroadcastChannelError) -> BroadcastChannel {
        throw Self.none
    }

    package func deleteChannel(_ id: String, on platform: Platform) async throws(BroadcastChannelError) {
        throw Self.none
    }

    package func channels(on platform: Platform) async throws(BroadcastChannelError) -> [String] { throw Self.none }

    private static let none = BroadcastChannelError.unsupported("there are no channels here")
}

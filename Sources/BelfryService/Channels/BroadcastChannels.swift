/// The broadcast channels of a platform, which its provider stores.
package protocol BroadcastChannels: Sendable {
    func createChannel(_ storage: BroadcastChannel.Storage, on platform: Platform) async throws(BroadcastChannelError)
        -> BroadcastChannel
    func channel(_ id: String, on platform: Platform) async throws(BroadcastChannelError) -> BroadcastChannel
    func deleteChannel(_ id: String, on platform: Platform) async throws(BroadcastChannelError)
    /// The ids of all channels.
    func channels(on platform: Platform) async throws(BroadcastChannelError) -> [String]
}

/// The error of an operation, with a human-readable reason.
package enum BroadcastChannelError: Error, Sendable, Hashable {
    /// Platforms of this type have no channels.
    case unsupported(String)
    /// The provider has no channel with that id.
    case unknown
    /// The provider refused.
    case refused(String)
    /// The provider cannot be reached at present, or did not answer.
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

/// The channels of a provider that has none.
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

import APNs
import BelfryService
import HTTP2Client

/// Manages broadcast channels at APNs, with the credentials of a platform.
///
/// A connection serves one request: channels are created rarely, by operators and back ends.
struct APNsBroadcastChannels: BroadcastChannels {
    let dependencies: ProviderDependencies
    private var deadline: Duration { dependencies.options.apns.deadline }

    func createChannel(_ storage: BroadcastChannel.Storage, on platform: Platform) async throws(BroadcastChannelError)
        -> BroadcastChannel
    {
        try await with(platform) { (channels) async throws(APNsChannelError) in
            BroadcastChannel(try await channels.create(APNsChannel.Storage(storage), deadline: deadline))
        }
    }

    func channel(_ id: String, on platform: Platform) async throws(BroadcastChannelError) -> BroadcastChannel {
        let id = try Self.id(id)
        return try await with(platform) { (channels) async throws(APNsChannelError) in
            BroadcastChannel(try await channels.channel(id, deadline: deadline))
        }
    }

    func deleteChannel(_ id: String, on platform: Platform) async throws(BroadcastChannelError) {
        let id = try Self.id(id)
        try await with(platform) { (channels) async throws(APNsChannelError) in
            try await channels.delete(id, deadline: deadline)
        }
    }

    func channels(on platform: Platform) async throws(BroadcastChannelError) -> [String] {
        try await with(platform) { (channels) async throws(APNsChannelError) in
            try await channels.all(deadline: deadline).map(\.text)
        }
    }

    private func with<Value>(
        _ platform: Platform, _ work: (APNsChannels) async throws(APNsChannelError) -> Value
    ) async throws(BroadcastChannelError) -> Value {
        guard platform.kind == .apple(.broadcast) else {
            throw .unsupported(
                "the platform is of type \(platform.kind.rawValue), channels are those of type ios-broadcast")
        }
        let channels = try await open(platform)
        do throws(APNsChannelError) {
            let value = try await work(channels)
            await channels.shutdown(within: .seconds(1))
            return value
        } catch {
            await channels.shutdown(within: .seconds(1))
            throw BroadcastChannelError(error)
        }
    }

    private func open(_ platform: Platform) async throws(BroadcastChannelError) -> APNsChannels {
        do {
            return try await CredentialOpener.stored.open {
                let credentials = try APNsPlatformCredentials(opening: platform, with: dependencies.vault)
                var configuration = APNsClient.Configuration()
                dependencies.routes.lead(&configuration.pool.connection, for: .apns)
                return try APNsChannels(
                    of: credentials.topic, credentials: try credentials.open(now: dependencies.clock.now),
                    endpoint: try credentials.channelsAddress(mode: platform.mode), configuration: configuration,
                    eventLoopGroup: dependencies.eventLoopGroup, logger: dependencies.logger)
            }
        } catch {
            throw .refused("the credentials of the platform cannot be used: \(error)")
        }
    }

    /// A malformed id belongs to no channel.
    private static func id(_ text: String) throws(BroadcastChannelError) -> APNsChannelID {
        guard let id = try? APNsChannelID(text) else { throw .unknown }
        return id
    }
}

extension BroadcastChannelError {
    /// Source: Apple, "Handling error responses from Apple Push Notification service", of broadcast channels.
    init(_ error: APNsChannelError) {
        self =
            switch error {
            case .rejected(let rejection) where rejection.reason.namesNoChannel: .unknown
            case .rejected(let rejection) where rejection.status == 429 || rejection.status >= 500:
                .unavailable("\(error)")
            case .rejected, .credentialsRefused, .unreadable: .refused("\(error)")
            case .unprocessed, .unknown: .unavailable("\(error)")
            }
    }
}

extension APNsReason {
    fileprivate var namesNoChannel: Bool { [.channelNotRegistered, .badChannelID].contains(self) }
}

extension BroadcastChannel {
    fileprivate init(_ channel: APNsChannel) {
        self.init(id: channel.id.text, storage: channel.storage == .latest ? .latest : .nothing)
    }
}

extension APNsChannel.Storage {
    fileprivate init(_ storage: BroadcastChannel.Storage) { self = storage == .latest ? .latest : .nothing }
}

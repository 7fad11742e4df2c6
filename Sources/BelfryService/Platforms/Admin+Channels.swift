import FoundationEssentials
import Hummingbird

extension Admin {
    /// Broadcast channels: `/admin/v1/platforms/:platform_uuid/channels`. The provider stores them; to Belfry each is a
    /// device.
    struct Channels: Sendable {
        let factory: RouteFactory

        var routes: [Route] {
            [
                factory.platform(.get, "platforms/:platform_uuid/channels", .read, list),
                factory.platform(.post, "platforms/:platform_uuid/channels", .change, create),
                factory.platform(.get, "platforms/:platform_uuid/channels/:channel_id", .read, show),
                factory.platform(.delete, "platforms/:platform_uuid/channels/:channel_id", .change, delete),
            ]
        }

        /// All channels of the provider, created here or elsewhere.
        private func list(_ call: Call, _ platform: Platform, _ application: Application) async throws -> Response {
            let channels = try await asking(call, application) { try await $0.channels(on: platform) }
            return try Response(ChannelsReply(channels: channels))
        }

        private func create(_ call: Call, _ platform: Platform, _ application: Application) async throws -> Response {
            guard let storage = try await call.body(as: NewChannelBody.self).storage else {
                throw InvalidInput.missing("storage")
            }
            let (channel, device) = try await asking(call, application) {
                try await $0.create(storage, on: platform, of: application, by: call.author)
            }
            return try .created(ChannelReply(channel, device: device.uuid))
        }

        private func show(_ call: Call, _ platform: Platform, _ application: Application) async throws -> Response {
            let id = try self.id(call)
            let channel = try await asking(call, application) { try await $0.channel(id, on: platform) }
            return try Response(ChannelReply(channel))
        }

        private func delete(_ call: Call, _ platform: Platform, _ application: Application) async throws -> Response {
            let id = try self.id(call)
            try await asking(call, application) {
                try await $0.delete(id, on: platform, of: application, by: call.author)
            }
            return Response(status: .noContent)
        }

        /// Holds a share while the provider is asked.
        private func asking<Value>(
            _ call: Call, _ application: Application, _ body: (ChannelService) async throws -> Value
        ) async throws -> Value {
            try await factory.shares.holding(.tests, for: ShareHolder(call.key, application)) {
                try await body(factory.channels)
            }
        }

        private func id(_ call: Call) throws -> String {
            try call.text("channel_id").orMissing("channel")
        }
    }

    private struct NewChannelBody: Body {
        static let fields = ["storage"]
        private(set) var storage: BroadcastChannel.Storage?

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            storage = try reader.choice(field)
        }
    }
}

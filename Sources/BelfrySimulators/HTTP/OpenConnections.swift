import NIOCore
import Synchronization

/// The open connections.
final class OpenConnections: Sendable {
    private let channels = Mutex<[ObjectIdentifier: any Channel]>([:])

    func add(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        channels.withLock { $0[id] = channel }
        channel.closeFuture.whenComplete { [weak self] _ in
            self?.channels.withLock { $0[id] = nil }
        }
    }

    func closeAll() async throws {
        for channel in channels.withLock({ Array($0.values) }) {
            channel.close(mode: .all, promise: nil)
            try? await channel.closeFuture.get()
        }
    }

    /// Runs an action for every connection's handler of a kind, on its own event loop.
    func each<Handler: ChannelHandler & SendableMetatype>(
        _ kind: Handler.Type, _ act: @escaping @Sendable (Handler) -> Void
    ) async throws {
        for channel in channels.withLock({ Array($0.values) }) {
            try? await channel.eventLoop.submit {
                if let handler = try? channel.pipeline.syncOperations.handler(type: kind) { act(handler) }
            }.get()
        }
    }
}

import NIOCore
import Synchronization

/// The open connections of a relay.
final class RelayConnections: Sendable {
    private let channels = Mutex<[ObjectIdentifier: any Channel]>([:])

    func came(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        channels.withLock { $0[id] = channel }
        channel.closeFuture.whenComplete { _ in self.channels.withLock { _ = $0.removeValue(forKey: id) } }
    }

    func sendAway() async {
        for channel in channels.withLock({ Array($0.values) }) { try? await channel.close() }
    }
}

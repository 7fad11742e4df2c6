package import BelfryCore
import Synchronization

/// Keeps broadcast channels in memory, for any platform.
package final class FakeBroadcastChannels: BroadcastChannels {
    private let book = Mutex<[String: BroadcastChannel.Storage]>([:])

    package init() {}

    package func createChannel(
        _ storage: BroadcastChannel.Storage, on platform: Platform
    ) async throws(BroadcastChannelError) -> BroadcastChannel {
        book.withLock { book in
            let id = "channel/\(book.count)+=="
            book[id] = storage
            return BroadcastChannel(id: id, storage: storage)
        }
    }

    package func channel(_ id: String, on platform: Platform) async throws(BroadcastChannelError) -> BroadcastChannel {
        guard let storage = book.withLock({ $0[id] }) else { throw .unknown }
        return BroadcastChannel(id: id, storage: storage)
    }

    package func deleteChannel(_ id: String, on platform: Platform) async throws(BroadcastChannelError) {
        guard book.withLock({ $0.removeValue(forKey: id) }) != nil else { throw .unknown }
    }

    package func channels(on platform: Platform) async throws(BroadcastChannelError) -> [String] {
        book.withLock { $0.keys.sorted() }
    }
}

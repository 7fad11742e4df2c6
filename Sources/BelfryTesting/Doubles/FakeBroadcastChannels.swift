package import BelfryService
import Synchronization

/// Stores broadcast channels in memory, for any platform.
package final class FakeBroadcastChannels: BroadcastChannels {
    private let registry = Mutex<[String: BroadcastChannel.Storage]>([:])

    package init() {}

    package func createChannel(
        _ storage: BroadcastChannel.Storage, on platform: Platform
    ) async throws(BroadcastChannelError) -> BroadcastChannel {
        registry.withLock { registry in
            let id = "channel/\(registry.count)+=="
            registry[id] = storage
            return BroadcastChannel(id: id, storage: storage)
        }
    }

    package func channel(_ id: String, on platform: Platform) async throws(BroadcastChannelError) -> BroadcastChannel {
        guard let storage = registry.withLock({ $0[id] }) else { throw .unknown }
        return BroadcastChannel(id: id, storage: storage)
    }

    package func deleteChannel(_ id: String, on platform: Platform) async throws(BroadcastChannelError) {
        guard registry.withLock({ $0.removeValue(forKey: id) }) != nil else { throw .unknown }
    }

    package func channels(on platform: Platform) async throws(BroadcastChannelError) -> [String] {
        registry.withLock { $0.keys.sorted() }
    }
}

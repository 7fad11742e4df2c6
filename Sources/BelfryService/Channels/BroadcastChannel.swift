/// A broadcast channel: devices subscribe to it at the provider, and one message to it reaches them all.
///
/// The provider stores it. To Belfry it is a device of a platform of type `ios-broadcast`, whose token is the channel's
/// id.
package struct BroadcastChannel: Sendable, Hashable {
    package let id: String
    package let storage: Storage

    /// Whether a channel stores messages for devices that cannot be reached.
    package enum Storage: String, Sendable, Hashable, CaseIterable {
        case nothing, latest
    }

    package init(id: String, storage: Storage) {
        self.id = id
        self.storage = storage
    }
}

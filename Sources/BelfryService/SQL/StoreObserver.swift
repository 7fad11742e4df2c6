/// Receives measurements of a store's writes.
package protocol StoreObserver: Sendable {
    /// The number of waiting writes.
    func writesWaiting(_ count: Int)
    /// The duration of a transaction without the flush.
    func transactionEnded(after duration: Duration)
    /// The number of calls that an old server will never get, for want of room.
    func unmirrored(_ count: Int)
}

extension StoreObserver {
    package func unmirrored(_ count: Int) {}
}

package struct NoStoreObserver: StoreObserver {
    package init() {}

    package func writesWaiting(_ count: Int) {}
    package func transactionEnded(after duration: Duration) {}
}

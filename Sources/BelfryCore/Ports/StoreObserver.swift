/// Hears how a store's writes fare.
package protocol StoreObserver: Sendable {
    /// So many writes wait for their turn.
    func writesWaiting(_ count: Int)
    /// A transaction was worked on for so long, the wait for the disk aside.
    func transactionEnded(after duration: Duration)
}

package struct NoStoreObserver: StoreObserver {
    package init() {}

    package func writesWaiting(_ count: Int) {}
    package func transactionEnded(after duration: Duration) {}
}

/// Is told that something may have happened to a push. It never waits and never fails; an observer that wants to know more reads
/// the receipt.
package protocol PushObserver: Sendable {
    func noticed(_ push: PushHead)
}

/// Takes no notice of anything.
package struct NoPushObserver: PushObserver {
    package init() {}

    package func noticed(_ push: PushHead) {}
}

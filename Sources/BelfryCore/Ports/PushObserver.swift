/// Receives hints that a push may have changed.
package protocol PushObserver: Sendable {
    /// Receives a hint that a push may have changed. Must return at once; the observer reads the receipt for details.
    func pushMayHaveChanged(_ push: PushHead)
    /// Receives what a settlement of this process made of a batch. Must return at once.
    func settled(_ push: PushHead, _ settlement: Settlement)
}

extension PushObserver {
    package func settled(_ push: PushHead, _ settlement: Settlement) {}
}

/// Ignores all hints.
package struct NoPushObserver: PushObserver {
    package init() {}

    package func pushMayHaveChanged(_ push: PushHead) {}
}

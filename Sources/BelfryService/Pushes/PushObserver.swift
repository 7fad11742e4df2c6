/// Receives hints that a push may have changed.
package protocol PushObserver: Sendable {
    /// Receives each accepted push once, from any API. Must return at once.
    func accepted(_ push: PushHead)
    /// Receives a hint that a push may have changed. Must return at once; the observer reads the receipt for details.
    func pushMayHaveChanged(_ push: PushHead)
    /// Receives the result of each batch that this process settled. Must return at once.
    func settled(_ push: PushHead, _ settlement: Settlement)
}

extension PushObserver {
    package func accepted(_ push: PushHead) { pushMayHaveChanged(push) }

    package func settled(_ push: PushHead, _ settlement: Settlement) {}
}

/// Ignores all hints.
package struct NoPushObserver: PushObserver {
    package init() {}

    package func pushMayHaveChanged(_ push: PushHead) {}
}

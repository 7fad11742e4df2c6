/// Receives hints that a push may have changed.
package protocol PushObserver: Sendable {
    func pushMayHaveChanged(_ push: PushHead)
}

/// Ignores all hints.
package struct NoPushObserver: PushObserver {
    package init() {}

    package func pushMayHaveChanged(_ push: PushHead) {}
}

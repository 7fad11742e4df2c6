/// Receives hints that a push may have changed.
package protocol PushObserver: Sendable {
    func noticed(_ push: PushHead)
}

/// Ignores all hints.
package struct NoPushObserver: PushObserver {
    package init() {}

    package func noticed(_ push: PushHead) {}
}

/// A device that lost the app, for senders that ask the feedback service.
package struct Feedback: Sendable, Hashable {
    package let key: Key<Feedback>
    /// When it was found.
    package let since: Instant
    package let token: DeviceToken

    package init(key: Key<Feedback>, since: Instant, token: DeviceToken) {
        self.key = key
        self.since = since
        self.token = token
    }
}

/// The topics of an application. A topic is created when a device subscribes to it, or when a back end creates it.
///
/// A topic that was deleted or has expired is gone at once: no device is subscribed to it, and its name is free.
package protocol TopicStore: Sendable {
    /// A page of the matching topics, by name.
    func topics(_ query: TopicQuery, skip: Int, limit: Int) async throws -> ListPage<Topic>
    /// The next topics after a name, by name, for readers of the whole list.
    func topics(of application: Key<Application>, after name: String?, limit: Int) async throws -> [Topic]
    func topic(named name: String, of application: Key<Application>) async throws -> Topic?
    /// Creates the missing topics and returns the results in order. A topic that exists stays as it is.
    func create(_ topics: [NewTopic], of application: Key<Application>) async throws -> [NewTopic.CreationResult]
    /// Gives a topic another expiry, or none; nil when the application has no such topic.
    func change(_ topic: Key<Topic>, of application: Key<Application>, expiresAt: Instant?) async throws -> Topic?
    /// Deletes those that belong to the application, and returns their number.
    func deleteTopics(_ keys: [Key<Topic>], of application: Key<Application>) async throws -> Int
    /// Adds topics to devices: all of them, or none when one is refused.
    ///
    /// Returns the refusal of each, in order; only nil when they were added.
    func subscribe(
        _ subscriptions: [Subscription], of application: Key<Application>
    ) async throws -> [Subscription.Refusal?]
}

/// Selects topics of an application.
package struct TopicQuery: Sendable, Hashable {
    package let applicationKey: Key<Application>
    /// A part of the name, with case folded.
    package let text: String?
    /// Only topics that expire, or only those that do not.
    package let hasExpiry: Bool?

    package init(applicationKey: Key<Application>, text: String? = nil, hasExpiry: Bool? = nil) {
        self.applicationKey = applicationKey
        self.text = text?.caseFolded
        self.hasExpiry = hasExpiry
    }
}

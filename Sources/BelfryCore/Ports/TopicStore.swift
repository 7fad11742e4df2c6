/// The topics of an application. One comes into being when a device subscribes to it, or when a back end makes it.
///
/// A topic that was deleted or has expired is gone at once: no device is subscribed to it, and its name is free for another.
package protocol TopicStore: Sendable {
    /// A slice of the topics that match, by name.
    func topics(_ query: TopicQuery, skip: Int, limit: Int) async throws -> Listing<Topic>
    /// The next topics behind a name, by name: for readers of the whole list.
    func topics(of application: Key<Application>, after name: String?, limit: Int) async throws -> [Topic]
    func topic(named name: String, of application: Key<Application>) async throws -> Topic?
    /// Makes those that are not there; what came of each, in order. A topic that exists stays as it is.
    func create(_ topics: [NewTopic], of application: Key<Application>) async throws -> [NewTopic.Fate]
    /// Deletes those of the application, and returns how many there were.
    func deleteTopics(_ keys: [Key<Topic>], of application: Key<Application>) async throws -> Int
    /// Adds topics to devices: all of them, or none when one is refused.
    ///
    /// Returns the refusal of each, in order; nothing but nil when they were added.
    func subscribe(
        _ subscriptions: [Subscription], of application: Key<Application>
    ) async throws -> [Subscription.Refusal?]
}

package struct TopicQuery: Sendable, Hashable {
    package let applicationKey: Key<Application>
    /// What the name has to contain, in lower case.
    package let text: String?
    /// Only those that expire, or only those that do not.
    package let hasExpiry: Bool?

    package init(applicationKey: Key<Application>, text: String? = nil, hasExpiry: Bool? = nil) {
        self.applicationKey = applicationKey
        self.text = text
        self.hasExpiry = hasExpiry
    }
}

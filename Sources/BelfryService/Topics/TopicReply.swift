import FoundationEssentials

extension Admin {
    /// A topic.
    package struct TopicReply: Codable, Sendable {
        package let name: String
        @OrNull package var expires_at: String?

        package init(_ topic: Topic) {
            name = topic.name
            _expires_at = OrNull(wrappedValue: topic.expiresAt?.text)
        }
    }

    /// A page of topics.
    package struct TopicsReply: Codable, Sendable {
        package let total: Int
        package let topics: [TopicReply]
        @OrNull package var next_cursor: String?
    }
}

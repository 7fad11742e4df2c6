import BelfryCore
import PostgreSQL
import Synchronization

/// Topics by name, as far as they were asked for: most devices share few topics. What it says holds until a topic is
/// deleted, on whichever node, and no reader of how many were deleted by then is told anything older.
final class PostgresTopicCache: Sendable {
    typealias Topics = [Key<Application>: [String: Topic]]

    private struct State {
        var topicDeletions: Int64 = 0
        var topics: Topics = [:]
        var count = 0
        let begunAt = ContinuousClock.now
    }

    private let state = Mutex(State())

    /// Forgets all beyond this many, so that an app that invents names takes no memory.
    private static let countMax = 100_000
    /// A database that was brought back from a backup may have deleted as many, and know other topics.
    private static let ageMax = Duration.seconds(60)

    /// Those known since so many deletions.
    func topics(since topicDeletions: Int64) -> Topics {
        state.withLock { state in
            if state.begunAt.duration(to: .now) > Self.ageMax { state = State() }
            return state.topicDeletions == topicDeletions ? state.topics : [:]
        }
    }

    /// To be told of topics once the transaction that found or made them has committed.
    func learn(_ topics: [TopicName: Topic], since topicDeletions: Int64) {
        state.withLock { state in
            guard topicDeletions >= state.topicDeletions else { return }
            if topicDeletions > state.topicDeletions || state.count + topics.count > Self.countMax {
                state = State(topicDeletions: topicDeletions)
            }
            for (name, topic) in topics { state.topics[name.application, default: [:]][name.name] = topic }
            state.count += topics.count
        }
    }
}

extension PostgresWriteSession {
    /// The topics of that book as of now, when so many were deleted.
    func knownTopics() throws -> (topics: PostgresTopicCache.Topics, topicDeletions: Int64) {
        let topicDeletions = try prepared(PostgresTopicDeletionStatements.count).first { $0.integer(0) } ?? 0
        return (topicCache.topics(since: topicDeletions), topicDeletions)
    }
}

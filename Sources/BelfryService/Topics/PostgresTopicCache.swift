import PostgreSQL
import Synchronization

/// Topics by name, as far as they were looked up: most devices share few topics. An entry is valid until any node
/// deletes a topic; readers know how many were deleted, and are given nothing older.
final class PostgresTopicCache: Sendable {
    typealias Topics = [Key<Application>: [String: Topic]]

    private struct State {
        var topicDeletions: Int64 = 0
        var topics: Topics = [:]
        var count = 0
        let begunAt = ContinuousClock.now
    }

    private let state = Mutex(State())

    /// Beyond this many entries all are dropped, so that an app that invents names takes no memory.
    private static let countMax = 100_000
    /// A database that was restored from a backup may have the same number of deletions, and other topics.
    private static let ageMax = Duration.seconds(60)

    /// The topics looked up since that many deletions.
    func topics(since topicDeletions: Int64) -> Topics {
        state.withLock { state in
            if state.begunAt.duration(to: .now) > Self.ageMax { state = State() }
            return state.topicDeletions == topicDeletions ? state.topics : [:]
        }
    }

    /// Called with topics once the transaction that found or created them has committed.
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

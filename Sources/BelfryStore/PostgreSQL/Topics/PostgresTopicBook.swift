import BelfryCore
import PostgreSQL
import Synchronization

/// Topics by name, as far as they were asked for: most devices share few topics. What it says holds until a topic is buried,
/// on whichever node, and nobody who reads how many were buried by then is told anything older.
final class PostgresTopicBook: Sendable {
    typealias Topics = [Key<Application>: [String: Topic]]

    private struct State {
        var burials: Int64 = 0
        var topics: Topics = [:]
        var count = 0
        let begunAt = ContinuousClock.now
    }

    private let state = Mutex(State())

    /// Forgets all beyond this many, so that an app that invents names takes no memory.
    private static let countMax = 100_000
    /// A database that was brought back from a backup may have buried as many, and know other topics.
    private static let ageMax = Duration.seconds(60)

    /// Those known since so many burials.
    func topics(since burials: Int64) -> Topics {
        state.withLock { state in
            if state.begunAt.duration(to: .now) > Self.ageMax { state = State() }
            return state.burials == burials ? state.topics : [:]
        }
    }

    /// To be told of topics once the transaction that found or made them has committed.
    func learn(_ topics: [TopicName: Topic], since burials: Int64) {
        state.withLock { state in
            guard burials >= state.burials else { return }
            if burials > state.burials || state.count + topics.count > Self.countMax {
                state = State(burials: burials)
            }
            for (name, topic) in topics { state.topics[name.application, default: [:]][name.name] = topic }
            state.count += topics.count
        }
    }
}

extension PostgresWriteSession {
    /// The topics of that book as of now, when so many were buried.
    func knownTopics() throws -> (topics: PostgresTopicBook.Topics, burials: Int64) {
        let burials = try prepared(PostgresBurialStatements.count).first { $0.integer(0) } ?? 0
        return (topicBook.topics(since: burials), burials)
    }
}

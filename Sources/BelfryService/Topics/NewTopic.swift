/// A topic that a back end wants to create.
package struct NewTopic: Sendable, Hashable {
    /// The normalized name.
    package let name: String
    package let expiresAt: Instant?

    /// The most topics one request may create or delete.
    /// Source: PCF Push API, "Create topics in batch".
    package static let batchMax = 1_024
    /// Topics per write, so that other writes run in between.
    package static let perWrite = 64
    /// Source: PCF Push API, "Create a topic", timeToLive.
    package static let timeToLiveMin = Duration.seconds(60)
    /// Ten years.
    package static let timeToLiveMax = Duration.seconds(315_360_000)

    /// Whether a topic was created, or existed before.
    package enum CreationResult: Sendable, Hashable {
        case created(Topic)
        case existed(Topic)

        package var topic: Topic {
            switch self {
            case .created(let topic), .existed(let topic): topic
            }
        }
    }

    /// - Parameters:
    ///   - expiresAt: a future time. At most one of this and `timeToLive` may be given.
    ///   - timeToLive: counted from `now`.
    ///   - field: the path of the topic in the request, such as `topics[3].`; empty at the top.
    package init(
        name: String, expiresAt: Instant? = nil, timeToLive: Duration? = nil, now: Instant, field: String = ""
    ) throws(InvalidInput) {
        self.name = try Topic.normalized(name, field: field + "name")
        if expiresAt != nil, timeToLive != nil {
            throw InvalidInput(field: field + "expireAt", "and timeToLive exclude each other, give one of them")
        }
        if let expiresAt, expiresAt <= now {
            throw InvalidInput(field: field + "expireAt", "is \(expiresAt.milliseconds), which is not in the future")
        }
        if let timeToLive, timeToLive < Self.timeToLiveMin {
            throw InvalidInput(
                field: field + "timeToLive", "is \(timeToLive.components.seconds) s, the least is 60 s")
        }
        if let timeToLive, timeToLive > Self.timeToLiveMax {
            throw InvalidInput(
                field: field + "timeToLive",
                "is \(timeToLive.components.seconds) s, the most is \(Self.timeToLiveMax.components.seconds) s")
        }
        self.expiresAt = expiresAt ?? timeToLive.map { now + $0 }
    }
}

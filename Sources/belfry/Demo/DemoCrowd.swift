import BelfryService

/// The devices of the demo: their platforms and topics, and which tokens are dead or malformed.
struct DemoCrowd: Sendable {
    struct Member: Sendable {
        let index: Int
        let kind: PlatformKind
        let token: String
        let topics: [String]
        let fate: Fate
    }

    /// The simulated provider's answer for a device's token.
    enum Fate: Sendable { case taken, gone, refused }

    let members: [Member]

    /// Creates the devices, and scripts their providers' answers for them.
    init(count: Int, providers: DemoProviders, now: Instant) {
        let owners = providers.all.enumerated().flatMap { Array(repeating: $0.offset, count: $0.element.share) }
        var indexes = Array(repeating: [Int](), count: providers.all.count)
        for index in 0..<count { indexes[owners[index % owners.count]].append(index) }
        var members: [Member] = []
        members.reserveCapacity(count)
        for ((provider, _), indexes) in zip(providers.all, indexes) {
            var fates: [String: Fate] = [:]
            for (index, token) in zip(indexes, provider.tokens(indexes.count)) {
                let fate = Self.fate(index, among: provider.knows)
                if fate != .taken { fates[token] = fate }
                members.append(
                    Member(index: index, kind: provider.kind, token: token, topics: Self.topics(index), fate: fate))
            }
            provider.arrange(fates, now: now)
        }
        self.members = members
    }

    /// The addressee of the mail.
    var addressee: Member { members[0] }

    private static func topics(_ index: Int) -> [String] {
        var topics: [String] = []
        if index / 3 % 10 < 8 { topics.append("local_seminars") }
        if index % 2 == 0 { topics.append("breaking_news") }
        if index % 3 == 0 { topics.append("dairy") }
        if index % 5 == 0 { topics.append("local") }
        return topics
    }

    /// About one in a hundred is gone and one in two hundred refused, on every platform alike.
    private static func fate(_ index: Int, among known: Set<Fate>) -> Fate {
        let fate: Fate =
            switch (index % 100 + index / 100 * 7) % 200 {
            case 42, 142: .gone
            case 77: .refused
            default: .taken
            }
        return known.contains(fate) ? fate : .taken
    }
}

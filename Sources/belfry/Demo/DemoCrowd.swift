import BelfryCore
import BelfrySimulators

/// The devices of the demo: who subscribes to what, and whose token is dead or malformed.
struct DemoCrowd: Sendable {
    struct Member: Sendable {
        let index: Int
        let token: String
        let topics: [String]
        let fate: Fate
    }

    /// What the simulated provider says to a device's token.
    enum Fate: Sendable { case taken, gone, refused }

    let members: [Member]

    init(count: Int) {
        var random = SystemRandomNumberGenerator()
        members = (0..<count).map { index in
            Member(
                index: index,
                token: (0..<4).reduce(into: "") { text, _ in text += random.next().hex },
                topics: Self.topics(index), fate: Self.fate(index))
        }
    }

    /// The one who gets mail.
    var addressee: Member { members[0] }

    /// How many members fulfil a condition.
    func count(where condition: (Member) -> Bool) -> Int { members.count(where: condition) }

    func script(now: Instant) -> APNsScript {
        var verdicts: [String: APNsVerdict] = [:]
        for member in members {
            switch member.fate {
            case .taken: continue
            case .gone:
                verdicts[member.token] = APNsVerdict(
                    status: 410, reason: "Unregistered", timestamp: now.milliseconds + 60 * 60 * 1_000)
            case .refused: verdicts[member.token] = APNsVerdict(status: 400, reason: "BadDeviceToken")
            }
        }
        return APNsScript(verdicts: verdicts)
    }

    private static func topics(_ index: Int) -> [String] {
        var topics: [String] = []
        if index % 10 < 8 { topics.append("local_seminars") }
        if index % 2 == 0 { topics.append("breaking_news") }
        if index % 3 == 0 { topics.append("dairy") }
        if index % 5 == 0 { topics.append("local") }
        return topics
    }

    private static func fate(_ index: Int) -> Fate {
        switch index % 100 {
        case 42: .gone
        case 77 where index % 200 == 77: .refused
        default: .taken
        }
    }
}

extension UInt64 {
    fileprivate var hex: String {
        let digits = String(self, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

import BelfryService
import FoundationEssentials

/// One of the example pushes of the PCF Push documentation, and its expected result.
struct DemoPush: Sendable {
    let name: String
    let body: String
    private let audience: [DemoCrowd.Member]

    var expected: DemoTally { DemoTally(audience) }

    func expected(on kind: PlatformKind) -> DemoTally { DemoTally(audience.lazy.filter { $0.kind == kind }) }

    /// The town hall by topic, the cheese by topics and platforms, the mail to one device.
    ///
    /// Two examples name times that would end the demo early: the town hall's expiry is in 2016, and the cheese is to
    /// wait two hours. They are sent with an expiry of tomorrow, and at once. There are two Android platforms here, so
    /// both are named.
    static func all(crowd: DemoCrowd, addressee: UUID, now: Instant) -> [DemoPush] {
        let news: Set = ["breaking_news", "local", "dairy"]
        let phones: Set<PlatformKind> = [.ios, .android, .androidFCM]
        return [
            DemoPush(
                name: "Town hall, to topic local_seminars", body: townHallBody(expiry: now + .seconds(86_400)),
                audience: crowd.members.filter { $0.topics.contains("local_seminars") }),
            DemoPush(
                name: "Cheese, to topics breaking_news, local, dairy on iOS and Android", body: cheeseBody,
                audience: crowd.members.filter { member in
                    // A device that the town hall's push found dead is not in the next audience.
                    let isDeletedTopic = member.fate == .gone && member.topics.contains("local_seminars")
                    return phones.contains(member.kind) && !news.isDisjoint(with: member.topics) && !isDeletedTopic
                }),
            DemoPush(name: "Mail, to one device", body: mailBody(to: addressee), audience: [crowd.addressee]),
        ]
    }

    private static func townHallBody(expiry: Instant) -> String {
        """
        {
          "message": { "body": "Town Hall This Thursday: Forging, Cheese, And You" },
          "target": { "topics": [ "local_seminars" ] },
          "expiryTime": \(expiry.milliseconds)
        }
        """
    }

    private static let cheeseBody = """
        {
          "message": {
            "custom": {
              "ios": {
                "alert": { "body": "Breaking News: World's Biggest Cheese Forged At Local Bakery" },
                "content-available": true,
                "extra": { "story_url": "https://my_server/article/123456789" }
              },
              "android": {
                "message": "Breaking News: World's Biggest Cheese Forged At Local Bakery",
                "story_url": "https://my_server/article/123456789"
              }
            }
          },
          "target": {
            "topics": [ "breaking_news", "local", "dairy" ],
            "platforms": [ "ios", "android", "android-fcm" ]
          }
        }
        """

    private static func mailBody(to device: UUID) -> String {
        """
        {
          "message": {
            "custom": {
              "ios": {
                "alert": { "body": "You've got mail!" },
                "category": "new_email",
                "badge": 1,
                "sound": "new_email",
                "content-available": true,
                "extra": {
                  "from": "Your Local Bakery",
                  "to": "You",
                  "subject": "Special Deal on Cheese",
                  "message_body": "Please come to your local bakery before Friday to sample a piece of the world's biggest cheese."
                }
              }
            }
          },
          "target": { "devices": [ "\(device.lowercased)" ] }
        }
        """
    }
}

/// A line of the demo's summary: the result of a push, beside the expected one.
struct DemoRow {
    let push: DemoPush
    let receipt: Receipt

    private var tally: DemoTally { DemoTally(receipt.counts) }

    var isRight: Bool { tally == push.expected }

    static func show(_ rows: [DemoRow]) {
        Output.table(["push"] + DemoTally.head + ["devices/s", "first ms", "last ms", ""], rows.map(\.cells))
    }

    private var cells: [String] {
        let settled = receipt.settledAt.map { $0 - receipt.push.acceptedAt }
        let rate = settled.map { Double(receipt.devices) * 1_000 / Double(max($0.milliseconds, 1)) }
        return [push.name] + tally.cells + [
            rate.map { Int($0).grouped } ?? "-",
            receipt.firstAnswerAt.map { String(($0 - receipt.push.acceptedAt).milliseconds) } ?? "-",
            settled.map { String($0.milliseconds) } ?? "-", tally.verdict(expecting: push.expected),
        ]
    }
}

/// A line of the second table: the results of all pushes on one platform.
struct DemoPlatformRow {
    let provider: any DemoProvider
    let registered: Int
    let expected: DemoTally
    let found: DemoTally

    /// A provider that answers at once gets one request for each device; a slow one may get more.
    var isRight: Bool { found == expected && provider.told >= found.accepted }

    static func show(_ rows: [DemoPlatformRow]) {
        Output.table(
            ["platform", "provider", "registered"] + DemoTally.head + ["notified", ""],
            rows.map { row in
                [row.provider.kind.rawValue, row.provider.name, row.registered.grouped] + row.found.cells + [
                    row.provider.told.grouped, row.found.verdict(expecting: row.expected),
                ]
            })
    }
}

/// The number of devices with each kind of answer.
struct DemoTally: Equatable {
    var accepted = 0
    var refused = 0
    var gone = 0
    /// Anything else; there must be none.
    var other = 0

    var devices: Int { accepted + refused + gone + other }

    init(_ members: some Sequence<DemoCrowd.Member> = []) {
        for member in members {
            switch member.fate {
            case .taken: accepted += 1
            case .refused: refused += 1
            case .gone: gone += 1
            }
        }
    }

    init(_ counts: [Answer: Int]) {
        for (answer, count) in counts {
            switch answer {
            case .accepted: accepted += count
            case .refused: refused += count
            case .gone: gone += count
            default: other += count
            }
        }
    }

    static func += (left: inout DemoTally, right: DemoTally) {
        left.accepted += right.accepted
        left.refused += right.refused
        left.gone += right.gone
        left.other += right.other
    }

    static let head = ["devices", "accepted", "refused", "gone"]
    var cells: [String] { [devices, accepted, refused, gone].map(\.grouped) }

    /// The last cell of a row.
    func verdict(expecting expected: DemoTally) -> String {
        self == expected ? "✓" : "✗ must be \(expected.accepted)/\(expected.refused)/\(expected.gone)"
    }
}

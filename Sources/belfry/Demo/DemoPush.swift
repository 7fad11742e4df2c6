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

import BelfryCore
import Foundation

/// One of the example pushes of the PCF Push documentation, and what must become of it.
struct DemoPush: Sendable {
    let name: String
    let body: String
    let accepted: Int
    let refused: Int
    let gone: Int

    var devices: Int { accepted + refused + gone }

    /// The town hall by topic, the cheese by topics and platforms, the mail to one device.
    ///
    /// Two examples name times that would end the demo early: the town hall's expiry lies in 2016, and the cheese is to
    /// wait two hours. They are sent with an expiry of tomorrow, and at once.
    static func all(crowd: DemoCrowd, addressee: UUID, now: Instant) -> [DemoPush] {
        let news: Set = ["breaking_news", "local", "dairy"]
        let townHall = Audience { $0.topics.contains("local_seminars") }
        // Whoever the town hall found dead is not looked for again.
        let cheese = Audience { member in
            !news.isDisjoint(with: member.topics) && !(member.fate == .gone && townHall.includes(member))
        }
        let mail = Audience { $0.index == crowd.addressee.index }
        return [
            DemoPush(
                "Town hall, to topic local_seminars", townHallBody(expiry: now + .seconds(86_400)), townHall, crowd),
            DemoPush("Cheese, to topics breaking_news, local, dairy on iOS and Android", cheeseBody, cheese, crowd),
            DemoPush("Mail, to one device", mailBody(to: addressee), mail, crowd),
        ]
    }

    private struct Audience {
        let includes: (DemoCrowd.Member) -> Bool
    }

    private init(_ name: String, _ body: String, _ audience: Audience, _ crowd: DemoCrowd) {
        self.name = name
        self.body = body
        accepted = crowd.count { audience.includes($0) && $0.fate == .taken }
        refused = crowd.count { audience.includes($0) && $0.fate == .refused }
        gone = crowd.count { audience.includes($0) && $0.fate == .gone }
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
            "platforms": [ "ios", "android" ]
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

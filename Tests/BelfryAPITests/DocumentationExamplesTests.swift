import BelfryCore
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryAPI

/// Every JSON example of the two documents that clients were built from, with their comments and dots taken out.
///
/// Source: "Push a message" and "Registration" of PCF Push Notification Service 1.6 and 1.9.
@Suite struct DocumentationExamplesTests {
    static let hello = #""message":{"body":"Hi"}"#

    @Test(arguments: [
        #"{\#(hello),"target":{"devices":["device_uuid1","device_uuid2","device_uuid3"]}}"#,
        #"{\#(hello),"target":{"topics":["exciting_topic","pedantic_topic"]}}"#,
        #"{\#(hello),"target":{"platforms":["ios"]}}"#,
        #"{\#(hello),"target":{"platforms":["android"],"topics":["best_topic_ever"]}}"#,
        #"{\#(hello),"target":{"platforms":["android","ios"],"interactive-only":true}}"#,
        #"{\#(hello),"target":{"custom_user_ids":["some_customer_user_id","some_other_custom_user_id"]}}"#,
        #"{\#(hello),"target":{"custom_user_ids":["some_customer_user_id"],"topics":["exciting_topic","pedantic_topic"]}}"#,
        #"{\#(hello),"target":{"custom_user_ids":["some_customer_user_id1","some_customer_user_id2"],"topics":["exciting_topic","pedantic_topic"]}}"#,
        #"{\#(hello),"target":{"platforms":["ios"]},"scheduleAt":1454313600000}"#,
        customIOS, townHall, mail, allOptions, allOptionsWithBB10,
    ])
    func `an example of a push is taken`(body: String) async throws {
        let stand = try await Stand()
        let reply = try await stand.push(body)
        #expect(reply.status == 200, "\(reply)")
        #expect(await stand.store.pushes.count == 1)
    }

    @Test(arguments: [
        #"{\#(hello),"target":{"platforms":["ios"]},"scheduleIn":7200000}"#, cheese,
    ])
    func `an example of a scheduled push waits for its time`(body: String) async throws {
        let reply = try await Stand().push(body)
        #expect(reply.status == 200 && reply["schedule_id"]?.stringValue?.count == 16, "\(reply)")
    }

    static let customIOS = """
        {"message":{"custom":{"ios":{"alert":{"body":"iOS only message body","action-loc-key":"actionKey",
        "loc-key":"localizedStringKey","loc-args":[""],"title":"Title","title-loc-key":"titleKey",
        "title-loc-args":["arg1","arg2"],"launch-image":"Default.png"},"category":"SAMPLE_CATEGORY","badge":1,
        "sound":"default","content-available":true,"extra":{"freeform custom data":"freeform custom data"}}}},
        "target":{"platforms":["ios"]}}
        """

    static let townHall = """
        {"message":{"body":"Town Hall This Thursday: Forging, Cheese, And You"},"target":{"topics":["local_seminars"]},
        "expiryTime":1459468800000}
        """

    static let cheese = """
        {"message":{"custom":{"ios":{"alert":{"body":"Breaking News: World's Biggest Cheese Forged At Local Bakery"},
        "content-available":true,"extra":{"story_url":"https://my_server/article/123456789"}},
        "android":{"message":"Breaking News: World's Biggest Cheese Forged At Local Bakery",
        "story_url":"https://my_server/article/123456789"}}},
        "target":{"topics":["breaking_news","local","dairy"],"platforms":["ios","android"]},"scheduleIn":7200}
        """

    static let mail = """
        {"message":{"custom":{"ios":{"alert":{"body":"You've got mail!"},"category":"new_email","badge":1,
        "sound":"new_email","content-available":true,"extra":{"from":"Your Local Bakery","to":"You",
        "subject":"Special Deal on Cheese",
        "message_body":"Please come to your local bakery before Friday to sample a piece of the world's biggest cheese."
        }}}},"target":{"devices":["111-222-333444"]}}
        """

    static let allOptions = options(bb10: "")
    static let allOptionsWithBB10 = options(bb10: #","bb10":"BB10 only message body""#)

    static func options(bb10: String) -> String {
        """
        {"message":{"body":"Message body","custom":{"ios":{"alert":{"body":"iOS only message body",
        "action-loc-key":"actionKey","loc-key":"localizedStringKey","loc-args":["arg1","arg2"],"title":"Title",
        "title-loc-key":"titleKey","title-loc-args":["arg1","arg2"],"launch-image":"Default.png"},
        "category":"SAMPLE_CATEGORY","badge":1,"sound":"default","content-available":true,"extra":{}},
        "android":{"collapse_key":"collapseKey"},"windows8":{"template_name":"TileSquareBlock",
        "template_fields":{"textField1":"text1","textField2":"text2"},"options":{},"type":"tile"},
        "windowsPhone":{"template_fields":{"subtitle":"text","parameter":"text"},"template":"toast"}\(bb10)}},
        "target":{"topics":["topic1","topic2"],"platforms":["platform1","platform2"],
        "devices":["device_uuid1","device_uuid2"],"interactive-only":false,"platform":"all"},
        "scheduleAt":1345852800000,"scheduleIn":0,"expiryTime":null}
        """
    }

    @Test func `the examples of a registration and of its update are taken`() async throws {
        var stand = try await Stand()
        stand.options.verifiesCustomUserIDs = false
        let post = """
            {"device_alias":"John's iPhone","device_model":"iPhone6","device_manufacturer":"Apple","os":"ios",
            "os_version":"9.0","registration_token":"b50edac575bfba07dd019b28b2af7189a3ddda17c806ef14a9abbfd00533f67e",
            "tags":["beta","gamma","alpha"],"custom_user_id":"jsmith"}
            """
        let created = try await stand.register(post)
        #expect(created.status == 200, "\(created)")
        #expect(created["custom_user_id"] == .string("jsmith"))
        let uuid = try #require(created["device_uuid"]?.stringValue)
        let put = """
            {"device_alias":"John Smith's iPhone","device_model":"iPhone6","device_manufacturer":"Apple","os":"ios",
            "os_version":"9.0","registration_token":"b50edac575bfba07dd019b28b2af7189a3ddda17c806ef14a9abbfd00533f67e",
            "tags":["beta","gamma","alpha","delta"],"custom_user_id":"john.smith"}
            """
        let updated = try await stand.send(.put, "/v1/registration/\(uuid)", as: .iPhone, put)
        #expect(updated.status == 200, "\(updated)")
        #expect(updated["custom_user_id"] == .string("john.smith"))
        #expect(updated["device_alias"] == .string("John Smith's iPhone"))
        guard case .array(let tags) = updated["tags"] else { return }
        #expect(tags.compactMap { $0["text"]?.stringValue } == ["alpha", "beta", "delta", "gamma"])
    }

    @Test func `the fields as the pages list them are taken`() async throws {
        let stand = try await Stand()
        let body =
            #"{"device_alias":"string","device_model":"string","device_manufacturer":"string","os":"string","#
            + #""os_version":"string","registration_token":"abcdef","tags":["tag1","tag2"]}"#
        let uuid = try #require(try await stand.register(body)["device_uuid"]?.stringValue)
        let put =
            #"{"device_alias":"string","device_manufacturer":"string","device_model":"string","os_version":"string","#
            + #""registration_token":"abcdef","tags":{"subscribe":["tag1","tag2"],"unsubscribe":["tag3","tag4"]}}"#
        #expect(try await stand.send(.put, "/v1/registration/\(uuid)", as: .iPhone, put).status == 200)
    }
}

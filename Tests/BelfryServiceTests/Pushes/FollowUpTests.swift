import BelfryTesting
import FoundationEssentials
import Testing

@testable import BelfryService

/// What devices get of an update and of a retraction, and the id under which they show a push.
@Suite struct FollowUpTests {
    private static let first = UUID(words: 1, 2)
    private static let second = UUID(words: 3, 4)
    private static let firstID = "00000000-0000-0001-0000-000000000002"

    /// A message as the admin API reads it.
    private static func content(_ json: String) throws -> Push.Content {
        let body = try Admin.PushBody(json: Array(#"{"message":\#(json),"target":{"everyone":true}}"#.utf8))
        return try body.pushRequest(channels: nil).content
    }

    private static func retraction(of content: Push.Content) throws -> Push.Content {
        try FollowedPush(first, content, isRetraction: true).retraction(
            of: content, at: Instant(milliseconds: 1_700_000_000_999))
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test(arguments: [
        (#"{"body":"b"}"#, firstID, firstID, firstID),
        (#"{"body":"b","collapse_key":"k"}"#, "k", "k", "k"),
        (#"{"body":"b","collapse_key":"k","web":{"title":"t","topic":"w"}}"#, "k", "k", "w"),
        (#"{"body":"b","collapse_key":"k","apns":{"collapse_id":"a"}}"#, "a", "k", "k"),
        (#"{"title":"t","custom":{"android":{"collapse_key":"n"}}}"#, firstID, "n", firstID),
        (#"{"title":"t","custom":{"android":{"collapse_key":"n"},"android-fcm":{"x":1}}}"#, firstID, firstID, firstID),
        (#"{"body":"b","custom":{"android":{"collapse_key":"n"}}}"#, firstID, firstID, firstID),
        (#"{"body":"b","custom":{"web":{"tag":"own"}}}"#, firstID, firstID, "own"),
        (
            #"{"body":"b","template":true,"values":{"n":7},"custom":{"web":{"tag":"o{{values.n}}"}}}"#, firstID,
            firstID, "o7"
        ),
    ])
    func `each platform shows a push under one id`(json: String, apple: String, android: String, web: String) throws {
        let followed = FollowedPush(Self.first, try Self.content(json))
        #expect(
            followed.id(on: .ios) == apple && followed.id(on: .androidFCM) == android && followed.id(on: .web) == web)
    }

    @Test func `an update of an update keeps the first id`() throws {
        var content = try Self.content(#"{"body":"b"}"#)
        content.follows = FollowedPush(Self.first, content)
        let next = FollowedPush(Self.second, content)
        #expect(next.receiptID == Self.second && next.shownID == Self.first && next.id(on: .ios) == Self.firstID)
    }

    @Test func `a stored update equals what was sent`() throws {
        var content = try Self.content(#"{"title":"t","collapse_key":"k","custom":{"android":{"collapse_key":"n"}}}"#)
        content.follows = FollowedPush(Self.first, content, isRetraction: true)
        #expect(try Push.Content(stored: Array(content.storedText.utf8)) == content)
        #expect(!Push.Content(body: "b").storedText.contains("follows"))
    }

    @Test func `an update is shown under the id of the first`() throws {
        var content = try Self.content(#"{"title":"t","body":"b"}"#)
        content.follows = FollowedPush(Self.first, Push.Content(body: "a"))
        let android = try AndroidPayload(content, kind: .androidFCM, receiptID: Self.second, sentAt: .zero)
        #expect(android.collapseKey == nil && android.notice?.collapseKey == nil)
        #expect(android.dataByKey["belfry.replaces"] == Self.firstID)
        #expect(Self.text(try WebPayload(content, receiptID: nil).bytes).contains(#""tag":"\#(Self.firstID)""#))
        content.follows = FollowedPush(Self.first, try Self.content(#"{"title":"t","collapse_key":"k"}"#))
        let keyed = try AndroidPayload(content, kind: .androidFCM, receiptID: Self.second, sentAt: .zero)
        #expect(keyed.collapseKey == "k" && keyed.notice?.collapseKey == "k")
        #expect(Self.text(try WebPayload(content, receiptID: nil).bytes).contains(#""tag":"k""#))
        #expect(
            Self.text(try IOSPayload(content, receiptID: nil, sentAt: .zero).bytes)
                == #"{"aps":{"alert":{"body":"b","title":"t"}}}"#)
    }

    @Test(arguments: [
        (#"{"body":"b","collapse_key":"x"}"#, "message.collapse_key is not that of the push that it updates"),
        (#"{"body":"b","apns":{"collapse_id":"x"}}"#, "message.apns.collapse_id is not that"),
        (#"{"title":"t","web":{"topic":"x"}}"#, "message.web.topic is not that"),
        (#"{"title":"t","custom":{"amazon":{"collapse_key":"x"}}}"#, "message.custom.amazon.collapse_key is not that"),
    ])
    func `an update with another key is refused`(json: String, words: String) throws {
        let followed = FollowedPush(Self.first, try Self.content(#"{"body":"b","collapse_key":"k"}"#))
        let content = try Self.content(json)
        let fault = #expect(throws: InvalidInput.self) { try followed.check(keysOf: content) }
        #expect(fault?.description.hasPrefix(words) == true, "\(String(describing: fault))")
        #expect(throws: Never.self) { try followed.check(keysOf: Self.content(#"{"body":"c","collapse_key":"k"}"#)) }
    }

    @Test func `a retraction is silent and names the id`() throws {
        let retraction = try Self.retraction(of: try Self.content(#"{"body":"b","collapse_key":"k"}"#))
        let apple = try IOSPayload(retraction, receiptID: nil, sentAt: .zero)
        #expect(apple.isBackground)
        #expect(Self.text(apple.bytes) == #"{"aps":{"content-available":1},"belfry":{"retract":"k"}}"#)
        let android = try AndroidPayload(retraction, kind: .androidFCM, receiptID: nil, sentAt: .zero)
        #expect(android.isSilent && !android.isHighPriority && android.dataByKey == ["belfry.retract": "k"])
        #expect(Self.text(try WebPayload(retraction, receiptID: nil).bytes) == #"{"belfry":{"retract":"k"}}"#)
        #expect(retraction.paced(by: DeliveryRules()).pacing.kind == DeliveryRules.exemptKind)
    }

    @Test func `a retraction ends a Live Activity`() throws {
        let content = try Self.content(
            #"{"apns":{"type":"liveactivity","payload":{"aps":{"timestamp":1,"event":"update","content-state":{"goals":1}}}}}"#
        )
        let retraction = try Self.retraction(of: content)
        #expect(
            Self.text(try IOSPayload(retraction, for: .liveActivity, receiptID: nil, sentAt: .zero).bytes)
                == #"{"aps":{"content-state":{"goals":1},"dismissal-date":1700000000,"event":"end","timestamp":1700000000}}"#
        )
        let followed = FollowedPush(Self.first, content, isRetraction: true)
        #expect(
            PlatformKind.allCases.filter { followed.isRemoved(content, on: $0) }.map(\.rawValue) == [
                "ios-liveactivity", "ios-broadcast",
            ])
        #expect(!PlatformKind.allCases.contains { followed.isReplaced(content, on: $0) && $0.isApple })
    }

    @Test func `some platforms replace, fewer remove`() throws {
        func kinds(_ json: String, _ can: (FollowedPush, Push.Content, PlatformKind) -> Bool) throws -> [String] {
            let content = try Self.content(json)
            return PlatformKind.allCases.filter { can(FollowedPush(Self.first, content), content, $0) }.map(\.rawValue)
        }
        #expect(
            try kinds(#"{"body":"b"}"#) { $0.isReplaced($1, on: $2) } == [
                "ios", "android-fcm", "web", "ios-fcm", "web-fcm",
            ])
        #expect(
            try kinds(#"{"body":"b","collapse_key":"k"}"#) { $0.isReplaced($1, on: $2) }
                == ["ios", "android-fcm", "windows8", "web", "huawei", "ios-fcm", "web-fcm"])
        #expect(
            try kinds(#"{"body":"b","collapse_key":"k"}"#) { $0.isRemoved($1, on: $2) } == [
                "ios", "android-fcm", "web", "ios-fcm", "web-fcm",
            ])
        let keyed =
            #"{"title":"t","template":true,"custom":{"web":{"tag":"o{{user.id}}"},"android":{"collapse_key":"o{{user.id}}"}}}"#
        #expect(try kinds(keyed) { $0.isReplaced($1, on: $2) } == ["ios", "ios-fcm"])
        var content = try Self.content(keyed)
        content.pacing.reminders = try Reminders(
            JSONValue(json: #"{"every":"PT10M","times":3}"#.utf8), field: "reminders")
        let fault = #expect(throws: InvalidInput.self) {
            try PushRequest.reminding(
                of: Self.first, content, as: PushRequest(content: content, target: .everyone), in: .normal)
        }
        #expect(fault?.field == "reminders")
        let background = #"{"apns":{"type":"background","payload":{"aps":{"content-available":1}}},"data":{"a":1}}"#
        #expect(try kinds(background) { $0.isRemoved($1, on: $2) } == ["android-fcm", "web", "web-fcm"])
    }
}

import Foundation
import Testing

@testable import BelfryService

/// `message.apns` of the admin API: what each push type takes, and how the rest is refused.
@Suite struct ApplePushTests {
    private static func json(_ text: String) throws -> JSONValue {
        try JSONValue(json: text.utf8)
    }

    private static func push(_ text: String) throws -> ApplePush { try ApplePush(try json(text)) }

    private static func payload(
        _ text: String, body: String? = nil, for use: AppleTokenUse = .app, receiptID: UUID? = nil
    ) throws -> IOSPayload {
        try IOSPayload(
            Push.Content(body: body, apple: try push(text)), for: use, receiptID: receiptID, sentAt: .distantPast)
    }

    private static func decoded(_ payload: IOSPayload) throws -> JSONValue {
        try json(String(decoding: payload.bytes, as: UTF8.self))
    }

    static let activity =
        #"{"type":"liveactivity","payload":{"aps":{"timestamp":1,"event":"update","content-state":{"home":1}}}}"#
    static let start = #"""
        {"type":"liveactivity","payload":{"aps":{"timestamp":1,"event":"start","content-state":{},
        "attributes-type":"Match","attributes":{"away":"B"},"alert":{"title":"Kick-off","body":{"loc-key":"k",
        "loc-args":["a"]},"sound":"s"},"input-push-channel":"Y2g="}}}
        """#

    // MARK: What each type takes

    @Test(
        arguments: [
            #"{"payload":{"aps":{"alert":"a"}}}"#,
            #"{"type":"alert","payload":{"aps":{"alert":{"title":"t","subtitle":"s","body":"b","launch-image":"i","title-loc-key":"k","title-loc-args":["1"],"subtitle-loc-key":"k","subtitle-loc-args":["1"],"loc-key":"k","loc-args":["1"],"summary-arg":"x","summary-arg-count":2},"badge":0,"sound":"default","thread-id":"t","category":"c","content-available":1,"mutable-content":1,"target-content-id":"w","interruption-level":"time-sensitive","relevance-score":0.5,"filter-criteria":"f","url-args":["u"]},"order":{"id":17}}}"#,
            #"{"type":"alert","priority":10,"payload":{"aps":{"alert":"a","sound":{"critical":1,"name":"default","volume":1},"interruption-level":"critical"}}}"#,
            #"{"type":"alert","priority":1,"collapse_id":"score","store":false,"payload":{"aps":{"badge":3}}}"#,
            #"{"type":"background"}"#, #"{"type":"background","priority":5,"payload":{"order":17}}"#,
            #"{"type":"voip","payload":{"caller":"Emma"}}"#, #"{"type":"voip","payload":{"aps":{"alert":"call"}}}"#,
            #"{"type":"complication","payload":{"steps":4}}"#,
            #"{"type":"fileprovider","payload":{"container-identifier":"x"}}"#,
            #"{"type":"location","priority":5,"payload":{"aps":{}}}"#,
            #"{"type":"mdm","payload":{"mdm":"magic"}}"#, activity, start,
            #"{"type":"liveactivity","priority":5,"payload":{"aps":{"timestamp":1,"event":"end","content-state":{},"dismissal-date":2,"stale-date":3,"relevance-score":75}}}"#,
            #"{"type":"pushtotalk","payload":{"activeSpeaker":"Emma"}}"#,
            #"{"type":"widgets"}"#, #"{"type":"controls","payload":{"aps":{"content-changed":true}}}"#,
        ])
    func `each type is taken as Apple describes it`(text: String) throws {
        let push = try Self.push(text)
        for use in push.tokenUses { _ = try Self.payload(text, for: use) }
    }

    @Test(
        arguments: [
            (
                #"{"type":"alarm"}"#,
                "message.apns.type is 'alarm' (is alert meant?), it has to be one of alert, background, voip"
            ),
            (#"{"kind":"alert"}"#, "'message.apns.kind' is not a field"), (#"[]"#, "message.apns has to be an object"),
            (#"{"type":1}"#, "message.apns.type has to be a string, it is a number"),
            (#"{"priority":"10"}"#, "message.apns.priority has to be 10, 5 or 1"),
            (#"{"priority":7}"#, "message.apns.priority has to be 10, 5 or 1"),
            (#"{"store":"yes"}"#, "message.apns.store has to be true or false, it is a string"),
            (#"{"type":"background","priority":10}"#, "message.apns.priority is 10, type background takes 5"),
            (#"{"type":"pushtotalk","priority":5}"#, "message.apns.priority is 5, type pushtotalk takes 10"),
            (#"{"type":"location","priority":1}"#, "message.apns.priority is 1, type location takes 10, 5"),
            (
                #"{"priority":5,"payload":{"aps":{"alert":"a","sound":{"critical":1,"name":"d"}}}}"#,
                "message.apns.priority is 5, a critical alert takes 10"
            ),
            (#"{"collapse_id":""}"#, "message.apns.collapse_id is 0 bytes, APNs takes 1 to 64"),
            (#"{"collapse_id":" x"}"#, "message.apns.collapse_id begins or ends with a space"),
            (#"{"payload":{"receiptId":"x"}}"#, "message.apns.payload.receiptId is reserved"),
            (#"{"payload":{"aps":1}}"#, "message.apns.payload.aps has to be an object, it is a number"),
            (
                #"{"payload":{"aps":{"allert":"a"}}}"#,
                "message.apns.payload.aps.allert is not a key of type alert (is alert meant?), which takes alert, badge"
            ),
            (
                #"{"payload":{"aps":{"alert":{"titel":"t"}}}}"#,
                "message.apns.payload.aps.alert.titel is not a key of this dictionary (is title meant?), which takes body"
            ),
            (
                #"{"payload":{"aps":{"alert":1}}}"#,
                "message.apns.payload.aps.alert has to be a string or an object, it is 1"
            ),
            (
                #"{"payload":{"aps":{"alert":{"loc-args":[1]}}}}"#,
                "message.apns.payload.aps.alert.loc-args[0] has to be a string, it is 1"
            ),
            (
                #"{"payload":{"aps":{"badge":"3"}}}"#,
                #"message.apns.payload.aps.badge has to be a whole number from 0, or a text such as "+1", it is '3'"#
            ),
            (
                #"{"payload":{"aps":{"badge":-1}}}"#,
                #"message.apns.payload.aps.badge has to be a whole number from 0, or a text such as "+1", it is -1"#
            ),
            (
                #"{"payload":{"aps":{"content-available":true}}}"#,
                "message.apns.payload.aps.content-available has to be 1, or left out, it is true"
            ),
            (
                #"{"payload":{"aps":{"interruption-level":"loud"}}}"#,
                "message.apns.payload.aps.interruption-level has to be one of passive, active, time-sensitive, critical, it is 'loud'"
            ),
            (
                #"{"payload":{"aps":{"relevance-score":1.5}}}"#,
                "message.apns.payload.aps.relevance-score has to be a number from 0 to 1, it is 1.5"
            ),
            (#"{"payload":{"aps":{"sound":{"critical":1}}}}"#, "message.apns.payload.aps.sound.name is missing"),
            (
                #"{"payload":{"aps":{"sound":{"critical":2,"name":"d"}}}}"#,
                "message.apns.payload.aps.sound.critical has to be 1 or 0"
            ),
            (
                #"{"payload":{"aps":{"sound":{"critical":1,"name":"d","volume":2}}}}"#,
                "message.apns.payload.aps.sound.volume has to be a number from 0 to 1, it is 2"
            ),
            (
                #"{"type":"background","payload":{"aps":{"alert":"a"}}}"#,
                "message.apns.payload.aps.alert is not a key of type background, which takes content-available"
            ),
            (
                #"{"type":"pushtotalk","payload":{"aps":{"alert":"a"}}}"#,
                "message.apns.payload.aps.alert is not a key of type pushtotalk, which has none"
            ),
            (
                #"{"type":"widgets","payload":{"aps":{"content-changed":false}}}"#,
                "message.apns.payload.aps.content-changed has to be true"
            ),
            (#"{"type":"mdm"}"#, "message.apns.payload.mdm is missing: it is the device's PushMagic, a string"),
            (#"{"type":"mdm","payload":{"mdm":"m","aps":{}}}"#, "message.apns.payload.aps is not a key of type mdm"),
        ])
    func `a field Apple would refuse is named`(text: String, words: String) {
        let error = #expect(throws: InvalidInput.self) { try Self.push(text) }
        #expect(error?.description.hasPrefix(words) == true, "\(String(describing: error))")
    }

    @Test(
        arguments: [
            (["event": JSONValue?.none], "event is missing"), (["timestamp": nil], "timestamp is missing"),
            (["content-state": nil], "content-state is missing"),
            (["timestamp": .string("1")], "timestamp has to be seconds since 1970, a whole number, it is '1'"),
            (["event": .string("stop")], "event has to be one of start, update, end, it is 'stop'"),
            (["content-state": .string("x")], "content-state has to be an object, it is 'x'"),
            (["dismissal-date": .integer(1)], "dismissal-date goes with event end alone"),
            (["attributes": .object([:])], "attributes goes with event start alone"),
            (["input-push-token": .integer(1)], "input-push-token goes with event start alone"),
            (["event": .string("start")], "attributes-type is missing: event start needs it"),
            (
                ["event": .string("start"), "attributes-type": .string("M"), "attributes": .object([:])],
                "alert is missing: event start needs it"
            ),
            (["alert": .string("x")], "alert has to be an object, it is 'x'"),
            (["alert": .object(["subtitle": .string("x")])], "alert.subtitle is not a key of this dictionary"),
            (["badge": .integer(1)], "badge is not a key of type liveactivity"),
        ] as [([String: JSONValue?], String)])
    func `a Live Activity has only what its event needs`(change: [String: JSONValue?], words: String) throws {
        var aps: JSONObject = [
            "timestamp": .integer(1), "event": .string("update"), "content-state": .object([:]),
        ]
        for (key, value) in change { aps[key] = value }
        let error = #expect(throws: InvalidInput.self) {
            try ApplePush(type: .liveActivity, payload: ["aps": .object(aps)])
        }
        #expect(error?.field.hasPrefix("message.apns.payload.aps.") == true)
        #expect(error?.description.contains(words) == true, "\(String(describing: error))")
    }

    @Test func `a starting activity takes a token or a channel`() throws {
        let both = Self.start.replacing(#""input-push-channel""#, with: #""input-push-token":1,"input-push-channel""#)
        let error = #expect(throws: InvalidInput.self) { try Self.push(both) }
        #expect(error?.field == "message.apns.payload.aps.input-push-token")
    }

    // MARK: What is sent

    @Test func `the push's text is the alert's unless given`() throws {
        let aps = { (text: String) in try Self.decoded(Self.payload(text, body: "hello"))["aps"]?["alert"] }
        #expect(try aps("{}") == .string("hello"))
        #expect(try aps(#"{"payload":{"aps":{"alert":"mine"}}}"#) == .string("mine"))
        #expect(
            try aps(#"{"payload":{"aps":{"alert":{"title":"t"}}}}"#)
                == .object(["title": .string("t"), "body": .string("hello")]))
        #expect(
            try aps(#"{"payload":{"aps":{"alert":{"loc-key":"k"}}}}"#) == .object(["loc-key": .string("k")]))
    }

    @Test func `a type fills in the key it always has`() throws {
        #expect(
            try Self.decoded(Self.payload(#"{"type":"background","payload":{"a":1}}"#))
                == Self.json(#"{"a":1,"aps":{"content-available":1}}"#))
        #expect(
            try Self.decoded(Self.payload(#"{"type":"controls"}"#, for: .controls))
                == Self.json(#"{"aps":{"content-changed":true}}"#))
        #expect(
            try Self.decoded(Self.payload(#"{"type":"mdm","payload":{"mdm":"m"}}"#, for: .mdm))
                == Self.json(#"{"mdm":"m"}"#))
    }

    @Test func `apps are told the receipt, and no other reader`() throws {
        let id = UUID(words: 0xABCD, 1)
        #expect(try Self.decoded(Self.payload("{}", body: "x", receiptID: id))["receiptId"] == .string(id.lowercased))
        #expect(try Self.decoded(Self.payload(Self.activity, for: .liveActivity, receiptID: id))["receiptId"] == nil)
    }

    @Test(
        arguments: [
            ("{}", "has no alert, badge or sound, which type alert needs"),
            (#"{"payload":{"aps":{"badge":1,"mutable-content":1}}}"#, "needs an alert"),
        ])
    func `an alert alerts`(text: String, problem: String) {
        let error = #expect(throws: InvalidInput.self) { try Self.payload(text) }
        #expect(error?.problem == problem)
    }

    @Test(arguments: [
        (ApplePush.Kind.alert, AppleTokenUse.app, 4_096), (.voip, .voip, 5_120), (.liveActivity, .liveActivity, 4_096),
        (.liveActivity, .broadcast, 5_120), (.pushToTalk, .pushToTalk, 4_096),
    ])
    func `a payload has so many bytes and no more`(type: ApplePush.Kind, use: AppleTokenUse, limit: Int) throws {
        let content = { (filler: Int) in
            let text = JSONValue.string(String(repeating: "x", count: filler))
            let payload: JSONObject =
                type == .liveActivity
                ? [
                    "aps": .object([
                        "timestamp": .integer(1), "event": .string("update"), "content-state": .object(["x": text]),
                    ])
                ] : ["aps": .object(type == .alert ? ["badge": .integer(1)] : [:]), "x": text]
            return Push.Content(body: nil, apple: try ApplePush(type: type, payload: payload))
        }
        let frame = try IOSPayload(try content(0), for: use, receiptID: nil, sentAt: .distantPast).bytes.count
        #expect(
            try IOSPayload(try content(limit - frame), for: use, receiptID: nil, sentAt: .distantPast).bytes.count
                == limit)
        let error = #expect(throws: InvalidInput.self) {
            try IOSPayload(try content(limit - frame + 1), for: use, receiptID: nil, sentAt: .distantPast)
        }
        #expect(
            error?.description
                == "message.apns.payload makes an iOS payload of \(limit + 1) bytes, APNs takes \(limit)")
    }

    // MARK: To whom

    @Test func `each push type uses only tokens of its use`() throws {
        let uses = { (text: String) in
            let content = Push.Content(body: nil, apple: try Self.push(text))
            return Set(PlatformKind.allCases.filter { content.isMeant(for: $0) }.map(\.rawValue))
        }
        #expect(try uses(#"{"type":"background"}"#) == ["ios", "ios-fcm"])
        #expect(try uses(#"{"type":"voip"}"#) == ["ios-voip"])
        #expect(try uses(Self.activity) == ["ios-liveactivity", "ios-broadcast"])
        #expect(try uses(Self.start) == ["ios-liveactivity-start"])
        let bare = Push.Content(body: "hello")
        #expect(PlatformKind.allCases.filter { $0.isApple && bare.isMeant(for: $0) } == [.ios, .iosFCM])
        let mixed = Push.Content(body: "hello", apple: try Self.push(#"{"type":"voip"}"#))
        #expect(mixed.isMeant(for: .androidFCM), "what is not written for Apple's devices goes to the others")
        #expect(!mixed.isMeant(for: .ios))
    }

    @Test func `a push that no platform takes is refused`() throws {
        let content = Push.Content(body: nil, apple: try Self.push(#"{"type":"voip"}"#))
        let error = #expect(throws: InvalidInput.self) { try content.check(for: [.android], receiptID: UUID()) }
        #expect(
            error?.description
                == "message.apns is of type voip, and no platform that is meant is of type ios-voip")
    }

    @Test func `a call expires in a minute and APNs stores none`() throws {
        let call = try Self.push(#"{"type":"voip"}"#)
        #expect(!call.isStored)
        #expect(try Self.push(#"{"type":"voip","store":true}"#).isStored)
        #expect(try Self.push(#"{"type":"background"}"#).isStored)
        let push = { (apple: ApplePush?, expiresAt: Instant?) in
            Push(
                key: Key(1), receiptID: UUID(words: 3, 1), applicationKey: Key(1),
                content: Push.Content(body: nil, apple: apple), audience: .list(.active), lane: .normal,
                guarantee: .atLeastOnce, acceptedAt: .zero, expiresAt: expiresAt)
        }
        let policy = RetryPolicy()
        #expect(policy.end(of: push(call, nil)) == .zero + .seconds(60))
        #expect(policy.end(of: push(call, .zero + .seconds(90))) == .zero + .seconds(90))
        #expect(policy.end(of: push(nil, nil)) == Instant.zero + policy.window)
        let now = ApplePush(verbatim: [:], for: .app, isConsiderate: false, isStored: false)
        #expect(policy.end(of: push(now, nil)) == .zero + .seconds(10))
    }

    @Test func `platform kinds keep their stored names`() throws {
        for kind in PlatformKind.allCases {
            #expect(try JSONDecoder().decode([PlatformKind].self, from: JSONEncoder().encode([kind])) == [kind])
            #expect(PlatformKind(rawValue: kind.rawValue) == kind)
        }
        #expect(String(decoding: try JSONEncoder().encode([PlatformKind.ios]), as: UTF8.self) == #"["ios"]"#)
        #expect(PlatformKind.apple(.liveActivityStart).rawValue == "ios-liveactivity-start")
        #expect(PlatformKind(rawValue: "ios-app") == nil)
    }

    @Test func `a push that was kept comes back as it was`() throws {
        let content = Push.Content(body: "b", apple: try Self.push(Self.start))
        #expect(try Push.Content(stored: Array(content.storedText.utf8)) == content)
        let old = #"{"body":"b","custom":{}}"#
        #expect(try Push.Content(stored: Array(old.utf8)) == Push.Content(body: "b"))
    }
}

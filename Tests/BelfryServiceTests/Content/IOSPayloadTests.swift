import BelfryService
import Foundation
import Testing

/// Source: PCF Push API, "Custom Fields for iOS Pushes" and "Complete Examples".
@Suite struct IOSPayloadTests {
    private static let sentAt = Instant(milliseconds: 1_500_000_000_000)

    private static func json(_ text: String) throws -> JSONValue {
        try JSONValue(json: text.utf8)
    }

    private static func payload(_ ios: String?, body: String? = nil, receiptID: UUID? = nil) throws -> IOSPayload {
        let custom: JSONObject = try ios.map { ["ios": try json($0)] } ?? [:]
        return try IOSPayload(Push.Content(body: body, custom: custom), receiptID: receiptID, sentAt: Self.sentAt)
    }

    private static func decoded(_ payload: IOSPayload) throws -> JSONValue {
        try json(String(decoding: payload.bytes, as: UTF8.self))
    }

    @Test func `a heartbeat learns when it left, and shows nothing`() throws {
        let payload = try Self.payload(
            #"{"content-available":true,"extra":{"pcf.push.heartbeat.sentAt":1499999999999}}"#)
        #expect(
            try Self.decoded(payload)
                == Self.json(
                    #"{"aps":{"content-available":1},"pcf.push.heartbeat.sentAt":1499999999999,"#
                        + #""pcf.push.heartbeat.sentToDeviceAt":"1500000000000"}"#))
        #expect(payload.isBackground)
        #expect(try IOSPayload(.heartbeat(sentAt: .zero), receiptID: nil, sentAt: Self.sentAt).isBackground)
    }

    // MARK: What goes where

    @Test(
        arguments: [
            (nil, #"{"aps":{"alert":"hello"}}"#),
            ("{}", #"{"aps":{"alert":"hello"}}"#),
            ("null", #"{"aps":{"alert":"hello"}}"#),
            (#"{"alert":"mine"}"#, #"{"aps":{"alert":"mine"}}"#),
            (#"{"alert":{"title":"t"}}"#, #"{"aps":{"alert":{"body":"hello","title":"t"}}}"#),
            (#"{"alert":""}"#, #"{"aps":{"alert":"hello"}}"#),
            (#"{"alert":{"body":"mine"}}"#, #"{"aps":{"alert":{"body":"mine"}}}"#),
            (#"{"alert":{"title-loc-key":null,"body":"b"}}"#, #"{"aps":{"alert":{"body":"b"}}}"#),
            (
                #"{"alert":{"body":"b","action-loc-key":"a","loc-key":"l","loc-args":["1"],"title":"t","title-loc-key":"tl","title-loc-args":["2"],"launch-image":"i.png"}}"#,
                #"{"aps":{"alert":{"body":"b","action-loc-key":"a","loc-key":"l","loc-args":["1"],"title":"t","title-loc-key":"tl","title-loc-args":["2"],"launch-image":"i.png"}}}"#
            ),
            (#"{"badge":3}"#, #"{"aps":{"alert":"hello","badge":3}}"#),
            (#"{"badge":0}"#, #"{"aps":{"alert":"hello","badge":0}}"#),
            (#"{"badge":"3"}"#, #"{"aps":{"alert":"hello","badge":3}}"#),
            (#"{"badge":null}"#, #"{"aps":{"alert":"hello"}}"#),
            (#"{"sound":"default"}"#, #"{"aps":{"alert":"hello","sound":"default"}}"#),
            (#"{"category":"mail"}"#, #"{"aps":{"alert":"hello","category":"mail"}}"#),
            (#"{"content-available":true}"#, #"{"aps":{"alert":"hello","content-available":1}}"#),
            (#"{"content-available":false}"#, #"{"aps":{"alert":"hello","content-available":0}}"#),
            (#"{"content-available":1}"#, #"{"aps":{"alert":"hello","content-available":1}}"#),
            (#"{"content-available":null}"#, #"{"aps":{"alert":"hello"}}"#),
            (
                #"{"mutable-content":1,"thread-id":"x"}"#,
                #"{"aps":{"alert":"hello","mutable-content":1,"thread-id":"x"}}"#
            ),
            (
                #"{"extra":{"a":1,"b":{"c":[true,null,2.5]}}}"#,
                #"{"aps":{"alert":"hello"},"a":1,"b":{"c":[true,null,2.5]}}"#
            ),
            (#"{"extra":null}"#, #"{"aps":{"alert":"hello"}}"#),
        ] as [(String?, String)])
    func `each field has its place`(ios: String?, expected: String) throws {
        #expect(try Self.decoded(Self.payload(ios, body: "hello")) == Self.json(expected))
    }

    @Test func `an empty text hides no field of the message`() throws {
        let ios = try Self.json(#"{"alert":{"title":"","body":""},"sound":"","category":""}"#)
        let shared = SharedFields([.title: "t", .sound: "s", .category: "c"])
        let content = Push.Content(body: "b", shared: shared, custom: ["ios": ios])
        #expect(
            try Self.decoded(IOSPayload(content, receiptID: nil, sentAt: Self.sentAt))
                == Self.json(#"{"aps":{"alert":{"body":"b","title":"t"},"category":"c","sound":"s"}}"#))
        let apple = try ApplePush(type: .alert, payload: ["aps": .object(["alert": .string("")])])
        #expect(
            try Self.decoded(
                IOSPayload(Push.Content(body: "b", apple: apple), receiptID: nil, sentAt: Self.sentAt))
                == Self.json(#"{"aps":{"alert":"b"}}"#))
    }

    @Test func `the receipt stands at the root, in lower case`() throws {
        let payload = try Self.payload(nil, body: "hello", receiptID: UUID(words: 0xABCD, 0xEF))
        let expected = #"{"aps":{"alert":"hello"},"receiptId":"00000000-0000-abcd-0000-0000000000ef"}"#
        #expect(try Self.decoded(payload) == Self.json(expected))
    }

    @Test func `another platform's words are none of iOS's business`() throws {
        let content = Push.Content(body: "hello", custom: ["android": .string("whatever")])
        #expect(
            try Self.decoded(IOSPayload(content, receiptID: nil, sentAt: Self.sentAt))
                == Self.json(#"{"aps":{"alert":"hello"}}"#))
    }

    @Test func `equal pushes make equal bytes, with slashes unescaped`() throws {
        let ios = #"{"extra":{"z":1,"a":"https://x/y","m":{"q":1,"b":2}},"sound":"s","badge":1}"#
        let bytes = try Self.payload(ios, body: "hello").bytes
        for _ in 0..<20 { #expect(try Self.payload(ios, body: "hello").bytes == bytes) }
        #expect(String(decoding: bytes, as: UTF8.self).contains("https://x/y"))
    }

    // MARK: Background

    @Test(
        arguments: [
            (#"{"content-available":true}"#, nil, true), (#"{"content-available":true,"extra":{"a":1}}"#, nil, true),
            (#"{"content-available":true,"category":"c"}"#, nil, true),
            (#"{"content-available":true}"#, "hello", false), (#"{"content-available":true,"badge":0}"#, nil, false),
            (#"{"content-available":true,"sound":"s"}"#, nil, false), (#"{"content-available":false}"#, nil, false),
            (#"{"content-available":true,"alert":"a"}"#, nil, false), ("{}", "hello", false),
        ] as [(String, String?, Bool)])
    func `a push without display, sound or badge is background`(ios: String, body: String?, expected: Bool)
        throws
    {
        #expect(try Self.payload(ios, body: body).isBackground == expected)
    }

    // MARK: What is refused

    @Test(arguments: [
        (#""text""#, "message.custom.ios", "has to be an object, it is a string"),
        (#"[]"#, "message.custom.ios", "has to be an object, it is an array"),
        (#"{"alert":5}"#, "message.custom.ios.alert", "has to be a string, it is a number"),
        (#"{"alert":{"body":5}}"#, "message.custom.ios.alert.body", "has to be a string, it is a number"),
        (#"{"alert":{"title":true}}"#, "message.custom.ios.alert.title", "has to be a string, it is a boolean"),
        (#"{"alert":{"loc-key":[]}}"#, "message.custom.ios.alert.loc-key", "has to be a string, it is an array"),
        (
            #"{"alert":{"loc-args":"a"}}"#, "message.custom.ios.alert.loc-args",
            "has to be an array of strings, it is a string"
        ),
        (
            #"{"alert":{"loc-args":["a",1]}}"#, "message.custom.ios.alert.loc-args[1]",
            "has to be a string, it is a number"
        ),
        (
            #"{"alert":{"title-loc-args":[{}]}}"#, "message.custom.ios.alert.title-loc-args[0]",
            "has to be a string, it is an object"
        ),
        (
            #"{"content-available":"yes"}"#, "message.custom.ios.content-available",
            "has to be a boolean, it is a string"
        ),
        (#"{"content-available":2}"#, "message.custom.ios.content-available", "has to be a boolean, it is a number"),
        (#"{"badge":1.5}"#, "message.custom.ios.badge", "has to be a whole number, it is 1.5"),
        (#"{"badge":"many"}"#, "message.custom.ios.badge", "has to be a whole number, it is 'many'"),
        (#"{"badge":true}"#, "message.custom.ios.badge", "has to be a whole number, it is true"),
        (#"{"category":1}"#, "message.custom.ios.category", "has to be a string, it is a number"),
        (#"{"extra":[1]}"#, "message.custom.ios.extra", "has to be an object, it is an array"),
        (#"{"extra":{"aps":{}}}"#, "message.custom.ios.extra.aps", "is reserved: the server writes it"),
        (#"{"extra":{"receiptId":"x"}}"#, "message.custom.ios.extra.receiptId", "is reserved: the server writes it"),
    ])
    func `a wrong type is named with its field`(ios: String, field: String, problem: String) throws {
        #expect(throws: InvalidInput(field: field, problem)) { try Self.payload(ios, body: "hello") }
    }

    @Test func `wrong types are refused everywhere, sizes where iOS is targeted`() throws {
        let wrong = Push.Content(body: nil, custom: ["ios": .object(["badge": .bool(true)])])
        let error = #expect(throws: InvalidInput.self) { try wrong.check(for: [.bb10], receiptID: UUID()) }
        #expect(error?.field == "message.custom.ios.badge")
        let long = Push.Content(body: String(repeating: "x", count: 4_096))
        try long.check(for: [.bb10], receiptID: UUID())
        #expect(throws: InvalidInput.self) { try long.check(for: [.ios], receiptID: UUID()) }
        #expect(try long.check(for: [.ios, .bb10], receiptID: UUID()).tooLarge.count == 1)
    }

    @Test func `4,096 bytes pass, and one more is refused with size`() throws {
        let frame = #"{"aps":{"alert":""}}"#.utf8.count
        #expect(try Self.payload(nil, body: String(repeating: "x", count: 4_096 - frame)).bytes.count == 4_096)
        #expect(
            throws: InvalidInput(
                field: "message", "makes an iOS payload of 4097 bytes, APNs takes 4096", isTooLarge: true)
        ) {
            try Self.payload(nil, body: String(repeating: "x", count: 4_097 - frame))
        }
    }

    @Test func `the size is counted in bytes, not characters`() throws {
        #expect(throws: InvalidInput.self) { try Self.payload(nil, body: String(repeating: "ü", count: 2_100)) }
    }

    // MARK: The complete examples of the PCF documentation

    @Test(arguments: [
        (
            #"{"body":"Town Hall This Thursday: Forging, Cheese, And You"}"#,
            #"{"aps":{"alert":"Town Hall This Thursday: Forging, Cheese, And You"}}"#
        ),
        (
            #"{"custom":{"ios":{"alert":{"body":"Breaking News: World's Biggest Cheese Forged At Local Bakery"},"content-available":true,"extra":{"story_url":"https://my_server/article/123456789"}},"android":{"message":"Breaking News: World's Biggest Cheese Forged At Local Bakery","story_url":"https://my_server/article/123456789"}}}"#,
            #"{"aps":{"alert":{"body":"Breaking News: World's Biggest Cheese Forged At Local Bakery"},"content-available":1},"story_url":"https://my_server/article/123456789"}"#
        ),
        (
            #"{"custom":{"ios":{"alert":{"body":"You've got mail!"},"category":"new_email","badge":1,"sound":"new_email","content-available":true,"extra":{"from":"Your Local Bakery","to":"You","subject":"Special Deal on Cheese","message_body":"Please come to your local bakery before Friday to sample a piece of the world's biggest cheese."}}}}"#,
            #"{"aps":{"alert":{"body":"You've got mail!"},"category":"new_email","badge":1,"sound":"new_email","content-available":1},"from":"Your Local Bakery","to":"You","subject":"Special Deal on Cheese","message_body":"Please come to your local bakery before Friday to sample a piece of the world's biggest cheese."}"#
        ),
        (
            #"{"body":"Message body","custom":{"ios":{"alert":{"body":"iOS only message body","action-loc-key":"actionKey","loc-key":"localizedStringKey","loc-args":["arg1","arg2"],"title":"Title","title-loc-key":"titleKey","title-loc-args":["arg1","arg2"],"launch-image":"Default.png"},"category":"SAMPLE_CATEGORY","badge":1,"sound":"default","content-available":true,"extra":{}},"android":{"collapse_key":"collapseKey"}}}"#,
            #"{"aps":{"alert":{"body":"iOS only message body","action-loc-key":"actionKey","loc-key":"localizedStringKey","loc-args":["arg1","arg2"],"title":"Title","title-loc-key":"titleKey","title-loc-args":["arg1","arg2"],"launch-image":"Default.png"},"category":"SAMPLE_CATEGORY","badge":1,"sound":"default","content-available":1}}"#
        ),
    ])
    func `the documented examples make these payloads`(message: String, expected: String) throws {
        let message = try Self.json(message)
        var custom: JSONObject = [:]
        if case .object(let members)? = message["custom"] { custom = members }
        let payload = try IOSPayload(
            Push.Content(body: message["body"]?.stringValue, custom: custom), receiptID: nil, sentAt: Self.sentAt)
        #expect(try Self.decoded(payload) == Self.json(expected))
    }
}

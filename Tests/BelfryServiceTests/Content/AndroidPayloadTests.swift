import BelfryService
import BelfryTesting
import FoundationEssentials
import Testing

@Suite struct AndroidPayloadTests {
    private static let receiptID = UUID(words: 1, 2)
    private static let sentAt = Instant(milliseconds: 1_500_000_000_000)

    private static func payload(
        _ custom: String?, body: String? = nil, kind: PlatformKind = .android, receiptID: UUID? = nil
    ) throws -> AndroidPayload {
        var members: JSONObject = [:]
        if let custom, case .object(let parts) = try JSONValue(json: custom.utf8) { members = parts }
        return try AndroidPayload(
            Push.Content(body: body, custom: members), kind: kind, receiptID: receiptID, sentAt: sentAt)
    }

    @Test func `values become strings`() throws {
        let payload = try Self.payload(
            #"{"android":{"s":"a","t":true,"f":false,"n":9007199254740993,"d":1.5,"z":null,"o":{"b":[1,"x"],"a":null}}}"#,
            body: "hi", receiptID: Self.receiptID)
        #expect(
            payload.dataByKey == [
                "s": "a", "t": "true", "f": "false", "n": "9007199254740993", "d": "1.5",
                "o": #"{"b":[1,"x"],"a":null}"#, "message": "hi", "receiptId": Self.receiptID.lowercased,
            ])
        #expect(payload.collapseKey == nil)
    }

    @Test func `a platform's message wins; the collapse key is not data`() throws {
        let payload = try Self.payload(#"{"android":{"message":"own","collapse_key":"k"}}"#, body: "hi")
        #expect(payload.dataByKey == ["message": "own"])
        #expect(payload.collapseKey == "k")
    }

    @Test(arguments: [
        (PlatformKind.android, "gcm"), (.androidFCM, "fcm"), (.androidBaidu, "baidu"),
    ])
    func `a kind's own part stands in for that of Android`(kind: PlatformKind, expected: String) throws {
        let custom = #"{"android":{"k":"gcm"},"android-fcm":{"k":"fcm"},"android-baidu":{"k":"baidu"}}"#
        #expect(try Self.payload(custom, kind: kind).dataByKey == ["k": expected])
        #expect(try Self.payload(#"{"android":{"k":"gcm"}}"#, kind: kind).dataByKey == ["k": "gcm"])
    }

    @Test func `the older spelling of FCM's part is known`() throws {
        #expect(try Self.payload(#"{"androidFcm":{"k":"v"}}"#, kind: .androidFCM).dataByKey == ["k": "v"])
    }

    @Test func `an empty text of a part hides nothing`() throws {
        let own = #"{"message":"","title":"","image":"","collapse_key":"","category":""}"#
        let part = try JSONValue(json: own.utf8)
        let plain = try Self.payload(#"{"android":\#(own)}"#, body: "hi")
        #expect(plain.notificationText == "hi" && plain.collapseKey == nil)
        #expect(plain.dataByKey == ["message": "hi", "title": "", "image": "", "category": ""])
        let shared = SharedFields([.title: "T", .image: "https://a.example/p", .collapseKey: "k"])
        let content = Push.Content(body: "hi", shared: shared, custom: ["android": part])
        let payload = try AndroidPayload(content, kind: .androidFCM, receiptID: nil, sentAt: .zero)
        #expect(payload.notice?.title == "T" && payload.notice?.image == "https://a.example/p")
        #expect(payload.collapseKey == "k" && payload.notice?.category == nil)
        #expect(
            payload.dataByKey == ["message": "hi", "title": "T", "image": "https://a.example/p", "category": ""])
    }

    @Test func `a priority takes no placeholder`() {
        let members: JSONValue = .object(["priority": .string("{{user.priority}}")])
        let error = #expect(throws: InvalidInput.self) { try CustomParts.check(members, of: "android") }
        #expect(error?.field == "message.custom.android.priority")
    }

    @Test func `a heartbeat learns when it left`() throws {
        let payload = try Self.payload(#"{"android":{"pcf.push.heartbeat.sentAt":1499999999999}}"#)
        #expect(
            payload.dataByKey == [
                "pcf.push.heartbeat.sentAt": "1499999999999", "pcf.push.heartbeat.sentToDeviceAt": "1500000000000",
            ])
    }

    @Test(arguments: ["receiptId", "from", "message_type", "google.x", "gcm.x"])
    func `reserved keys are refused`(key: String) throws {
        let error = #expect(throws: InvalidInput.self) { try Self.payload(#"{"android":{"\#(key)":"x"}}"#) }
        #expect(error?.field == "message.custom.android.\(key)")
    }

    @Test func `4,096 bytes are taken, and no more`() throws {
        let fits = String(repeating: "x", count: 4_096 - "message".utf8.count)
        #expect(try Self.payload(nil, body: fits).dataByKey == ["message": fits])
        let error = #expect(throws: InvalidInput.self) { try Self.payload(nil, body: fits + "x", kind: .androidFCM) }
        #expect(error?.description == "message makes an android-fcm payload of 4097 bytes, the limit is 4096")
    }

    @Test func `Amazon's limits are those of ADM`() throws {
        let fits = String(repeating: "x", count: 6_144 - "message".utf8.count)
        #expect(try Self.payload(nil, body: fits, kind: .amazon).dataBytes == 6_144)
        #expect(throws: InvalidInput.self) { try Self.payload(nil, body: fits + "x", kind: .amazon) }
        let key = String(repeating: "k", count: 65)
        let error = #expect(throws: InvalidInput.self) {
            try Self.payload(#"{"amazon":{"collapse_key":"\#(key)"}}"#, body: "x", kind: .amazon)
        }
        #expect(error?.description == "message.custom.amazon.collapse_key is 65 bytes, ADM takes 64")
    }

    @Test func `Huawei's limit counts the request, with doubly escaped quotes`() throws {
        // {"message":"…"} as a string, and what stands around it.
        let fits = String(repeating: "x", count: 4_096 - 120 - #"{\"message\":\"\"}"#.utf8.count)
        let payload = try Self.payload(nil, body: fits, kind: .huawei)
        #expect(payload.dataByKey == ["message": fits] && payload.dataBytes == 4_096)
        #expect(throws: InvalidInput.self) { try Self.payload(nil, body: fits + "x", kind: .huawei) }
        #expect(throws: InvalidInput.self) {
            try Self.payload(nil, body: String(repeating: "\"", count: 1_400), kind: .huawei)
        }
    }

    @Test(arguments: [
        (#"{"android":{}}"#, "hi", "hi" as String?), (#"{"android":{"message":"own"}}"#, "hi", "own"),
        (#"{"android":{"k":"v"}}"#, nil, nil),
        (#"{"android":{"pivotal.push.geofence_update_available":true}}"#, "hi", nil),
        (#"{"android":{"pcf.push.heartbeat.sentAt":1}}"#, "hi", nil),
    ])
    func `a push for the SDK alone has no notification`(custom: String, body: String?, notice: String?) throws {
        let payload = try Self.payload(custom, body: body)
        #expect(payload.notificationText == notice)
        #expect(payload.isSilent == (notice == nil))
    }

    @Test(arguments: [("high", true), ("HIGH", true), ("normal", false), ("NORMAL", false)])
    func `data are sent at the priority that their sender writes`(priority: String, isHigh: Bool) throws {
        #expect(try Self.payload(#"{"android":{"k":"v","priority":"\#(priority)"}}"#).isHighPriority == isHigh)
    }
}

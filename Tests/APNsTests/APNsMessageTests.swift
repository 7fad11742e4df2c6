import HTTP2Client
import Testing

@testable import APNs

@Suite struct APNsMessageTests {
    private let payload = Array(#"{"aps":{"alert":"hello"}}"#.utf8)

    @Test(arguments: [
        (APNsPushType.alert, "app"), (.background, "app"), (.voip, "app.voip"), (.complication, "app.complication"),
        (.fileProvider, "app.pushkit.fileprovider"), (.location, "app.location-query"),
        (.liveActivity, "app.push-type.liveactivity"), (.pushToTalk, "app.voip-ptt"),
        (.widgets, "app.push-type.widgets"), (.controls, "app.push-type.controls"),
    ])
    func `each push type has its topic, suffix given or not`(type: APNsPushType, topic: String) throws {
        #expect(try APNsMessage(topic: "app", pushType: type, payload: payload).topic == topic)
        #expect(try APNsMessage(topic: topic, pushType: type, payload: payload).topic == topic)
    }

    @Test func `an MDM push has its certificate's UID as topic`() throws {
        let topic = "com.apple.mgmt.External.example"
        #expect(try APNsMessage(topic: topic, pushType: .mdm, payload: payload).topic == topic)
        #expect(throws: APNsMessageError.topicNotForMDM("app")) {
            try APNsMessage(topic: "app", pushType: .mdm, payload: payload)
        }
    }

    @Test func `a background push has the one priority APNs takes`() throws {
        #expect(try APNsMessage(topic: "app", pushType: .background, payload: payload).priority == .considerate)
        #expect(try APNsMessage(topic: "app", payload: payload).priority == .immediate)
        #expect(throws: APNsMessageError.priority(.immediate, for: .background)) {
            try APNsMessage(topic: "app", pushType: .background, priority: .immediate, payload: payload)
        }
        #expect(throws: APNsMessageError.priority(.low, for: .liveActivity)) {
            try APNsMessage(topic: "app", pushType: .liveActivity, priority: .low, payload: payload)
        }
    }

    @Test func `limits are named with what was found`() throws {
        #expect(throws: APNsMessageError.payloadTooLarge(bytes: 4_097, limit: 4_096)) {
            try APNsMessage(topic: "app", payload: Array(repeating: 0x20, count: 4_097))
        }
        #expect(throws: APNsMessageError.payloadTooLarge(bytes: 5_121, limit: 5_120)) {
            try APNsMessage(topic: "app", pushType: .voip, payload: Array(repeating: 0x20, count: 5_121))
        }
        #expect(throws: APNsMessageError.payloadEmpty) { try APNsMessage(topic: "app", payload: []) }
        #expect(throws: APNsMessageError.topic("")) { try APNsMessage(topic: "", payload: payload) }
        #expect(throws: APNsMessageError.topic("a\nb")) { try APNsMessage(topic: "a\nb", payload: payload) }
        #expect(throws: APNsMessageError.expiration(-1)) {
            try APNsMessage(topic: "app", expiration: -1, payload: payload)
        }
        #expect(throws: APNsMessageError.collapseIDTooLong(bytes: 66)) {
            try APNsMessage(topic: "app", collapseID: String(repeating: "ü", count: 33), payload: payload)
        }
        #expect(throws: APNsMessageError.collapseIDMalformed) {
            try APNsMessage(topic: "app", collapseID: "a\r\nb", payload: payload)
        }
        #expect(throws: APNsMessageError.deviceToken(bytes: 101)) {
            try APNsDevice(token: Array(repeating: 0, count: 101))
        }
        #expect(throws: APNsMessageError.deviceToken(bytes: 0)) { try APNsDevice(token: []) }
        #expect(
            "\(APNsMessageError.payloadTooLarge(bytes: 4_310, limit: 4_096))"
                == "payload is 4310 bytes, APNs takes 4096")
    }

    @Test func `an id reads and writes the canonical text`() {
        let text = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"
        let id = APNsID(text: text.utf8)
        #expect(id?.description == text)
        #expect(APNsID(text: text.uppercased().utf8) == id)
        #expect(APNsID(high: 0, low: 0).description == "00000000-0000-0000-0000-000000000000")
        #expect(APNsID(bytes: Array(0..<16))?.description == "00010203-0405-0607-0809-0a0b0c0d0e0f")
        for bad in [
            "", "0f1e2d3c", text + "0", String(text.dropLast()), text.replacing("-", with: "0"), "g" + text.dropFirst(),
        ] {
            #expect(APNsID(text: bad.utf8) == nil)
        }
    }

    @Test func `headers that repeat are indexed, headers that differ are not`() throws {
        let message = try APNsMessage(topic: "app", expiration: 0, collapseID: "c", payload: payload)
        #expect(
            message.headers == [
                HTTP2Header("apns-topic", "app"), HTTP2Header("apns-push-type", "alert"),
                HTTP2Header("apns-priority", "10"), HTTP2Header("apns-expiration", "0", indexing: .never),
                HTTP2Header("apns-collapse-id", "c", indexing: .never),
            ])
    }
}

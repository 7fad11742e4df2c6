import Foundation
import Testing

@testable import FCM
@testable import HTTP2Client

/// Topics, conditions, and the parts of a message for Apple's devices and browsers.
@Suite struct FCMAudienceTests {
    private static func body(_ batch: FCMBatch) -> String {
        let batch = FCMBurst([batch]).requests(project: "p")
        return String(decoding: batch.fields.bytes[batch.fields.range(of: 1)], as: UTF8.self)
    }

    @Test(arguments: [
        ("/topics/news", #""topic":"news""#),
        ("'dogs' in topics || 'cats' in topics", #""condition":"'dogs' in topics || 'cats' in topics""#),
        ("!('a' in topics&&'b' in topics)", #""condition":"!('a' in topics&&'b' in topics)""#),
    ])
    func `an audience is a topic or a condition`(text: String, member: String) throws {
        let batch = try FCMBatch(message: FCMMessage(), audiences: [FCMAudience(text)])
        #expect(Self.body(batch) == #"{"message":{\#(member)}}"#)
    }

    @Test(arguments: [
        ("/topics/", FCMAudienceError.topic), ("/topics/a b", .topic), ("", .condition(at: 0)),
        ("news", .condition(at: 0)), ("'a' in topics ||", .condition(at: 16)), ("'a' in topics)", .condition(at: 13)),
        ("('a' in topics", .condition(at: 14)), ("'a'", .condition(at: 0)), ("'a b' in topics", .condition(at: 0)),
        ("'a' in topics \"", .condition(at: 14)),
        (Array(repeating: "'a' in topics", count: 6).joined(separator: " && "), .tooManyTopics(6)),
        (String(repeating: "(", count: 5_000), .condition(at: 5_000)),
        (String(repeating: "(", count: 5_001), .conditionTooLong(bytes: 5_001)),
    ])
    func `a malformed audience is refused`(text: String, error: FCMAudienceError) {
        #expect(throws: error) { try FCMAudience(text) }
    }

    @Test func `a device's token never names a topic`() throws {
        let batch = FCMBatch(message: try FCMMessage(), tokens: [Array("/topics/all".utf8)])
        #expect(Self.body(batch) == #"{"message":{"token":"/topics/all"}}"#)
    }

    @Test func `a topic's message has half the size`() throws {
        let message = try FCMMessage(data: ["k": String(repeating: "x", count: 2_048)])
        let fault = FCMMessageError.fieldTooLong("message to a topic", bytes: 2_049, max: 2_048)
        #expect(throws: fault) { try FCMBatch(message: message, audiences: [.topic("a")]) }
    }

    @Test func `a message has a part for each system`() throws {
        let message = try FCMMessage(
            apple: FCMApple(
                payload: Array(#"{"aps":{"badge":1}}"#.utf8), pushType: .alert, priority: 10, expiration: 60,
                collapseID: "c", image: "https://h/i.png"),
            web: FCMWeb(
                notification: Array(#"{"title":"t"}"#.utf8), timeToLive: 60, urgency: .high, link: "https://h/"))
        #expect(
            Self.body(FCMBatch(message: message, tokens: [Array("t".utf8)]))
                == #"{"message":{"token":"t","apns":{"fcm_options":{"image":"https://h/i.png"},"headers":"#
                + #"{"apns-collapse-id":"c","apns-expiration":"60","apns-priority":"10","apns-push-type":"alert"},"#
                + #""payload":{"aps":{"badge":1}}},"webpush":{"fcm_options":{"link":"https://h/"},"#
                + #""headers":{"TTL":"60","Urgency":"high"},"notification":{"title":"t"}}}}"#)
    }

    @Test func `a part that is refused names its field`() {
        let long = [UInt8](repeating: 0x20, count: 4_097)
        #expect(throws: FCMMessageError.fieldTooLong("apns.payload", bytes: 4_097, max: 4_096)) {
            try FCMMessage(apple: FCMApple(payload: long))
        }
        #expect(throws: FCMMessageError.fieldTooLong("webpush.notification", bytes: 4_097, max: 4_096)) {
            try FCMMessage(web: FCMWeb(notification: long))
        }
        #expect(throws: FCMMessageError.fieldTooLong("apns-collapse-id", bytes: 65, max: 64)) {
            try FCMMessage(apple: FCMApple(payload: [], collapseID: String(repeating: "c", count: 65)))
        }
        #expect(throws: FCMMessageError.timeToLive(-1)) { try FCMMessage(web: FCMWeb(timeToLive: -1)) }
        for link in ["http://h/", "javascript:a", "https:", ""] {
            #expect(throws: FCMMessageError.link) { try FCMMessage(web: FCMWeb(link: link)) }
        }
    }
}

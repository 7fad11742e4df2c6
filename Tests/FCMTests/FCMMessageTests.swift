import Foundation
import Testing

@testable import FCM
@testable import HTTP2Client

@Suite struct FCMMessageTests {
    private static func body(_ message: FCMMessage, _ token: String = "t") -> String {
        let batch = FCMBurst([FCMBatch(message: message, tokens: [Array(token.utf8)])]).requests(project: "p")
        return String(decoding: batch.fields.bytes[batch.fields.range(of: 1)], as: UTF8.self)
    }

    @Test func `a message is JSON of which the token alone differs`() throws {
        let message = try FCMMessage(
            notification: FCMNotification(body: "Hi \"you\""), data: ["a": "1", "b": "{\"c\":true}"],
            android: FCMAndroid(collapseKey: "k", priority: .high, timeToLive: 60, tag: "r"))
        #expect(
            Self.body(message, "tok:1")
                == #"{"message":{"token":"tok:1","android":{"collapse_key":"k","notification":{"tag":"r"},"#
                + #""priority":"HIGH","ttl":"60s"},"data":{"a":"1","b":"{\"c\":true}"},"#
                + #""notification":{"body":"Hi \"you\""}}}"#)
        let tokens = [Array("a".utf8), Array("b".utf8)]
        let batch = FCMBurst([FCMBatch(message: message, tokens: tokens)]).requests(project: "p")
        #expect(batch.count == 2)
        #expect(
            String(decoding: batch.fields.bytes[batch.fields.range(of: 2)], as: UTF8.self)
                == "/v1/projects/p/messages:send")
    }

    /// Source: firebase-admin-go#765. Tokens of GCM's time have no colon either, but are longer.
    @Test(arguments: [
        ("fEk9VyTYRuq8_J-Pz3Hl0a", "fid"), ("fEk9VyTYRuq8_J-Pz3Hl0a:APA91bHun", "token"),
        ("APA91bHun4MxP5egoKMwt2KZFBaFUH-1RYqx", "token"), ("aEk9VyTYRuq8_J-Pz3Hl0a", "token"),
        ("fEk9VyTYRuq8_J+Pz3Hl0a", "token"),
    ])
    func `an installation is named by ID, all else by token`(address: String, field: String) throws {
        #expect(Self.body(try FCMMessage(), address) == #"{"message":{"\#(field)":"\#(address)"}}"#)
    }

    @Test func `an empty message is one, and may be only checked`() throws {
        #expect(Self.body(try FCMMessage()) == #"{"message":{"token":"t"}}"#)
        #expect(Self.body(try FCMMessage(isValidatedOnly: true)) == #"{"message":{"token":"t"},"validate_only":true}"#)
    }

    @Test func `a token cannot break out of its string`() throws {
        let hostile = "a\"b\\c\n\u{1}"
        let json = Self.body(try FCMMessage(), hostile)
        let read = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: [String: String]])
        #expect(read == ["message": ["token": hostile]])
    }

    @Test(arguments: ["from", "message_type", "google.x", "gcm.y"])
    func `keys that belong to Google are refused`(key: String) {
        #expect(throws: FCMMessageError.reservedKey(key)) { try FCMMessage(data: [key: "v"]) }
    }

    @Test func `a message FCM would refuse is refused`() throws {
        _ = try FCMMessage(data: ["k": String(repeating: "x", count: 4_095)])
        #expect(throws: FCMMessageError.tooLarge(bytes: 4_097)) {
            try FCMMessage(data: ["k": String(repeating: "x", count: 4_096)])
        }
        #expect(throws: FCMMessageError.tooLarge(bytes: 4_102)) {
            try FCMMessage(notification: .init(title: "x"), data: ["k": String(repeating: "x", count: 4_095)])
        }
        #expect(throws: FCMMessageError.timeToLive(-1)) { try FCMMessage(android: FCMAndroid(timeToLive: -1)) }
        #expect(throws: FCMMessageError.self) { try FCMMessage(android: FCMAndroid(timeToLive: 2_419_201)) }
        _ = try FCMMessage(android: FCMAndroid(timeToLive: 2_419_200))
    }
}

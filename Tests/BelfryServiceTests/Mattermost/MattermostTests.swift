import BelfryTesting
import FoundationEssentials
import Testing

@testable import BelfryService

/// Requests of Mattermost servers to the push proxy. Their shape is that of `PushNotification` in the server's `public/model/push_notification.go`,
/// whose JSON `rawSendToPushProxy` posts; the payloads are those of mattermost-push-proxy.
@Suite struct MattermostTests {
    private static let path = "/mattermost/\(GatewayServer.key)/api/v1/send_push"
    private static let okay: JSONValue = .object(["status": .string("OK")])
    private static let remove: JSONValue = .object(["status": .string("REMOVE")])

    /// With the members that the server writes even where they are empty.
    private static func push(
        _ platform: String, _ token: String, type: String = "message",
        more: String =
            #""category":"CAN_REPLY","sound":"default","message":"@ada: Hi","badge":3,"cont_ava":1,"team_id":"t1","channel_id":"c1","root_id":"r1","channel_name":"Town Square","sender_id":"u1","sender_name":"ada","version":"v2","is_crt_enabled":true,"#
    ) -> String {
        #"{"ack_id":"a1","platform":"\#(platform)","server_id":"s1","device_id":"\#(token)","post_id":"p1","type":"\#(type)",\#(more)"is_id_loaded":false,"signature":"xyz"}"#
    }

    @Test(arguments: ["apple_rn", "apple_rn-v2", "apple", "apple_rnbeta-v2"])
    func `a message becomes an alert as the proxy makes it`(platform: String) async throws {
        try await GatewayServer.with(.mattermost) { server in
            let answer = try await server.post(Self.path, Self.push(platform, GatewayServer.appleToken))
            #expect(answer.status == 200 && answer.json == Self.okay, "\(answer)")
            let apple = try #require(try await server.pushes.first?.content.apple)
            #expect(apple.type == .alert && apple.priority == .immediate)
            let aps: JSONValue = .object([
                "alert": .object(["title": .string("Town Square"), "body": .string("@ada: Hi")]),
                "badge": .integer(3), "category": .string("CAN_REPLY"), "content-available": .integer(1),
                "mutable-content": .integer(1), "sound": .string("default"), "thread-id": .string("r1"),
            ])
            let expected: JSONObject = [
                "ack_id": .string("a1"), "aps": aps, "channel_id": .string("c1"),
                "channel_name": .string("Town Square"),
                "is_crt_enabled": .bool(true), "post_id": .string("p1"), "root_id": .string("r1"),
                "sender_id": .string("u1"), "sender_name": .string("ada"), "server_id": .string("s1"),
                "signature": .string("xyz"), "sub_type": .string(""), "team_id": .string("t1"),
                "type": .string("message"), "version": .string("v2"),
            ]
            #expect(apple.payload.dictionary == expected.dictionary)
        }
    }

    @Test func `a clear and a badge show nothing but the number`() async throws {
        try await GatewayServer.with(.mattermost) { server in
            for (type, isWaking) in [("clear", true), ("update_badge", false)] {
                let push = Self.push(
                    "apple_rn", GatewayServer.appleToken, type: type, more: #""badge":1,"channel_id":"c1","#)
                #expect(try await server.post(Self.path, push).json == Self.okay)
                let aps = try #require(try await server.payload["aps"])
                #expect(aps["badge"] == .integer(1) && aps["alert"] == nil && aps["sound"] == nil)
                #expect((aps["content-available"] == .integer(1)) == isWaking)
                #expect(aps["thread-id"] == .string("c1"))
            }
            // A clear without a badge wakes the app, which APNs takes at the lower priority alone.
            let silent = Self.push("apple_rn", GatewayServer.appleToken, type: "clear", more: "")
            #expect(try await server.post(Self.path, silent).json == Self.okay)
            let apple = try #require(try await server.pushes.last?.content.apple)
            #expect(apple.type == .background && apple.priority == .considerate)
        }
    }

    @Test func `Firebase gets texts; a clear has no message`() async throws {
        try await GatewayServer.with(.mattermost) { server in
            #expect(
                try await server.post(Self.path, Self.push("android_rn-v2", GatewayServer.googleToken)).json
                    == Self.okay)
            let data = try await server.data
            #expect(data["message"] == .string("@ada: Hi") && data["badge"] == .string("3"))
            #expect(data["is_crt_enabled"] == .string("true") && data["override_username"] == .string(""))
            #expect(data["channel_name"] == .string("Town Square") && data["signature"] == .string("xyz"))
            #expect(data.values.allSatisfy { $0.stringValue != nil })
            let content = try #require(try await server.pushes.first?.content)
            let payload = try AndroidPayload(content, kind: .androidFCM, receiptID: nil, sentAt: .zero)
            #expect(payload.isSilent && payload.isHighPriority)
            let clear = Self.push("android_rn", GatewayServer.googleToken, type: "clear", more: #""channel_id":"c1","#)
            #expect(try await server.post(Self.path, clear).json == Self.okay)
            #expect(try await server.data["message"] == nil)
        }
    }

    @Test func `a call goes to the token of PushKit`() async throws {
        try await GatewayServer.with(.mattermost) { server in
            let push = Self.push(
                "apple_voip_rn", GatewayServer.appleToken,
                more: #""sub_type":"calls","channel_id":"c1","root_id":"r1","#)
            #expect(try await server.post(Self.path, push).json == Self.okay)
            let apple = try #require(try await server.pushes.first?.content.apple)
            #expect(apple.type == .voip && !apple.isStored && apple.payload["thread_id"] == .string("r1"))
            #expect(try await server.devices(.apple(.voip)).count == 1)
        }
    }

    @Test func `a platform of several is chosen by its name`() async throws {
        try await GatewayServer.with(.mattermost, ["apple_rnbeta": .apple(.voip), "apple_rn-v2": .ios]) { server in
            #expect(
                try await server.post(Self.path, Self.push("apple_rn-v2", GatewayServer.appleToken)).json == Self.okay)
            let devices = try await server.devices(.ios)
            #expect(devices.count == 1)
            #expect(
                try await server.post(Self.path, Self.push("apple_rnbeta-v3", GatewayServer.appleToken)).json
                    == Self.okay)
            let phones = try await server.devices(.apple(.voip))
            #expect(phones.count == 1)
        }
    }

    @Test(arguments: [Answer.gone, .refused(.badToken), .refused(.tokenOfAnotherApplication)])
    func `a dead token is removed`(answer: Answer) async throws {
        try await GatewayServer.with(.mattermost, wait: .seconds(60)) { server in
            let push = Self.push("apple_rn", GatewayServer.appleToken)
            #expect(try await server.post(Self.path, push, settling: answer).json == Self.remove)
            #expect(try await server.post(Self.path, push).json == Self.remove)
            let pushes = try await server.pushes
            #expect(pushes.count == 1)
            #expect(try await server.post(Self.path, Self.push("apple_rn", "no token")).json == Self.remove)
        }
    }

    @Test func `a refused message fails in words`() async throws {
        try await GatewayServer.with(.mattermost, wait: .seconds(60)) { server in
            let push = Self.push("apple_rn", GatewayServer.appleToken)
            let answer = try await server.post(Self.path, push, settling: .refused(.payloadTooLarge))
            #expect(answer.status == 200 && answer.json["status"] == .string("FAIL"), "\(answer)")
            #expect(answer.json["error"]?.stringValue?.contains("payloadTooLarge") == true)
        }
    }

    @Test(arguments: [
        ("", "body"), ("{", "body"), (#"{"server_id":"s1"}"#, "device_id"), (#"{"device_id":"d"}"#, "server_id"),
        (#"{"server_id":"s1","device_id":"d","platform":"symbian"}"#, "platform"),
        (#"{"server_id":"s1","device_id":"d","platform":3}"#, "platform"),
        (#"{"a":\#(String(repeating: "[", count: 5_000))"#, "nested"),
    ])
    func `a malformed request fails with its field`(body: String, field: String) async throws {
        try await GatewayServer.with(.mattermost) { server in
            let answer = try await server.post(Self.path, body)
            #expect(answer.status == 200 && answer.json["status"] == .string("FAIL"), "\(answer)")
            #expect(answer.json["error"]?.stringValue?.contains(field) == true, "\(answer)")
            #expect(try await server.pushes.isEmpty)
        }
    }

    @Test func `an acknowledgement needs its three fields`() async throws {
        try await GatewayServer.with(.mattermost) { server in
            let path = "/mattermost/\(GatewayServer.key)/api/v1/ack"
            let body =
                #"{"id":"a1","received_at":1500000000000,"platform":"android","type":"message","post_id":"p1","is_id_loaded":false}"#
            #expect(try await server.post(path, body).json == Self.okay)
            let missing = try await server.post(path, #"{"id":"a1","platform":"android"}"#)
            #expect(missing.json["status"] == .string("FAIL"), "\(missing)")
            #expect(try await server.post("/mattermost/wrong/api/v1/ack", body).status == 404)
        }
    }
}

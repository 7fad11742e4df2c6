import BelfryTesting
import FoundationEssentials
import Testing

@testable import BelfryService

/// Requests of Rocket.Chat servers to the push gateway. Their shape is what `sendGatewayPush` posts in `app/push/server/push.ts`: the token, and the
/// pending notification with `uniqueId`, and `topic` for Apple's devices; the payloads are those of `apn.ts` and `fcm.ts`.
@Suite struct RocketChatTests {
    private static func path(_ provider: String) -> String { "/rocket-chat/\(GatewayServer.key)/push/\(provider)/send" }

    private static func push(_ token: String, more: String = "", created: String = "2026-11-28T08:00:00.000Z") -> String
    {
        #"{"token":"\#(token)","options":{"createdAt":"\#(created)","createdBy":"<SERVER>","sent":false,"sending":0,"title":"general","text":"Hi","from":"push","userId":"u1","payload":{"host":"https://chat.example.org/","messageId":"m1","notificationType":"message","rid":"GENERAL"},"badge":2,"sound":"default","notId":7,"apn":{"category":"MESSAGE"},"gcm":{"style":"inbox","image":"https://chat.example.org/logo.png"},\#(more)"uniqueId":"x"}}"#
    }

    @Test func `a message becomes an alert as the server makes it`() async throws {
        try await GatewayServer.with(.rocketChat) { server in
            let body = Self.push(GatewayServer.appleToken, more: #""topic":"chat.rocket.ios","#)
            let answer = try await server.post(Self.path("apn"), body)
            #expect(answer.status == 200 && answer.json["success"] == .bool(true), "\(answer)")
            let push = try #require(try await server.pushes.first)
            #expect(push.expiresAt == server.clock.now + .seconds(3_600))
            let aps: JSONValue = .object([
                "alert": .object(["title": .string("general"), "body": .string("Hi")]), "badge": .integer(2),
                "category": .string("MESSAGE"), "mutable-content": .integer(1), "sound": .string("default"),
                "thread-id": .string("7"),
            ])
            let payload: JSONObject = [
                "aps": aps, "messageFrom": .string("push"),
                "ejson": .string(
                    #"{"host":"https://chat.example.org/","messageId":"m1","notificationType":"message","rid":"GENERAL"}"#
                ),
            ]
            #expect(push.content.apple?.payload == payload)
        }
    }

    @Test func `Firebase gets a notification and data`() async throws {
        try await GatewayServer.with(.rocketChat) { server in
            #expect(try await server.post(Self.path("gcm"), Self.push(GatewayServer.googleToken)).status == 200)
            let content = try #require(try await server.pushes.first?.content)
            let payload = try AndroidPayload(content, kind: .androidFCM, receiptID: nil, sentAt: .zero)
            #expect(payload.notice?.title == "general" && payload.notice?.body == "Hi" && payload.isHighPriority)
            #expect(payload.data["msgcnt"] == .string("2") && payload.data["notId"] == .string("7"))
            #expect(payload.data["soundname"] == .string("default") && payload.data["style"] == .string("inbox"))
            #expect(payload.data["ejson"]?.stringValue?.contains("GENERAL") == true)
        }
    }

    @Test func `the topic chooses among platforms`() async throws {
        try await GatewayServer.with(.rocketChat, ["org.example.calls": .apple(.voip)]) { server in
            let body = Self.push(GatewayServer.appleToken, more: #""topic":"org.example.calls","#)
            #expect(try await server.post(Self.path("apn"), body).status == 200)
            let devices = try await server.devices(.apple(.voip))
            #expect(devices.count == 1)
        }
    }

    @Test func `a repeated notification is sent once`() async throws {
        try await GatewayServer.with(.rocketChat) { server in
            for created in ["2026-11-28T08:00:00.000Z", "2026-11-28T08:00:00.000Z", "2026-11-28T08:00:01.000Z"] {
                let body = Self.push(GatewayServer.appleToken, created: created)
                #expect(try await server.post(Self.path("apn"), body).status == 200)
            }
            let pushes = try await server.pushes
            #expect(pushes.count == 2)
        }
    }

    @Test(arguments: [Answer.gone, .refused(.badToken), .refused(.tokenOfAnotherApplication)])
    func `a dead token is 406, which removes it`(answer: Answer) async throws {
        try await GatewayServer.with(.rocketChat, wait: .seconds(60)) { server in
            let body = Self.push(GatewayServer.googleToken)
            #expect(try await server.post(Self.path("gcm"), body, settling: answer).status == 406)
            let next = Self.push(GatewayServer.googleToken, created: "2026-11-28T09:00:00.000Z")
            #expect(try await server.post(Self.path("gcm"), next).status == 406)
            let pushes = try await server.pushes
            #expect(pushes.count == 1)
            #expect(try await server.post(Self.path("apn"), Self.push("no token")).status == 406)
        }
    }

    @Test(arguments: [
        "", "{}", #"{"token":"a"}"#, #"{"token":3,"options":{"title":"a"}}"#, #"{"token":"a","options":[]}"#,
        #"{"options":\#(String(repeating: "[", count: 5_000))"#,
    ])
    func `a malformed request is 422, which ends it`(body: String) async throws {
        try await GatewayServer.with(.rocketChat) { server in
            let answer = try await server.post(Self.path("apn"), body)
            #expect(answer.status == 422 && answer.json["error"]?.stringValue?.isEmpty == false, "\(answer)")
            #expect(try await server.pushes.isEmpty)
        }
    }

    @Test func `a payload that fits no message is 422`() async throws {
        try await GatewayServer.with(.rocketChat, wait: .seconds(60)) { server in
            let long = String(repeating: "x", count: 5_000)
            for provider in ["apn", "gcm"] {
                let token = provider == "apn" ? GatewayServer.appleToken : GatewayServer.googleToken
                let body = #"{"token":"\#(token)","options":{"title":"a","text":"b","payload":{"x":"\#(long)"}}}"#
                let answer = try await server.post(Self.path(provider), body)
                #expect(answer.status == 422, "\(answer)")
            }
            #expect(try await server.store.allDevices().isEmpty)
        }
    }

    @Test func `a wrong key or provider is not there`() async throws {
        try await GatewayServer.with(.rocketChat) { server in
            let body = Self.push(GatewayServer.appleToken)
            #expect(try await server.post("/rocket-chat/wrong/push/apn/send", body).status == 404)
            let devices = try await server.store.allDevices()
            #expect(devices.isEmpty)
        }
    }
}

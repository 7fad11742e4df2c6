import BelfryTesting
import FoundationEssentials
import Testing

@testable import BelfryService

/// Requests of SIP proxies with the push parameters of a contact. Their forms are those of RFC 8599 §4.1, and of Flexisip's `external-push-uri`.
@Suite struct SIPWakeTests {
    private static let path = "/sip/\(GatewayServer.key)/wake"
    private static let apple = GatewayServer.appleToken

    @Test func `a call wakes the token of PushKit once`() async throws {
        try await GatewayServer.with(.sip) { server in
            let query =
                "?pn-provider=apns&pn-param=ABCDE12345.org.example.phone.voip&pn-prid=\(Self.apple)&from=Ada&call-id=c1"
            // Programs try links by HEAD.
            #expect(try await server.head(Self.path + query.replacing("c1", with: "c0")) == 200)
            for _ in 0..<2 {
                let answer = try await server.post(Self.path + query, "")
                #expect(answer.status == 200 && answer.json["accepted"] == .bool(true), "\(answer)")
            }
            let push = try #require(try await server.pushes.first)
            #expect(try await server.pushes.count == 1)
            #expect(push.content.apple?.type == .voip && push.expiresAt == server.clock.now + .seconds(60))
            let payload: JSONObject = [
                "aps": .object([:]), "call-id": .string("c1"), "caller": .string("Ada"), "event": .string("call"),
            ]
            #expect(push.content.apple?.payload == payload)
            #expect(try await server.devices(.apple(.voip)).count == 1)
        }
    }

    @Test(arguments: [
        "pn-provider=apns&pn-param=b.voip&pn-prid=TOKEN&event=&call-id=&from={Ada}",
        #" {"pn-provider":"apns","pn-param":"b.voip","pn-prid":"TOKEN","event":"","call-id":"","from":"{Ada}"}"#,
    ])
    func `values that a proxy lacks are not there`(body: String) async throws {
        try await GatewayServer.with(.sip) { server in
            for _ in 0..<2 {
                let answer = try await server.post(Self.path, body.replacing("TOKEN", with: Self.apple))
                #expect(answer.status == 200, "\(answer)")
            }
            // Calls without an id are not the same call.
            #expect(try await server.pushes.count == 2)
            #expect(try await server.payload["event"] == .string("call"))
            #expect(try await server.payload["caller"] == .string("{Ada}"))
        }
    }

    @Test(arguments: [
        (#"{"pn-provider":"fcm","pn-param":"project","pn-prid":"TOKEN","event":"message"}"#, PlatformKind.androidFCM),
        ("pn-provider=firebase&pn-param=project&pn-prid=TOKEN\r\n", .androidFCM),
        ("\u{FEFF}" + #"{"pn-provider":"fcm","pn-param":"project","pn-prid":"TOKEN"}"#, .androidFCM),
        (#"{"contact":"<sip:ada@example.org;pn-provider=fcm;pn-param=project;pn-prid=TOKEN>"}"#, .androidFCM),
        ("pn-provider=apple&pn-param=org.example.phone&pn-prid=APPLE", .ios),
        ("pn-provider=apns&pn-param=T.b.remote%26voip&pn-prid=APPLE:remote%26APPLE:voip", .apple(.voip)),
        ("event=message&pn-provider=apns&pn-param=T.b.remote%26voip&pn-prid=APPLE:remote%26APPLE:voip", .ios),
    ])
    func `the parameters say which token is meant`(body: String, kind: PlatformKind) async throws {
        try await GatewayServer.with(.sip) { server in
            let body = body.replacing("TOKEN", with: GatewayServer.googleToken).replacing("APPLE", with: Self.apple)
            let answer = try await server.post(Self.path, body)
            #expect(answer.status == 200, "\(answer)")
            #expect(try await server.devices(kind).count == 1)
            #expect(try await server.store.allDevices().count == 1)
        }
    }

    @Test func `contacts of both environments find their platform`() async throws {
        try await GatewayServer.with(.sip, ["T.b": .ios]) { server in
            let production = try #require(server.platforms[.ios])
            let made = try await server.store.create(
                NewPlatform(
                    uuid: UUID(), applicationKey: server.application.key, kind: .ios, mode: .development, name: "d",
                    secretHash: [1], credentials: Sealed(bytes: [])))
            for (provider, parameter, platform) in [
                ("apns", "T.b", production), ("apns.dev", "T.b", made), ("apns", "T.c", production),
            ] {
                let body = "pn-provider=\(provider)&pn-param=\(parameter)&pn-prid=\(Self.apple)&event=message"
                let answer = try await server.post(Self.path, body)
                #expect(answer.status == 200, "\(answer)")
                let found = try await server.store.number("SELECT platform_id FROM batch ORDER BY id DESC LIMIT 1")
                #expect(found == platform.key.rawValue, "\(provider) \(parameter)")
            }
        }
    }

    @Test func `Firebase gets data of high priority`() async throws {
        try await GatewayServer.with(.sip) { server in
            let body = "pn-provider=fcm&pn-param=p&pn-prid=\(GatewayServer.googleToken)&from=%2B49301234"
            let answer = try await server.post(Self.path, body)
            #expect(answer.status == 200, "\(answer)")
            let content = try #require(try await server.pushes.first?.content)
            let payload = try AndroidPayload(content, kind: .androidFCM, receiptID: nil, sentAt: .zero)
            #expect(payload.isHighPriority && payload.notice == nil && payload.data["from"] == nil)
            #expect(payload.data["caller"] == .string("+49301234"))
        }
    }

    @Test func `an alert shows where there is no PushKit`() async throws {
        try await GatewayServer.with(.sip) { server in
            let body = "pn-provider=apns&pn-param=b&pn-prid=\(Self.apple)&alert=Ada%20calls"
            let answer = try await server.post(Self.path, body)
            #expect(answer.status == 200, "\(answer)")
            #expect(try await server.payload["aps"]?["alert"]?["body"] == .string("Ada calls"))
        }
    }

    @Test func `the parameter names a platform of the options`() async throws {
        try await GatewayServer.with(.sip, ["org.example.phone": .apple(.voip)]) { server in
            let body = "pn-provider=apns&pn-param=ABCDE12345.org.example.phone&pn-prid=\(Self.apple)"
            let answer = try await server.post(Self.path, body)
            #expect(answer.status == 200, "\(answer)")
            #expect(try await server.devices(.apple(.voip)).count == 1)
        }
    }

    @Test(arguments: [Answer.gone, .refused(.badToken)])
    func `a dead token is 410, which removes the contact`(answer: Answer) async throws {
        try await GatewayServer.with(.sip, wait: .seconds(60)) { server in
            let body = "pn-provider=fcm&pn-param=p&pn-prid=\(GatewayServer.googleToken)"
            let first = try await server.post(Self.path, body, settling: answer)
            let second = try await server.post(Self.path, body)
            #expect(first.status == 410 && second.status == 410)
            #expect(try await server.pushes.count == 1)
        }
    }

    @Test(arguments: [
        ("", "pn-provider"), ("pn-provider=fcm&pn-param=p", "pn-prid"),
        ("pn-provider=webpush&pn-param=p&pn-prid=x", "pn-provider"), ("pn-provider=fcm&pn-param=p&pn-prid=", "pn-prid"),
        (#"{"contact":"<sip:ada@example.org;pn-provider=fcm;pn-prid=x>"}"#, "contact has no pn-param"),
        (#"{"pn-provider":3}"#, "pn-provider"), ("from=%00", "from has the character U+0000"),
    ])
    func `a malformed request names its field`(body: String, field: String) async throws {
        try await GatewayServer.with(.sip) { server in
            let answer = try await server.post(Self.path, body)
            #expect(answer.status == 400 && "\(answer.json)".contains(field), "\(answer)")
            #expect(try await server.store.allDevices().isEmpty)
        }
    }

    @Test func `a wrong key is not there`() async throws {
        try await GatewayServer.with(.sip) { server in
            let answer = try await server.post("/sip/wrong/wake", "pn-provider=fcm&pn-param=p&pn-prid=x")
            #expect(answer.status == 404)
        }
    }
}

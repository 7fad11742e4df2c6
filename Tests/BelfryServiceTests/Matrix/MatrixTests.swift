import BelfryTesting
import FoundationEssentials
import Testing

@testable import BelfryService

/// Requests of homeservers to the push gateway. Their shapes are those that Synapse makes in `synapse/push/httppusher.py`
/// (`dispatch_push_event`, `_send_badge`); the example is that of the specification, Push Gateway API.
@Suite struct MatrixTests {
    private static let path = "/_matrix/push/v1/notify?key=\(GatewayServer.key)"
    private static let ios = "im.vector.app.ios.prod"
    private static let android = "im.vector.app.android"
    private static let names: [String: PlatformKind] = [ios: .ios, android: .androidFCM]

    /// - Parameter data: of the pusher, as Synapse sends it: without `url`.
    private static func device(
        _ app: String = ios, _ pushkey: String = GatewayServer.applePushkey, since: Int = 1_400_000_000,
        data: String = "{}", tweaks: String = ""
    ) -> String {
        #"{"app_id":"\#(app)","pushkey":"\#(pushkey)","pushkey_ts":\#(since),"data":\#(data)\#(tweaks)}"#
    }

    /// A message, as `dispatch_push_event` makes it without `format`.
    private static func event(
        _ devices: String..., type: String = "m.room.message", more: String = "", priority: String = "high"
    ) -> String {
        #"{"notification":{"id":"$1","event_id":"$1","room_id":"!r:example.org","type":"\#(type)","sender":"@ada:example.org","prio":"\#(priority)","counts":{"unread":2},"sender_display_name":"Ada","room_name":"Mission Control"\#(more),"devices":[\#(devices.joined(separator: ","))]}}"#
    }

    private static let text = #","content":{"msgtype":"m.text","body":"I'm floating"}"#
    private static let accepted: JSONValue = .object(["rejected": .array([])])

    private static func rejected(_ pushkeys: String...) -> JSONValue { .object(["rejected": .strings(pushkeys)]) }

    @Test func `the specification's example is an alert with keys`() async throws {
        try await GatewayServer.with(.matrix, ["org.matrix.matrixConsole.ios": .ios]) { server in
            let body = #"""
                {"notification": {"event_id": "$3957tyerfgewrf384", "room_id": "!slw48wfj34rtnrf:example.com",
                 "type": "m.room.message", "sender": "@exampleuser:matrix.org", "sender_display_name": "Major Tom",
                 "room_name": "Mission Control", "room_alias": "#exampleroom:matrix.org", "prio": "high",
                 "content": {"msgtype": "m.text", "body": "I'm floating in a most peculiar way."},
                 "counts": {"unread": 2, "missed_calls": 1},
                 "devices": [{"app_id": "org.matrix.matrixConsole.ios",
                              "pushkey": "V2h5IG9uIGVhcnRoIGRpZCB5b3UgZGVjb2RlIHRoaXM/", "pushkey_ts": 12345678,
                              "data": {}, "tweaks": {"sound": "bing"}}]}}
                """#
            let answer = try await server.post(Self.path, body)
            #expect(answer.status == 200 && answer.json == Self.accepted, "\(answer)")
            let push = try #require(try await server.pushes.first)
            #expect(push.lane == .urgent && push.expiresAt == nil)
            let apple = try #require(push.content.apple)
            #expect(apple.type == .alert && apple.priority == .immediate && apple.isVerbatim)
            let alert: JSONValue = .object([
                "loc-key": .string("MSG_FROM_USER_IN_ROOM_WITH_CONTENT"),
                "loc-args": .strings(["Major Tom", "Mission Control", "I'm floating in a most peculiar way."]),
            ])
            let payload: JSONObject = [
                "aps": .object(["alert": alert, "badge": .integer(3), "sound": .string("bing")]),
                "room_id": .string("!slw48wfj34rtnrf:example.com"), "event_id": .string("$3957tyerfgewrf384"),
            ]
            #expect(apple.payload == payload)
            let token = try await server.devices(.ios).first?.token?.bytes
            #expect(token == Array("Why on earth did you decode this?".utf8))
        }
    }

    @Test func `an event id alone goes with the app's own payload`() async throws {
        try await GatewayServer.with(.matrix, Self.names) { server in
            // Element X for iOS asks for this format, and its extension fetches the event.
            let data =
                #"{"format":"event_id_only","default_payload":{"aps":{"mutable-content":1,"alert":{"loc-key":"Notification","loc-args":[]}},"pusher_notification_client_identifier":"x"}}"#
            let body =
                #"{"notification":{"event_id":"$1","room_id":"!r:example.org","prio":"low","counts":{"unread":4},"devices":[\#(Self.device(data: data))]}}"#
            #expect(try await server.post(Self.path, body).json == Self.accepted)
            let apple = try #require(try await server.pushes.first?.content.apple)
            #expect(apple.type == .alert && apple.priority == .considerate)
            #expect(apple.payload["event_id"] == .string("$1") && apple.payload["unread_count"] == .integer(4))
            #expect(apple.payload["room_id"] == .string("!r:example.org"))
            #expect(apple.payload["aps"]?["mutable-content"] == .integer(1))
            #expect(apple.payload["aps"]?["badge"] == nil)
            #expect(apple.payload["pusher_notification_client_identifier"] == .string("x"))
        }
    }

    @Test func `new counts alone set the badge and show nothing`() async throws {
        try await GatewayServer.with(.matrix, Self.names) { server in
            func counts(_ device: String) -> String {
                #"{"notification":{"id":"","type":null,"sender":"","counts":{"unread":0},"devices":[\#(device)]}}"#
            }
            let data = #"{"default_payload":{"aps":{"alert":"x","mutable-content":1}}}"#
            #expect(try await server.post(Self.path, counts(Self.device(data: data))).json == Self.accepted)
            #expect(try await server.payload == ["aps": .object(["badge": .integer(0)])])
            // It may come again: it has no event to tell it by.
            #expect(try await server.post(Self.path, counts(Self.device())).json == Self.accepted)
            let pushes = try await server.pushes
            #expect(pushes.count == 2)
        }
    }

    @Test func `Firebase gets texts with the event's fields`() async throws {
        try await GatewayServer.with(.matrix, Self.names) { server in
            let data = #"{"default_payload":{"cs":"secret","from":"x","aps":{"alert":"x"}}}"#
            let device = Self.device(Self.android, GatewayServer.googleToken, data: data)
            let more = #","content":{"msgtype":"m.text","body":"Hi","info":{"w":1}}"#
            #expect(try await server.post(Self.path, Self.event(device, more: more)).json == Self.accepted)
            let expected: JSONObject = [
                "cs": .string("secret"), "event_id": .string("$1"), "type": .string("m.room.message"),
                "sender": .string("@ada:example.org"), "room_name": .string("Mission Control"),
                "sender_display_name": .string("Ada"), "room_id": .string("!r:example.org"),
                "content_msgtype": .string("m.text"), "content_body": .string("Hi"), "prio": .string("high"),
                "unread": .string("2"),
            ]
            #expect(try await server.data.dictionary == expected.dictionary)
            let content = try #require(try await server.pushes.first?.content)
            let payload = try AndroidPayload(content, kind: .androidFCM, receiptID: nil, sentAt: .zero)
            #expect(payload.isSilent && payload.isHighPriority)
            let low = Self.event(device, more: more, priority: "low").replacing("$1", with: "$2")
            #expect(try await server.post(Self.path, low).json == Self.accepted)
            let quiet = try #require(try await server.pushes.last?.content)
            #expect(try !AndroidPayload(quiet, kind: .androidFCM, receiptID: nil, sentAt: .zero).isHighPriority)
        }
    }

    @Test(arguments: [
        ("m.room.encrypted", "", "MSG_FROM_USER_IN_ROOM", ["Ada", "Mission Control"]),
        ("m.call.invite", #","content":{"offer":{"sdp":"m=video 9"}}"#, "VIDEO_CALL_FROM_USER", ["Ada"]),
        ("m.call.invite", #","content":{"offer":{"sdp":"m=audio 9"}}"#, "VOICE_CALL_FROM_USER", ["Ada"]),
        (
            "m.room.member", #","membership":"invite","user_is_target":true"#, "USER_INVITE_TO_NAMED_ROOM",
            ["Ada", "Mission Control"]
        ),
        (
            "m.room.message", #","content":{"msgtype":"m.image","body":"a.png"}"#, "IMAGE_FROM_USER_IN_ROOM",
            ["Ada", "a.png", "Mission Control"]
        ), ("org.example.poll", "", "MSG_FROM_USER", ["Ada"]),
    ])
    func `each type of event has its own text`(type: String, more: String, key: String, arguments: [String])
        async throws
    {
        try await GatewayServer.with(.matrix, Self.names) { server in
            let body = Self.event(Self.device(), type: type, more: more)
            #expect(try await server.post(Self.path, body).json == Self.accepted)
            let alert = try await server.payload["aps"]?["alert"]
            #expect(
                alert?["loc-key"] == .string(key) && alert?["loc-args"] == .strings(arguments),
                "\(String(describing: alert))")
        }
    }

    @Test func `long texts are cut to what the provider takes`() async throws {
        try await GatewayServer.with(.matrix, Self.names) { server in
            let long = String(repeating: "ü\\\"", count: 4_000)
            for device in [Self.device(), Self.device(Self.android, GatewayServer.googleToken)] {
                let body = Self.event(device, more: #","content":{"msgtype":"m.text","body":"\#(long)"}"#)
                let answer = try await server.post(Self.path, body)
                #expect(answer.status == 200 && answer.json == Self.accepted, "\(answer)")
            }
            #expect(try await server.pushes.count == 2)
        }
    }

    @Test func `a repeated event is sent once for each account`() async throws {
        try await GatewayServer.with(.matrix, Self.names) { server in
            let body = Self.event(Self.device(), more: Self.text)
            for _ in 0..<3 { #expect(try await server.post(Self.path, body).json == Self.accepted) }
            let pushes = try await server.pushes
            #expect(pushes.count == 1)
            // Another account on the device, with the same pushkey.
            let other = Self.event(Self.device(data: #"{"default_payload":{"cs":"b"}}"#), more: Self.text)
            #expect(try await server.post(Self.path, other).json == Self.accepted)
            let all = try await server.pushes
            #expect(all.count == 2)
        }
    }

    // MARK: Rejected pushkeys

    @Test func `unknown app ids and malformed pushkeys are rejected`() async throws {
        try await GatewayServer.with(.matrix, Self.names) { server in
            let body = Self.event(
                Self.device("org.example.other", "a"), Self.device(), Self.device(Self.ios, "no token!"),
                more: Self.text)
            #expect(try await server.post(Self.path, body).json == Self.rejected("a", "no token!"))
            let pushes = try await server.pushes
            #expect(pushes.count == 1)
        }
    }

    @Test(arguments: [Answer.gone, .refused(.badToken)])
    func `a dead token is rejected once the provider says so`(answer: Answer) async throws {
        try await GatewayServer.with(.matrix, Self.names, wait: .seconds(60)) { server in
            let body = Self.event(Self.device(), more: Self.text)
            let first = try await server.post(Self.path, body, settling: answer)
            #expect(first.json == Self.rejected(GatewayServer.applePushkey))
            #expect(try await server.devices(.ios).isEmpty, "it was registered for this message, and fills no quota")
            // Nothing more is sent to it for a day.
            let second = body.replacing("$1", with: "$2")
            #expect(try await server.post(Self.path, second).json == Self.rejected(GatewayServer.applePushkey))
            #expect(try await server.pushes.count == 1)
            server.clock.advance(by: TokenGateway.deadFor)
            let third = body.replacing("$1", with: "$3")
            #expect(try await server.post(Self.path, third, settling: .accepted).json == Self.accepted)
            #expect(try await server.pushes.count == 2)
        }
    }

    @Test func `a device that was there before a message stays`() async throws {
        try await GatewayServer.with(.matrix, Self.names, wait: .seconds(60)) { server in
            let body = Self.event(Self.device(), more: Self.text)
            #expect(try await server.post(Self.path, body, settling: .accepted).json == Self.accepted)
            let device = try #require(try await server.devices(.ios).first)
            try await server.store.unregister(device.uuid, on: device.platformKey)
            server.clock.advance(by: TokenGateway.deadFor)
            let second = body.replacing("$1", with: "$2")
            let answer = try await server.post(Self.path, second, settling: .refused(.badToken))
            #expect(answer.json == Self.rejected(GatewayServer.applePushkey))
            #expect(try await server.devices(.ios).map(\.uuid) == [device.uuid])
            #expect(try await server.devices(.ios).map(\.isActive) == [false])
        }
    }

    @Test(arguments: [Answer.accepted, .refused(.payloadTooLarge), .refused(.tokenOfAnotherApplication), .expired])
    func `other verdicts reject no pushkey`(answer: Answer) async throws {
        try await GatewayServer.with(.matrix, Self.names, wait: .seconds(60)) { server in
            let body = Self.event(Self.device(), more: Self.text)
            let response = try await server.post(Self.path, body, settling: answer)
            #expect(response.json == Self.accepted)
        }
    }

    @Test func `a late verdict rejects the next request`() async throws {
        try await GatewayServer.with(.matrix, Self.names) { server in
            let body = Self.event(Self.device(), more: Self.text)
            #expect(try await server.post(Self.path, body).json == Self.accepted)
            try await server.settle(.gone)
            let next = body.replacing("$1", with: "$2")
            #expect(try await server.post(Self.path, next).json == Self.rejected(GatewayServer.applePushkey))
            #expect(try await server.pushes.count == 1)
        }
    }

    @Test func `a pusher that was set again is tried again`() async throws {
        try await GatewayServer.with(.matrix, Self.names) { server in
            let body = Self.event(Self.device(), more: Self.text)
            #expect(try await server.post(Self.path, body).json == Self.accepted)
            let device = try #require(try await server.devices(.ios).first)
            try await server.store.unregister(device.uuid, on: device.platformKey)
            let next = body.replacing("$1", with: "$2")
            #expect(try await server.post(Self.path, next).json == Self.rejected(GatewayServer.applePushkey))
            let renewed = Self.event(Self.device(since: 1_500_000_001), more: Self.text).replacing("$1", with: "$3")
            #expect(try await server.post(Self.path, renewed).json == Self.accepted)
            #expect(try await server.devices(.ios).map(\.isActive) == [true])
        }
    }

    @Test func `a deleted platform rejects nothing and asks for patience`() async throws {
        try await GatewayServer.with(.matrix, Self.names) { server in
            _ = try await server.store.create(
                try NewOpenEndpoint(
                    kind: .matrix, application: server.application.key, keyHash: SecretHash.of("other"),
                    options: [Self.ios: UUID().lowercased]))
            let answer = try await server.post(
                "/_matrix/push/v1/notify?key=other", Self.event(Self.device(), more: Self.text))
            #expect(answer.status == 503, "\(answer)")
        }
    }

    // MARK: Hostile callers

    @Test(arguments: [
        "", "[]", "{", "{}", #"{"notification":[]}"#, #"{"notification":{"devices":[]}}"#,
        #"{"notification":{"devices":[{"app_id":"a"}]}}"#,
        #"{"notification":{"devices":[{"app_id":1,"pushkey":"b"}]}}"#,
        #"{"notification":{"devices":["a"]}}"#,
        #"{"notification":\#(String(repeating: "[", count: 5_000))"#,
    ])
    func `a malformed request is refused in the specification's form`(body: String) async throws {
        try await GatewayServer.with(.matrix, Self.names) { server in
            let answer = try await server.post(Self.path, body)
            #expect(answer.status == 400 && answer.json["errcode"] == .string("M_BAD_JSON"), "\(answer)")
            #expect(answer.json["error"]?.stringValue?.isEmpty == false)
            #expect(try await server.pushes.isEmpty)
        }
    }

    @Test func `more devices than the limit send nothing`() async throws {
        try await GatewayServer.with(.matrix, Self.names) { server in
            let devices = (0...MatrixNotification.devicesMax).map { Self.device(Self.android, "token\($0)") }
            let body = #"{"notification":{"event_id":"$1","devices":[\#(devices.joined(separator: ","))]}}"#
            let answer = try await server.post(Self.path, body)
            #expect(answer.status == 400, "\(answer)")
            #expect(answer.json["error"]?.stringValue?.contains("more than 16 devices") == true, "\(answer)")
            #expect(try await server.store.allDevices().isEmpty)
            let most = #"{"notification":{"event_id":"$1","devices":[\#(devices.dropLast().joined(separator: ","))]}}"#
            #expect(try await server.post(Self.path, most).json == Self.accepted)
            #expect(try await server.devices(.androidFCM).count == 16)
        }
    }

    @Test(arguments: ["", "?key=", "?key=wrong", "?key=\(String(repeating: "x", count: 4_000))"])
    func `a wrong key finds no gateway`(query: String) async throws {
        try await GatewayServer.with(.matrix, Self.names) { server in
            let answer = try await server.post("/_matrix/push/v1/notify\(query)", Self.event(Self.device()))
            #expect(answer.status == 404)
            #expect(try await server.store.allDevices().isEmpty)
        }
    }

    @Test func `a key leads to no other gateway or application`() async throws {
        try await GatewayServer.with(.matrix, Self.names) { server in
            let tenant = try await server.store.create(try NewTenant(uuid: UUID(), name: Name("Other")))
            let other = try await server.store.create(.test(PlaintextVault(), tenant: tenant.key))
            _ = try await server.store.create(
                try NewOpenEndpoint(
                    kind: .matrix, application: other.key, keyHash: SecretHash.of("other"),
                    options: [Self.ios: try #require(server.platforms[.ios]).uuid.lowercased]))
            // The option names a platform of another tenant, which it did not get by the API.
            let answer = try await server.post("/_matrix/push/v1/notify?key=other", Self.event(Self.device()))
            #expect(answer.status == 503)
            let wrong = try await server.post("/mattermost/\(GatewayServer.key)/api/v1/send_push", "{}")
            #expect(wrong.status == 404)
            #expect(try await server.store.allDevices().isEmpty)
        }
    }

    /// A homeserver repeats a request that is refused, and anyone in a room writes such events.
    @Test(arguments: [
        "3", #"{"msgtype":"m.text","body":"a\u0000b"}"#, #"{"msgtype":"m.text","body":"\ud800"}"#,
        #"{"body":"\ud83d\ude00\\u0000"}"#,
        #"{"x":\#(String(repeating: "[", count: 100))\#(String(repeating: "]", count: 100)),"body":"a"}"#,
        #"{"body":"\#(String(repeating: "x", count: 200_000))"}"#,
        #"{"x":[\#(String(repeating: "1", count: 200)),1e999,-2.5E+3],"body":"a"}"#,
    ])
    func `an event that no reader takes holds up no user`(content: String) async throws {
        try await GatewayServer.with(.matrix, Self.names) { server in
            for device in [Self.device(), Self.device(Self.android, GatewayServer.googleToken)] {
                let answer = try await server.post(Self.path, Self.event(device, more: #","content":\#(content)"#))
                #expect(answer.status == 200 && answer.json == Self.accepted, "\(answer)")
            }
            #expect(try await server.pushes.count == 2)
        }
    }

    /// No length of the texts makes room.
    @Test func `content that does not fit is left out`() throws {
        let names = ["a", "b"].map { "\"\(String(repeating: "n", count: 4_000))\($0)\":\"v\"" }
        let notification = try MatrixNotification(
            json: Array(
                #"{"notification":{"event_id":"$a","type":"m.room.message","content":{\#(names.joined(separator: ","))},"#
                    .utf8) + Array(#""devices":[{"app_id":"a","pushkey":"k"}]}}"#.utf8))
        let device = try #require(notification.devices.first)
        let data = try #require(try notification.content(for: device, on: .androidFCM)).shared.data
        #expect(data["event_id"] == .string("$a") && !data.contains { $0.key.hasPrefix("content_") })
    }
}

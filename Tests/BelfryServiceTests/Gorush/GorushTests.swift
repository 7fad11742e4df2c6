import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

/// Requests of clients of gorush, as its README has them, and its answers, as `router/server.go` and `logx/log.go` make them.
@Suite struct GorushTests {
    private static let path = "/gorush/\(GatewayServer.key)/api/push"
    private static let second = String(repeating: "ab", count: 32)

    private static func request(_ notifications: String...) -> String {
        #"{"notifications":[\#(notifications.joined(separator: ","))]}"#
    }

    private static func ios(
        _ more: String = #""message":"Hello World iOS!""#, tokens: [String] = [GatewayServer.appleToken]
    ) -> String {
        let tokens = tokens.map { "\"\($0)\"" }.joined(separator: ",")
        return #"{"tokens":[\#(tokens)],"platform":1,\#(more)}"#
    }

    private static func android(_ more: String) -> String {
        #"{"tokens":["\#(GatewayServer.googleToken)"],"platform":2,\#(more)}"#
    }

    private static func answer(_ counts: Int64, _ logs: [JSONValue] = []) -> JSONValue {
        .object(["success": .string("ok"), "counts": .integer(counts), "logs": .array(logs)])
    }

    @Test func `the README's example is one push for its tokens`() async throws {
        try await GatewayServer.with(.gorush) { server in
            let body = Self.request(Self.ios(tokens: [GatewayServer.appleToken, Self.second]))
            let answer = try await server.post(Self.path, body)
            #expect(answer.status == 200 && answer.json == Self.answer(2), "\(answer)")
            #expect(try await server.pushes.count == 1)
            #expect(try await server.payload == ["aps": .object(["alert": .string("Hello World iOS!")])])
            #expect(try await server.devices(.ios).count == 2)
        }
    }

    @Test func `all fields for iOS reach the payload`() async throws {
        try await GatewayServer.with(.gorush) { server in
            let more = #"""
                "title":"Game","message":"Bob wants to play","badge":5,"category":"PLAY","thread-id":"t","mutable_content":true,
                "interruption_level":"time-sensitive","sound":{"critical":1,"name":"default","volume":0.5},"priority":"high",
                "collapse_id":"c","expiration":1600000000,"data":{"key1":"welcome","key2":2},
                "alert":{"subtitle":"Request","action-loc-key":"PLAY","loc-args":["a"]}
                """#
            #expect(try await server.post(Self.path, Self.request(Self.ios(more))).json == Self.answer(1))
            let push = try #require(try await server.pushes.first)
            let apple = try #require(push.content.apple)
            #expect(push.expiresAt == Instant(milliseconds: 1_600_000_000_000))
            #expect(apple.type == .alert && apple.priority == .immediate && apple.collapseID == "c" && apple.isStored)
            let alert: JSONValue = .object([
                "title": .string("Game"), "body": .string("Bob wants to play"), "subtitle": .string("Request"),
                "action-loc-key": .string("PLAY"), "loc-args": .strings(["a"]),
            ])
            #expect(apple.payload["aps"]?["alert"]?.sorted == alert.sorted)
            #expect(apple.payload["aps"]?["badge"] == .integer(5))
            #expect(apple.payload["aps"]?["sound"]?["volume"] == .number(0.5))
            #expect(apple.payload["aps"]?["interruption-level"] == .string("time-sensitive"))
            #expect(apple.payload["aps"]?["mutable-content"] == .integer(1))
            #expect(apple.payload["key1"] == .string("welcome") && apple.payload["key2"] == .integer(2))
        }
    }

    @Test(arguments: [-1, 0, 1_499_999_999])
    func `a message that is over is tried once`(expiration: Int) async throws {
        try await GatewayServer.with(.gorush) { server in
            let body = Self.request(Self.ios(#""message":"m","expiration":\#(expiration)"#))
            #expect(try await server.post(Self.path, body).json == Self.answer(1))
            let push = try #require(try await server.pushes.first)
            #expect(push.expiresAt == nil && push.content.apple?.isStored == false)
        }
    }

    @Test func `a long wrong text is not repeated for each token`() async throws {
        try await GatewayServer.with(.gorush) { server in
            let more = #""message":"m","push_type":"\#(String(repeating: "x", count: 60_000))""#
            let answer = try await server.post(
                Self.path, Self.request(Self.ios(more, tokens: [GatewayServer.appleToken, Self.second])))
            guard case .array(let logs)? = answer.json["logs"] else {
                Issue.record("\(answer)")
                return
            }
            let words = logs.compactMap { $0["error"]?.stringValue }
            #expect(words.count == 2 && words.allSatisfy { $0.utf8.count <= 256 && $0.contains("one of alert") })
        }
    }

    @Test func `a background push takes the lower priority`() async throws {
        try await GatewayServer.with(.gorush) { server in
            let more = #""content_available":true,"push_type":"background","data":{"a":"b"}"#
            #expect(try await server.post(Self.path, Self.request(Self.ios(more))).json == Self.answer(1))
            let apple = try #require(try await server.pushes.first?.content.apple)
            #expect(apple.type == .background && apple.priority == .considerate)
            let wrong = Self.ios(more + #","priority":"high""#)
            let answer = try await server.post(Self.path, Self.request(wrong))
            #expect(answer.json["logs"] != .array([]) && answer.json["counts"] == .integer(1), "\(answer)")
            let spaced = try await server.post(Self.path, Self.request(Self.ios(more + #","collapse_id":"c ""#)))
            guard case .array(let logs)? = spaced.json["logs"] else { throw StoreError.unknown("logs") }
            #expect(logs.first?["error"]?.stringValue?.contains("collapse_id") == true, "\(spaced)")
        }
    }

    @Test func `fields for Firebase reach the message`() async throws {
        try await GatewayServer.with(.gorush) { server in
            let more = #"""
                "title":"You got message","message":"Hello World Android!","image":"https://example.org/a.png","priority":"high",
                "data":{"a":"1","b":2},"android":{"ttl":"3600s","collapse_key":"k",
                "notification":{"channel_id":"news","click_action":"OPEN","icon":"ignored"}}
                """#
            #expect(try await server.post(Self.path, Self.request(Self.android(more))).json == Self.answer(1))
            let push = try #require(try await server.pushes.first)
            #expect(push.expiresAt == server.clock.now + .seconds(3_600))
            let payload = try AndroidPayload(push.content, kind: .androidFCM, receiptID: nil, sentAt: .zero)
            #expect(payload.notice?.title == "You got message" && payload.notice?.body == "Hello World Android!")
            #expect(payload.notice?.channel == "news" && payload.notice?.category == "OPEN")
            #expect(payload.notice?.image == "https://example.org/a.png" && payload.isHighPriority)
            #expect(payload.collapseKey == "k" && payload.data["b"] == .string("2"))
            let now = Self.request(Self.android(#""message":"now","time_to_live":0"#))
            #expect(try await server.post(Self.path, now).json == Self.answer(1))
            #expect(try await server.pushes.contains { $0.expiresAt == server.clock.now + .seconds(10) })
        }
    }

    @Test(arguments: [(#","priority":"normal""#, false), (#","android":{"priority":"NORMAL"}"#, false), ("", true)])
    func `a message that Firebase shows waits if its sender says`(more: String, isHigh: Bool) async throws {
        try await GatewayServer.with(.gorush) { server in
            let body = Self.request(Self.android(#""message":"Hi""# + more))
            #expect(try await server.post(Self.path, body).json == Self.answer(1))
            let content = try #require(try await server.pushes.first?.content)
            let payload = try AndroidPayload(content, kind: .androidFCM, receiptID: nil, sentAt: .zero)
            #expect(payload.notice?.body == "Hi" && payload.isHighPriority == isHigh)
        }
    }

    // MARK: Results

    @Test func `failed tokens stand in the logs, others do not`() async throws {
        try await GatewayServer.with(.gorush, wait: .seconds(60)) { server in
            let body = Self.request(
                Self.ios(#""notif_id":"n1","message":"Hi""#, tokens: ["not hex", GatewayServer.appleToken]))
            func log(_ token: String, _ error: String) -> JSONValue {
                .object([
                    "notif_id": .string("n1"), "type": .string("failed-push"), "platform": .string("ios"),
                    "token": .string(token), "message": .string("Hi"), "error": .string(error),
                ])
            }
            let answer = try await server.post(Self.path, body, settling: .gone)
            let logs = [log("not hex", "BadDeviceToken"), log(GatewayServer.appleToken, "Unregistered")]
            #expect(answer.json == Self.answer(2, logs), "\(answer)")
            // The dead token is remembered.
            let again = try await server.post(Self.path + "?sync=false", body)
            #expect(again.json == Self.answer(2, logs), "\(again)")
            #expect(try await server.pushes.count == 1)
        }
    }

    @Test(arguments: [
        (#""topic":"news""#, "/topics/news"), (#""to":"/topics/news""#, "/topics/news"),
        (#""condition":"'a' in topics""#, "'a' in topics"),
    ])
    func `a topic goes to Firebase's own platform`(target: String, topic: String) async throws {
        try await GatewayServer.with(.gorush) { server in
            let body = Self.request(#"{"platform":2,"message":"Hi",\#(target)}"#)
            let refused = try await server.post(Self.path, body)
            guard case .array(let logs)? = refused.json["logs"] else { throw StoreError.unknown("logs") }
            #expect(logs.map { $0["token"]?.stringValue } == [topic], "\(refused)")
            let platform = try await server.store.create(.test(.fcmTopic, of: server.application))
            #expect(try await server.post(Self.path, body).json == Self.answer(1))
            let devices = try await server.store.allDevices().filter { $0.platformKey == platform.key }
            #expect(devices.map { $0.token?.text(for: .fcmTopic) } == [topic])
            #expect(try await server.pushes.count == 1)
            let huawei = try await server.post(Self.path, body.replacing(#""platform":2"#, with: #""platform":3"#))
            guard case .array(let refusals)? = huawei.json["logs"] else { throw StoreError.unknown("logs") }
            #expect(refusals.map { $0["error"]?.stringValue?.contains("Huawei") } == [true], "\(huawei)")
            // Beside tokens, each gets it.
            let both = Self.request(Self.android(#""message":"Hi","topic":"news""#))
            #expect(try await server.post(Self.path, both).json == Self.answer(2))
            #expect(try await server.pushes.count == 3)
        }
    }

    @Test(arguments: [
        (#""message":"a","time_to_live":2419201"#, "time_to_live"), (#""message":"a","data":{"from":"x"}"#, "reserved"),
    ])
    func `refusals for Firebase stand in the logs`(more: String, words: String) async throws {
        try await GatewayServer.with(.gorush) { server in
            let answer = try await server.post(Self.path, Self.request(Self.android(more), Self.ios()))
            #expect(answer.status == 200 && answer.json["counts"] == .integer(2), "\(answer)")
            guard case .array(let logs)? = answer.json["logs"] else { throw StoreError.unknown("logs") }
            #expect(logs.count == 1 && logs[0]["error"]?.stringValue?.contains(words) == true, "\(answer)")
            // The other notification is none the worse for it.
            #expect(try await server.pushes.count == 1)
        }
    }

    @Test func `a notification without its platform stands in the logs`() async throws {
        try await GatewayServer.with(.gorush) { server in
            _ = try await server.store.create(
                try NewOpenEndpoint(
                    kind: .gorush, application: server.application.key, keyHash: SecretHash.of("other"),
                    options: ["gone.app": UUID().lowercased]))
            let body = Self.request(Self.ios(#""topic":"gone.app","message":"a""#), Self.ios())
            let answer = try await server.post("/gorush/other/api/push", body)
            guard case .array(let logs)? = answer.json["logs"] else { throw StoreError.unknown("logs") }
            #expect(answer.status == 200 && logs.count == 1, "\(answer)")
            #expect(logs.first?["error"]?.stringValue?.contains("was deleted") == true, "\(answer)")
            #expect(try await server.pushes.count == 1)
        }
    }

    @Test func `tokens beyond the quota hold back no others`() async throws {
        try await GatewayServer.with(.gorush, quotas: Quotas([.devices: 1])) { server in
            let body = Self.request(Self.ios(tokens: [GatewayServer.appleToken, Self.second]))
            let answer = try await server.post(Self.path, body)
            guard case .array(let logs)? = answer.json["logs"] else { throw StoreError.unknown("logs") }
            #expect(answer.status == 200 && logs.count == 1, "\(answer)")
            #expect(logs.first?["error"] == .string("the token could not be registered"), "\(answer)")
            #expect(try await server.pushes.count == 1)
        }
    }

    @Test func `a passing fault repeats nothing that was accepted`() async throws {
        try await GatewayServer.with(.gorush, quotas: Quotas([.content: 3_000])) { server in
            func text(_ count: Int) -> String { #""message":"\#(String(repeating: "x", count: count))""# }
            func failed(_ notifications: String...) async throws -> [String?] {
                let body = #"{"notifications":[\#(notifications.joined(separator: ","))]}"#
                let answer = try await server.post(Self.path, body)
                guard case .array(let logs)? = answer.json["logs"] else { return ["\(answer)"] }
                #expect(logs.allSatisfy { $0["error"]?.stringValue?.contains("quota") == true }, "\(answer)")
                return logs.map { $0["token"]?.stringValue }
            }
            #expect(try await server.post(Self.path, Self.request(Self.ios(text(3_500)))).status == 429)
            #expect(try await failed(Self.ios(text(3_500)), Self.ios()) == [GatewayServer.appleToken])
            #expect(try await server.pushes.count == 1)
            // A topic takes what the tokens beside it cannot have.
            _ = try await server.store.create(.test(.fcmTopic, of: server.application))
            let both = Self.android(text(1_600) + #","topic":"news""#)
            #expect(try await failed(both) == [GatewayServer.googleToken])
            #expect(try await server.pushes.count == 2)
        }
    }

    @Test func `a trial sends nothing`() async throws {
        try await GatewayServer.with(.gorush) { server in
            let body = Self.request(Self.android(#""message":"a","dry_run":true"#))
            #expect(try await server.post(Self.path, body).json == Self.answer(1))
            let pushes = try await server.pushes
            #expect(pushes.isEmpty)
        }
    }

    @Test func `an answer grows with the request alone`() async throws {
        try await GatewayServer.with(.gorush) { server in
            let long = String(repeating: "x", count: 100_000)
            let body = Self.request(Self.ios("\"message\":\"\(long)\"", tokens: Array(repeating: "no", count: 500)))
            let answer = try await server.post(Self.path, body)
            #expect(answer.status == 200 && answer.json.encoded.count < 300_000)
        }
    }

    // MARK: The door

    @Test func `the key may be a bearer token`() async throws {
        try await GatewayServer.with(.gorush) { server in
            let body = Self.request(Self.ios())
            let right = try await server.post(
                "/api/push", body, headers: [.authorization: "Bearer \(GatewayServer.key)"])
            #expect(right.json == Self.answer(1), "\(right)")
            for headers: HTTPFields in [[:], [.authorization: "Bearer x"], [.authorization: "Basic eDp5"]] {
                #expect(try await server.post("/api/push", body, headers: headers).status == 401)
            }
            #expect(try await server.post("/gorush/wrong/api/push", body).status == 404)
            #expect(try await server.pushes.count == 1)
        }
    }

    @Test(arguments: [
        ("", "body"), ("{}", "notifications is missing"), (#"{"notifications":[]}"#, "notifications is empty"),
        (#"{"notifications":[3]}"#, "notifications[0]"),
        (#"{"notifications":[{"tokens":["a"],"platform":9}]}"#, "platform"),
        (#"{"notifications":[{"tokens":[3],"platform":1}]}"#, "tokens[0]"),
        (#"{"notifications":\#(String(repeating: "[", count: 5_000))"#, "nested"),
    ])
    func `a malformed request is 400 as gorush has it`(body: String, words: String) async throws {
        try await GatewayServer.with(.gorush) { server in
            let answer = try await server.post(Self.path, body)
            #expect(answer.status == 400 && answer.json["code"] == .integer(400), "\(answer)")
            #expect(answer.json["message"]?.stringValue?.contains(words) == true, "\(answer)")
        }
    }

    @Test func `too many notifications or tokens send nothing`() async throws {
        try await GatewayServer.with(.gorush) { server in
            func tokens(_ count: Int, from first: Int = 0) -> [String] {
                (first..<first + count).map { String(repeating: "0", count: 64 - "\($0)".count) + "\($0)" }
            }
            let one = Self.ios(tokens: ["ab"])
            let bodies = [
                (
                    #"{"notifications":[\#(Array(repeating: one, count: 101).joined(separator: ","))]}"#,
                    "100 notifications"
                ),
                (Self.request(Self.ios(tokens: tokens(501))), "501 tokens"),
                (
                    Self.request(
                        Self.ios(tokens: tokens(500)), Self.ios(tokens: tokens(500, from: 500)),
                        Self.ios(tokens: tokens(1))),
                    "1000 tokens"
                ),
            ]
            for (body, words) in bodies {
                let answer = try await server.post(Self.path, body)
                #expect(answer.status == 400, "\(answer)")
                #expect(answer.json["message"]?.stringValue?.contains(words) == true, "\(answer)")
            }
            #expect(try await server.store.allDevices().isEmpty)
            let most = Self.request(Self.ios(tokens: tokens(500)))
            #expect(try await server.post(Self.path, most).json == Self.answer(500))
            #expect(try await server.pushes.count == 1)
        }
    }
}

import Testing

@testable import BelfrySimulators

/// HTTP v1: what FCM takes, and in what words it refuses.
@Suite(.timeLimit(.minutes(20))) struct FCMSendTests {
    typealias TestSimulator = TestService<FCMService>

    static func post(_ fixture: TestSimulator, _ body: String, _ options: String...) async throws -> Curl.Answer {
        try await fixture.curl.send(
            "POST", fixture.simulator.sendURL, [("authorization", "Bearer any"), ("content-type", "application/json")],
            Array(body.utf8), options)
    }

    static func believing(_ configuration: inout FCMConfiguration) { configuration.believesAnyToken = true }

    @Test(arguments: ["--http2", "--http1.1"])
    func `a good message is taken over both HTTPs and told`(http: String) async throws {
        try await TestSimulator.with(Self.believing) { fixture in
            let body = """
                {"message":{"token":"abc:APA91b_-x","data":{"k":"v"},"notification":{"title":"t","body":"ü"},
                "android":{"collapseKey":"c","priority":"high","ttl":"3.5s","notification":{"color":"#00ff00",
                "vibrate_timings":["1.5s"],"notification_count":3}},"apns":{"headers":{"apns-priority":"5"},
                "payload":{"aps":{"content-available":1}}},"webpush":{"notification":{"actions":[{}]}}}}
                """
            let answer = try await Self.post(fixture, body, http)
            #expect(answer.status == 200)
            #expect(answer.json?["name"]?.string?.hasPrefix("projects/belfry-simulated/messages/0:") == true)
            let told = try #require(fixture.simulator.ledger.token(Array("abc:APA91b_-x".utf8)))
            #expect(told.token == "abc:APA91b_-x")
            #expect(told.told == 1)
            #expect(told.lastStatus == 200)
            #expect(told.lastRequest?.payload == body)
            #expect(told.lastRequest?.header("content-type") == "application/json")
            #expect(told.lastRequest?.header("authorization") == nil)
        }
    }

    @Test(arguments: [
        (#"{"message":{}}"#, "message", "Recipient of the message is not set."),
        (#"{"message":{"token":"a","topic":"b"}}"#, "message", "Multiple recipients are set."),
        (#"{"message":{"token":"a b"}}"#, "message.token", "Invalid registration token"),
        (#"{"message":{"token":"a","data":{"k":1}}}"#, "message.data[0].value", "Invalid value"),
        (#"{"message":{"token":"a","data":{"from":"x"}}}"#, "message.data", "Invalid data payload key: from"),
        (#"{"message":{"token":"a","android":{"ttl":"3"}}}"#, "message.android.ttl", "Invalid value"),
        (#"{"message":{"token":"a","android":{"ttl":"2419201s"}}}"#, "message.android.ttl", "Invalid ttl"),
        (#"{"message":{"token":"a","android":{"priority":"urgent"}}}"#, "message.android.priority", "Invalid value"),
        (#"{"message":{"token":"a","android":{"tll":"3s"}}}"#, "message.android", "Cannot find field."),
        (#"{"message":{"topic":"/topics/a"}}"#, "message.topic", "Malformed topic name"),
        (#"{"message":{"condition":"a"}}"#, "message.condition", "Invalid condition"),
        (#"{"message":{"condition":"'a' in topics || 'b'"}}"#, "message.condition", "Invalid condition"),
        (#"{"message":{"condition":"('a' in topics"}}"#, "message.condition", "Invalid condition"),
        (
            #"{"message":{"topic":"a","apns":{"headers":{"apns-priority":"7"}}}}"#, "message.apns.headers",
            "Invalid apns-priority: 7"
        ),
        (#"{"message":{"token":"a","apns":{"payload":{"aps":1}}}}"#, "message.apns.payload", "aps is not an object"),
        (
            #"{"message":{"token":"a","webpush":{"fcm_options":{"link":"http://a"}}}}"#,
            "message.webpush.fcm_options.link", "HTTPS"
        ),
        (
            #"{"message":{"token":"a","webpush":{"headers":{"TTL":"-1"}}}}"#, "message.webpush.headers",
            "Invalid TTL: -1"
        ),
        (
            #"{"message":{"token":"a","android":{"notification":{"color":"red"}}}}"#,
            "message.android.notification.color", "Invalid color"
        ),
    ])
    func `a bad message is refused by field name`(
        body: String, field: String, description: String
    ) async throws {
        try await TestSimulator.with(Self.believing) { fixture in
            let answer = try await Self.post(fixture, body)
            let error = try #require(answer.json?["error"])
            #expect(answer.status == 400)
            #expect(error["status"]?.string == "INVALID_ARGUMENT")
            let details = error["details"]?.array ?? []
            let violation = details.compactMap { $0["fieldViolations"]?.array?.first }.first
            #expect(violation?["field"]?.string == field)
            #expect(violation?["description"]?.string?.contains(description) == true)
            #expect(fixture.simulator.ledger.totals().told == 0)
            #expect(fixture.simulator.ledger.totals().byReason == ["INVALID_ARGUMENT": 1])
        }
    }

    @Test(arguments: [("token", 4096), ("topic", 2048)])
    func `keys and values have byte limits`(target: String, most: Int) async throws {
        try await TestSimulator.with(Self.believing) { fixture in
            func body(_ bytes: Int) -> String {
                #"{"message":{"\#(target)":"a","data":{"k":"\#(String(repeating: "x", count: bytes - 1))"}}}"#
            }
            #expect(try await Self.post(fixture, body(most)).status == 200)
            let over = try await Self.post(fixture, body(most + 1))
            #expect(over.status == 400)
            #expect(over.json?["error"]?["message"]?.string == "Request contains an invalid argument.")
            #expect(over.json?["error"]?["details"] == nil)
        }
    }

    @Test(arguments: [
        ("UNREGISTERED", 404, "NOT_FOUND", true), ("SENDER_ID_MISMATCH", 403, "PERMISSION_DENIED", true),
        ("INVALID_ARGUMENT", 400, "INVALID_ARGUMENT", true), ("QUOTA_EXCEEDED", 429, "RESOURCE_EXHAUSTED", true),
        ("UNAVAILABLE", 503, "UNAVAILABLE", true), ("INTERNAL", 500, "INTERNAL", true),
        ("THIRD_PARTY_AUTH_ERROR", 401, "UNAUTHENTICATED", true), ("UNAUTHENTICATED", 401, "UNAUTHENTICATED", false),
        ("PERMISSION_DENIED", 403, "PERMISSION_DENIED", false),
    ])
    func `a scripted token is answered in Google's body`(
        reason: String, status: Int, word: String, hasCode: Bool
    ) async throws {
        try await TestSimulator.with(Self.believing) { fixture in
            fixture.simulator.script.answer(ScriptedAnswer(reason, retryAfter: "30"), for: ["bad"])
            let answer = try await Self.post(fixture, #"{"message":{"token":"bad"}}"#)
            #expect(answer.status == status)
            #expect(answer.fields["retry-after"] == "30")
            let error = try #require(answer.json?["error"])
            #expect(error["code"]?.integer == Int64(status))
            #expect(error["status"]?.string == word)
            let codes = (error["details"]?.array ?? []).compactMap { $0["errorCode"]?.string }
            #expect(codes == (hasCode ? [reason] : []))
            #expect(fixture.simulator.ledger.token(Array("bad".utf8))?.refused == 1)
            let other = try await Self.post(fixture, #"{"message":{"token":"good"}}"#)
            #expect(other.status == 200)
            #expect(fixture.simulator.ledger.totals().byReason == [reason: 1])
        }
    }

    @Test(arguments: ["BAD_GATEWAY", "NOT_FOUND"])
    func `some answers are no JSON`(reason: String) async throws {
        try await TestSimulator.with(Self.believing) { fixture in
            fixture.simulator.script.answer(ScriptedAnswer(reason), for: ["bad"])
            let answer = try await Self.post(fixture, #"{"message":{"token":"bad"}}"#)
            #expect(answer.fields["content-type"]?.hasPrefix("text/html") == true)
            #expect(answer.json == nil)
        }
    }

    @Test func `a message to be validated only tells no device`() async throws {
        try await TestSimulator.with(Self.believing) { fixture in
            let answer = try await Self.post(fixture, #"{"validate_only":true,"message":{"token":"a"}}"#)
            #expect(answer.json?["name"]?.string == "projects/belfry-simulated/messages/fake_message_id")
            #expect(fixture.simulator.ledger.totals().told == 0)
        }
    }

    @Test(arguments: [(nil, "UNAUTHENTICATED"), ("Bearer x", "UNAUTHENTICATED"), ("key=x", "UNAUTHENTICATED")])
    func `callers without a token and strangers are refused`(authorization: String?, status: String) async throws {
        try await TestSimulator.with { fixture in
            let fields = authorization.map { [("authorization", $0)] } ?? []
            let answer = try await fixture.curl.post(fixture.simulator.sendURL, fields, #"{"message":{"token":"a"}}"#)
            #expect(answer.status == 401)
            #expect(answer.json?["error"]?["status"]?.string == status)
        }
    }

    @Test(arguments: [
        ("POST", "/v1/projects/other/messages:send", 403), ("POST", "/v1/messages", 404),
        ("GET", "/v1/projects/belfry-simulated/messages:send", 404),
    ])
    func `another project, path or method is refused`(method: String, path: String, status: Int) async throws {
        try await TestSimulator.with(Self.believing) { fixture in
            let bearer = [("authorization", "Bearer x")]
            let answer = try await fixture.curl.send(method, fixture.simulator.url + path, bearer, Array("{}".utf8))
            #expect(answer.status == status)
        }
    }

    @Test func `a project over quota waits for its next minute`() async throws {
        try await TestSimulator.with({
            Self.believing(&$0)
            $0.messagesPerMinute = 2
        }) { fixture in
            let body = #"{"message":{"token":"a"}}"#
            #expect(try await Self.post(fixture, body).status == 200)
            fixture.clock.move(by: 20)
            #expect(try await Self.post(fixture, body).status == 200)
            let over = try await Self.post(fixture, body)
            #expect(over.status == 429)
            #expect(over.fields["retry-after"] == "40")
            fixture.clock.move(by: 40)
            #expect(try await Self.post(fixture, body).status == 200)
        }
    }

    @Test func `one device has a quota of its own`() async throws {
        try await TestSimulator.with({
            Self.believing(&$0)
            $0.deviceMessagesPerMinute = 1
        }) { fixture in
            for (token, status) in [("a", 200), ("a", 429), ("b", 200)] {
                let answer = try await Self.post(fixture, #"{"message":{"token":"\#(token)"}}"#)
                #expect(answer.status == status)
            }
        }
    }
}

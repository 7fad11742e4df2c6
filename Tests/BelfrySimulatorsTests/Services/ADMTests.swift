import Testing

@testable import BelfrySimulators

@Suite(.timeLimit(.minutes(20))) struct ADMTests {
    typealias TestSimulator = TestService<ADMService>
    private static let form =
        "grant_type=client_credentials&scope=messaging%3Apush&client_id=amzn1.application-oa2-client.belfry"
        + "&client_secret=amzn1.oa2-cs.v1.secret"

    private func post(
        _ fixture: TestSimulator, _ id: String, _ body: String,
        _ type: String = "com.amazon.device.messaging.ADMMessage@1.0"
    ) async throws -> Curl.Answer {
        let token = try await fixture.token(at: "/auth/O2/token", Self.form)
        return try await fixture.curl.post(
            fixture.simulator.sendURL(id),
            [
                ("authorization", "Bearer \(token)"), ("content-type", "application/json"),
                ("x-amzn-type-version", type),
                ("x-amzn-accept-type", "com.amazon.device.messaging.ADMSendResult@1.0"),
            ], body)
    }

    /// The checksum is `printf 'a:1,b:2' | openssl md5 -binary | base64`.
    @Test func `a message is taken and a checksum is checked`() async throws {
        try await TestSimulator.with { fixture in
            let md5 = try await Tool.run("/bin/sh", ["-c", "printf 'a:1,b:2' | openssl md5 -binary | base64"]).output
            let sum = md5.filter { !$0.isWhitespace }
            let body = #"{"data":{"b":"2","a":"1"},"consolidationKey":"k","expiresAfter":60,"md5":"\#(sum)"}"#
            let good = try await post(fixture, "amzn1.adm-registration.v3.x", body)
            #expect(good.status == 200)
            #expect(good.json?["registrationID"]?.string == "amzn1.adm-registration.v3.x")
            #expect(good.fields["x-amzn-requestid"] != nil)
            let bad = try await post(fixture, "y", #"{"data":{"a":"1"},"md5":"\#(sum)"}"#)
            #expect(bad.status == 400)
            #expect(bad.json?["reason"]?.string == "InvalidChecksum")
            #expect(fixture.simulator.ledger.totals().told == 1)
        }
    }

    @Test(
        arguments: [
            ("{}", "InvalidData", 400), (#"{"data":{"a":1}}"#, "InvalidData", 400),
            (#"{"data":{},"expiresAfter":59}"#, "InvalidExpiration", 400),
            (
                #"{"data":{},"consolidationKey":"\#(String(repeating: "k", count: 65))"}"#, "InvalidConsolidationKey",
                400
            ),
            (#"{"data":{"a":"\#(String(repeating: "x", count: 6144))"}}"#, "MessageTooLarge", 413),
        ] as [(Sample, String, Int)])
    func `a bad message is refused by its reason`(body: Sample, reason: String, status: Int) async throws {
        try await TestSimulator.with { fixture in
            let answer = try await post(fixture, "a", body.text)
            #expect(answer.status == status)
            #expect(answer.json?["reason"]?.string == reason)
        }
    }

    @Test(arguments: [
        ("Unregistered", 400), ("InvalidRegistrationId", 400), ("MaxRateExceeded", 429), ("ServiceUnavailable", 503),
        ("AccessTokenExpired", 401), ("InternalServerError", 500),
    ])
    func `a scripted device is answered by its reason`(reason: String, status: Int) async throws {
        try await TestSimulator.with { fixture in
            fixture.simulator.script.answer(ScriptedAnswer(reason, retryAfter: "5"), for: ["bad"])
            let answer = try await post(fixture, "bad", #"{"data":{}}"#)
            #expect(answer.status == status)
            #expect(answer.json?["reason"]?.string == reason)
            #expect(answer.fields["retry-after"] == "5")
        }
    }

    @Test func `a device may get a new id; types are optional`() async throws {
        try await TestSimulator.with { fixture in
            fixture.simulator.script.answer(ScriptedAnswer("Replaced", body: "new"), for: ["old"])
            let answer = try await post(fixture, "old", #"{"data":{}}"#)
            #expect(answer.json?["registrationID"]?.string == "new")
            #expect(fixture.simulator.ledger.totals().told == 1)
            let typeless = try await post(fixture, "a", #"{"data":{}}"#, "x")
            #expect(typeless.json?["reason"]?.string == "InvalidType")
        }
    }
}

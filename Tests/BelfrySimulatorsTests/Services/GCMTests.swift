import Testing

@testable import BelfrySimulators

@Suite(.timeLimit(.minutes(20))) struct GCMTests {
    typealias TestSimulator = TestService<GCMService>
    private static let key = "key=AIzaSyBelfrySimulatedServerKey"

    private func post(_ fixture: TestSimulator, _ body: String, type: String = "application/json") async throws
        -> Curl.Answer
    {
        try await fixture.curl.post(
            fixture.simulator.sendURL, [("authorization", Self.key), ("content-type", type)], body)
    }

    @Test func `each multicast device has its own result, in order`() async throws {
        try await TestSimulator.with { fixture in
            fixture.simulator.script.answer([
                "gone": ScriptedAnswer("NotRegistered"), "busy": ScriptedAnswer("Unavailable"),
                "old": ScriptedAnswer("Canonical", body: "new"),
            ])
            let answer = try await post(
                fixture, #"{"registration_ids":["a","gone","old","busy"],"data":{"k":"v"},"time_to_live":60}"#)
            let json = try #require(answer.json)
            #expect(answer.status == 200)
            #expect(json["success"]?.integer == 2)
            #expect(json["failure"]?.integer == 2)
            #expect(json["canonical_ids"]?.integer == 1)
            let results = json["results"]?.array ?? []
            #expect(results.map { $0["error"]?.string } == [nil, "NotRegistered", nil, "Unavailable"])
            #expect(results.map { $0["registration_id"]?.string } == [nil, nil, "new", nil])
            let totals = fixture.simulator.ledger.totals()
            #expect(totals.told == 2)
            #expect(totals.byReason == ["NotRegistered": 1, "Unavailable": 1])
        }
    }

    @Test func `a thousand devices are taken and no more`() async throws {
        try await TestSimulator.with { fixture in
            for (count, status) in [(1000, 200), (1001, 400), (0, 400)] {
                let tokens = (0..<count).map { "\"t\($0)\"" }.joined(separator: ",")
                let answer = try await post(fixture, #"{"registration_ids":[\#(tokens)]}"#)
                #expect(answer.status == status)
            }
            #expect(fixture.simulator.ledger.totals().told == 1000)
        }
    }

    @Test(
        arguments: [
            ("{", 400, nil), ("{}", 400, nil), (#"{"to":"a","registration_ids":["b"]}"#, 400, nil),
            (#"{"to":"a","data":[]}"#, 400, nil), (#"{"to":"a","time_to_live":2419201}"#, 200, "InvalidTtl"),
            (#"{"to":"a","data":{"google.x":"y"}}"#, 200, "InvalidDataKey"),
            (#"{"to":""}"#, 200, "MissingRegistration"),
            (#"{"to":"a b"}"#, 200, "InvalidRegistration"),
            (#"{"to":"a","data":{"k":"\#(String(repeating: "x", count: 4096))"}}"#, 200, "MessageTooBig"),
        ] as [(Sample, Int, String?)])
    func `faults stand in the status or behind 200`(body: Sample, status: Int, error: String?) async throws {
        try await TestSimulator.with { fixture in
            let answer = try await post(fixture, body.text)
            #expect(answer.status == status)
            #expect(answer.json?["results"]?.array?.first?["error"]?.string == error)
            #expect(fixture.simulator.ledger.totals().told == 0)
        }
    }

    @Test func `a form is answered in plain text`() async throws {
        try await TestSimulator.with { fixture in
            fixture.simulator.script.answer(ScriptedAnswer("NotRegistered"), for: ["gone"])
            let type = "application/x-www-form-urlencoded;charset=UTF-8"
            let good = try await post(fixture, "registration_id=a&data.k=v+w", type: type)
            #expect(good.body.hasPrefix("id=0:"))
            let gone = try await post(fixture, "registration_id=gone", type: type)
            #expect(gone.body == "Error=NotRegistered")
        }
    }

    @Test func `a dry run notifies nobody; topics and wrong keys differ`() async throws {
        try await TestSimulator.with { fixture in
            let dry = try await post(fixture, #"{"to":"a","dry_run":true}"#)
            #expect(dry.json?["results"]?.array?.first?["message_id"]?.string == "fake_message_id")
            #expect(fixture.simulator.ledger.totals().told == 0)
            let topic = try await post(fixture, #"{"to":"/topics/news"}"#)
            #expect(topic.json?["message_id"]?.integer != nil)
            let wrong = try await fixture.curl.post(fixture.simulator.sendURL, [("authorization", "key=x")], "{}")
            #expect(wrong.status == 401)
        }
    }
}

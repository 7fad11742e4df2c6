import Testing

@testable import BelfrySimulators

/// The control port that all simulated providers but APNs share, and their faults over HTTP/1.1.
@Suite(.timeLimit(.minutes(20))) struct ServiceControlTests {
    typealias TestSimulator = TestService<FCMService>

    private static func controlled(_ configuration: inout FCMConfiguration) {
        configuration.believesAnyToken = true
        configuration.listening.controlPort = 0
    }

    @Test func `scripts work alike over the control port and in process`() async throws {
        try await TestSimulator.with(Self.controlled) { fixture in
            let control = "http://127.0.0.1:\(try #require(fixture.simulator.controlPort))"
            let fault = #"{"when":{"share":0.5},"times":3,"then":{"answer":{"reason":"UNREGISTERED"}}}"#
            #expect(try await fixture.curl.post("\(control)/script/faults", [], fault).status == 204)
            let hang = #"{"when":{"path":"/token"},"then":{"hang":{}}}"#
            #expect(try await fixture.curl.post("\(control)/script/faults", [], hang).status == 204)
            let verdicts = #"{"a":{"reason":"UNAVAILABLE","retryAfter":"7"}}"#
            #expect(try await fixture.curl.post("\(control)/script/verdicts", [], verdicts).status == 204)
            let expected = ServiceScript(
                faults: [
                    ServiceFault(when: .init(share: 0.5), times: 3, then: .answer(ScriptedAnswer("UNREGISTERED"))),
                    ServiceFault(when: .init(path: "/token"), then: .hang()),
                ], verdicts: ["a": ScriptedAnswer("UNAVAILABLE", retryAfter: "7")])
            #expect(fixture.simulator.script.script == expected)
            let script = try await fixture.curl.send("GET", "\(control)/script").body
            _ = try await fixture.curl.send("DELETE", "\(control)/script")
            #expect(fixture.simulator.script.script == ServiceScript())
            _ = try await fixture.curl.send("PUT", "\(control)/script", [], Array(script.utf8))
            #expect(fixture.simulator.script.script == expected)
        }
    }

    @Test(arguments: [
        (#"{"when":{"tokn":"aa"},"then":{"hang":{}}}"#, "when.tokn"),
        (#"{"when":{},"then":{"answer":{"reason":"UNREGISTRED"}}}"#, "then.answer.reason"),
        (#"{"when":{},"then":{"answer":{}}}"#, "then.answer.reason"),
        (#"{"when":{"share":2},"then":{"hang":{}}}"#, "when.share"),
        (#"{"when":{},"then":{"explode":{}}}"#, "then"),
        (#"{"when":{"topic":"app"},"then":{"hang":{}}}"#, "when.topic"),
        (#"{"when":{},"then":{"answer":{"reason":"UNAVAILABLE","timestamp":1}}}"#, "then.answer.timestamp"),
        (#"{"when":{},"then":{"loseAnswers":{"count":0}}}"#, "then.loseAnswers.count"),
    ])
    func `an unknown fault is refused by its field's name`(body: String, field: String) async throws {
        try await TestSimulator.with(Self.controlled) { fixture in
            let port = try #require(fixture.simulator.controlPort)
            let answer = try await fixture.curl.post("http://127.0.0.1:\(port)/script/faults", [], body)
            #expect(answer.status == 400)
            #expect(answer.json?["field"]?.string == field)
            #expect(fixture.simulator.script.script.faults.isEmpty)
        }
    }

    @Test func `the ledger is read by token as it is written`() async throws {
        try await TestSimulator.with(Self.controlled) { fixture in
            _ = try await FCMSendTests.post(fixture, #"{"message":{"token":"a:b"}}"#)
            let control = "http://127.0.0.1:\(try #require(fixture.simulator.controlPort))"
            let token = try await fixture.curl.send("GET", "\(control)/ledger/tokens/a%3Ab")
            #expect(token.json?["told"]?.integer == 1)
            #expect(token.json?["token"]?.string == "a:b")
            #expect(try await fixture.curl.send("GET", "\(control)/ledger").json?["accepted"]?.integer == 1)
        }
    }

    /// The exit codes of curl: 52 nothing came back, 56 the connection was reset, 28 it took too long, 18 the body is short.
    @Test(arguments: [
        (ServiceFault.Then.close(), [52, 56], 0), (.reset(), [35, 55, 56, 52], 0), (.hang(), [28], 1),
        (.stall(), [28], 1), (.silence(), [28], 1), (.loseAnswers(count: 2), [52, 56], 1),
    ])
    func `a fault over HTTP1 is seen by curl`(then: ServiceFault.Then, routes: [Int32], told: Int) async throws {
        try await TestSimulator.with(Self.controlled) { fixture in
            fixture.simulator.script.add(ServiceFault(then: then))
            let answer = try await FCMSendTests.post(
                fixture, #"{"message":{"token":"a"}}"#, "--http1.1", "--max-time", routes == [28] ? "10" : "20")
            #expect(routes.contains(answer.exit))
            #expect(fixture.simulator.ledger.totals().told == told)
        }
    }

    @Test func `a whole answer can be put into the script`() async throws {
        try await TestSimulator.with(Self.controlled) { fixture in
            let answer = ScriptedAnswer(
                status: 503, retryAfter: "Wed, 21 Oct 2026 07:28:00 GMT", headers: ["X-Odd": "1"], body: "<odd>")
            fixture.simulator.script.add(ServiceFault(when: .init(path: "/v1"), times: 1, then: .answer(answer)))
            let odd = try await FCMSendTests.post(fixture, #"{"message":{"token":"a"}}"#)
            #expect(odd.status == 503)
            #expect(odd.fields["retry-after"] == "Wed, 21 Oct 2026 07:28:00 GMT")
            #expect(odd.fields["x-odd"] == "1")
            #expect(odd.body == "<odd>")
            #expect(fixture.simulator.ledger.totals().told == 0)
            #expect(try await FCMSendTests.post(fixture, #"{"message":{"token":"a"}}"#).status == 200)
        }
    }

    @Test func `a refused handshake and a closed port keep senders out`() async throws {
        let port = try BelfrySimulatorsTests.TestSimulator.ownPort()
        try await TestSimulator.with({
            Self.controlled(&$0)
            $0.listening.port = port
        }) { fixture in
            fixture.simulator.script.add(ServiceFault(times: 1, then: .refuseHandshake(alert: nil)))
            let body = #"{"message":{"token":"a"}}"#
            #expect(try await FCMSendTests.post(fixture, body).exit == 35)
            #expect(try await FCMSendTests.post(fixture, body).exit == 0)
            try await fixture.simulator.stopListening()
            let refused = try await FCMSendTests.post(fixture, body)
            #expect(refused.exit != 0)
            #expect(refused.status == 0)
            try await fixture.simulator.resumeListening()
            #expect(try await FCMSendTests.post(fixture, body).exit == 0)
        }
    }
}

import Testing

@testable import BelfrySimulators

@Suite(.timeLimit(.minutes(20))) struct PAPTests {
    typealias TestSimulator = TestService<PAPService>

    private func body(
        id: String = "p1", addresses: [String] = ["PIN1"], method: String = "unconfirmed", content: String = "hello"
    ) -> String {
        let list = addresses.map { #"<address address-value="\#($0)"/>"# }.joined()
        return [
            "--X", "Content-Type: application/xml; charset=UTF-8", "",
            """
            <?xml version="1.0"?><!DOCTYPE pap PUBLIC "-//WAPFORUM//DTD PAP 2.1//EN" \
            "http://www.openmobilealliance.org/tech/DTD/pap_2.1.dtd"><pap><push-message push-id="\(id)" \
            source-reference="1234-ABCDEFbelfry" deliver-before-timestamp="2026-01-01T00:00:00Z">\(list)\
            <quality-of-service delivery-method="\(method)"/></push-message></pap>
            """, "--X", "Content-Type: text/plain", "Push-Message-ID: \(id)", "", content, "--X--", "",
        ].joined(separator: "\r\n")
    }

    private func post(_ fixture: TestSimulator, _ body: String, password: String = "p4ssw0rd") async throws
        -> Curl.Answer
    {
        try await fixture.curl.post(
            fixture.simulator.sendURL,
            [("content-type", "multipart/related; boundary=\"X\"; type=application/xml")], body, "--user",
            "1234-ABCDEFbelfry:\(password)")
    }

    private func code(_ answer: Curl.Answer) -> String? {
        let response = XML(answer.body)?.child("push-response")?.child("response-result")
        return (response ?? XML(answer.body)?.child("badmessage-response"))?.attributes["code"]
    }

    @Test func `a PAP push reaches each address and uses its id`() async throws {
        try await TestSimulator.with { fixture in
            let first = try await post(fixture, body(addresses: ["PIN1", "PIN2"]))
            #expect(first.status == 200)
            #expect(code(first) == "1001")
            #expect(fixture.simulator.ledger.totals().told == 2)
            #expect(fixture.simulator.ledger.token(Array("PIN2".utf8))?.lastRequest?.payload == "hello")
            let second = try await post(fixture, body())
            #expect(code(second) == "2007")
            #expect(fixture.simulator.ledger.totals().told == 2)
        }
    }

    @Test(arguments: ["2002", "4502", "2500", "3000", "4500", "22005"])
    func `a scripted address has its code behind a 200`(reason: String) async throws {
        try await TestSimulator.with { fixture in
            fixture.simulator.script.answer(ScriptedAnswer(reason), for: ["PIN1"])
            let answer = try await post(fixture, body(id: "a&amp;b"))
            #expect(answer.status == 200)
            #expect(code(answer) == reason)
            #expect(XML(answer.body)?.child("push-response")?.attributes["push-id"] == "a&b")
            #expect(fixture.simulator.ledger.totals().byReason == [reason: 1])
        }
    }

    @Test func `over the quota the push is told all the same`() async throws {
        try await TestSimulator.with { fixture in
            fixture.simulator.script.answer(ScriptedAnswer("1500"), for: ["PIN1"])
            let answer = try await post(fixture, body())
            #expect(code(answer) == "1500")
            #expect(fixture.simulator.ledger.totals().told == 1)
        }
    }

    @Test func `malformed PAP is a bad message; wrong passwords are refused`() async throws {
        try await TestSimulator.with { fixture in
            for bad in ["nothing", body(addresses: []), body(method: "fast"), body(id: "")] {
                let answer = try await post(fixture, bad)
                #expect(code(answer) == "2000")
            }
            let large = try await post(fixture, body(content: String(repeating: "x", count: 8193)))
            #expect(code(large) == "2000")
            let wrong = try await post(fixture, body(), password: "x")
            #expect(wrong.status == 401)
        }
    }
}

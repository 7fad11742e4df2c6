import Foundation
import Testing

@testable import BelfrySimulators

@Suite(.timeLimit(.minutes(20))) struct HMSTests {
    typealias TestSimulator = TestService<HMSService>
    private static let form =
        "grant_type=client_credentials&client_id=100000001&client_secret=hms%2Bsecret%2F0123%3D"
    private static let now = BelfrySimulatorsTests.TestSimulator.now

    private func post(_ fixture: TestSimulator, _ body: String, version: String = "v1") async throws -> Curl.Answer {
        let token = try await fixture.token(at: "/oauth2/v3/token", Self.form)
        return try await fixture.curl.post(
            fixture.simulator.sendURL(version),
            [("authorization", "Bearer \(token)"), ("content-type", "application/json")], body)
    }

    private func code(_ answer: Curl.Answer) -> String? { answer.json?["code"]?.string }

    @Test(arguments: ["v1", "v2"])
    func `a message for several tokens is taken`(version: String) async throws {
        try await TestSimulator.with { fixture in
            let body = #"{"message":{"data":"{}","android":{"collapse_key":-1,"ttl":"86400s"},"token":["a","b"]}}"#
            let answer = try await post(fixture, body, version: version)
            #expect(answer.status == 200)
            #expect(code(answer) == "80000000")
            #expect(fixture.simulator.ledger.totals().told == 2)
            #expect(fixture.simulator.ledger.token([0x61])?.lastRequest?.payload == body)
        }
    }

    @Test func `illegal tokens are listed behind 200, others notified`() async throws {
        try await TestSimulator.with { fixture in
            fixture.simulator.script.answer(ScriptedAnswer("illegal"), for: ["x", "y"])
            let part = try await post(fixture, #"{"message":{"data":"{}","token":["a","x","b"]}}"#)
            #expect(part.status == 200)
            #expect(code(part) == "80100000")
            let message = JSON(Array((part.json?["msg"]?.string ?? "").utf8))
            #expect(message?["success"]?.integer == 2)
            #expect(message?["illegal_tokens"]?.strings == ["x"])
            let all = try await post(fixture, #"{"message":{"data":"{}","token":["x","y"]}}"#)
            #expect(all.status == 200)
            #expect(code(all) == "80300007")
            let totals = fixture.simulator.ledger.totals()
            #expect(totals.told == 2)
            #expect(totals.byReason == ["illegal": 3])
        }
    }

    @Test(
        arguments: [
            ("[", "80100018"), ("{}", "80100003"), (#"{"message":{"data":{},"token":["a"]}}"#, "80100001"),
            (#"{"message":{"android":{"collapse_key":101},"token":["a"]}}"#, "80100013"),
            (#"{"message":{"android":{"notification":{"title":"t","body":"b"}},"token":["a"]}}"#, "80100001"),
            (
                #"{"message":{"android":{"notification":{"title":"t","click_action":{"type":3}}},"token":["a"]}}"#,
                "80100001"
            ),
            (
                #"{"message":{"android":{"notification":{"title":"t","body":"b","click_action":{"type":2}}},"token":["a"]}}"#,
                "80100001"
            ),
            (#"{"message":{"android":{"ttl":"0s"},"token":["a"]}}"#, "80100004"),
            (#"{"message":{"data":"{}","token":[]}}"#, "80300010"),
            (#"{"message":{"data":"\#(String(repeating: "x", count: 4097))","token":["a"]}}"#, "80300008"),
        ] as [(Sample, String)])
    func `a bad message is refused by its code`(body: Sample, expected: String) async throws {
        try await TestSimulator.with { fixture in
            let answer = try await post(fixture, body.text)
            #expect(code(answer) == expected)
            #expect(fixture.simulator.ledger.totals().told == 0)
        }
    }

    @Test(arguments: [("80200001", 401), ("80300002", 200), ("80100017", 200), ("81000001", 500), ("FlowControl", 503)])
    func `a scripted code is the answer for all`(reason: String, status: Int) async throws {
        try await TestSimulator.with { fixture in
            fixture.simulator.script.answer(ScriptedAnswer(reason), for: ["b"])
            let answer = try await post(fixture, #"{"message":{"data":"{}","token":["a","b"]}}"#)
            #expect(answer.status == status)
            #expect(fixture.simulator.ledger.totals().told == 0)
            #expect(fixture.simulator.ledger.totals().byReason == [reason: 2])
        }
    }

    @Test func `an old token is told from a strange one`() async throws {
        try await TestSimulator.with { fixture in
            let token = try await fixture.token(at: "/oauth2/v3/token", Self.form)
            fixture.clock.move(by: 3600)
            for (token, expected) in [(token, "80200003"), ("x", "80200001")] {
                let answer = try await fixture.curl.post(
                    fixture.simulator.sendURL(), [("authorization", "Bearer \(token)")], "{}")
                #expect(code(answer) == expected)
            }
        }
    }

    /// Signed by `openssl` with PSS.
    @Test func `the newest API takes a signed token and its message`() async throws {
        try await TestSimulator.with { fixture in
            let account = fixture.simulator.service.account
            let claims =
                #"{"iss":"\#(account.email)","aud":"https://oauth-login.cloud.huawei.com/oauth2/v3/token","#
                + #""iat":\#(Self.now),"exp":\#(Self.now + 3600)}"#
            let jwt = try await OpenSSL.jwt(
                header: #"{"kid":"\#(account.keyID)","typ":"JWT","alg":"PS256"}"#, claims: claims,
                keyPEM: account.privateKeyPEM, isPSS: true)
            func body(_ more: String) -> String {
                #"{"payload":{"notification":{"title":"t","body":"b"\#(more)}},"target":{"token":["a"]}}"#
            }
            let whole = #","category":"IM","clickAction":{"actionType":0}"#
            for (type, body, expected) in [
                ("0", body(whole), "80000000"), ("99", body(whole), "80100001"), ("0", body(""), "80100001"),
                ("0", body(whole + #","image":"http://a.example/p""#), "80100001"),
                ("0", body(whole + #","badge":{"addNum":"many"}"#), "80100001"),
                ("0", body(whole + #","badge":{"addNum":99,"setNum":0}"#), "80000000"),
                ("0", body(whole + #","badge":{"addNum":100}"#), "80100003"),
                ("0", body(whole + #","badge":{"setNum":100}"#), "80100003"),
            ] {
                let answer = try await fixture.curl.post(
                    fixture.simulator.sendURL("v3"), [("authorization", "Bearer \(jwt)"), ("push-type", type)], body)
                #expect(code(answer) == expected)
            }
            let wrong = try await post(fixture, body(whole), version: "v3")
            #expect(code(wrong) == "80200001")
            fixture.clock.move(by: 3600)
            let late = try await fixture.curl.post(
                fixture.simulator.sendURL("v3"), [("authorization", "Bearer \(jwt)"), ("push-type", "0")], body(whole))
            #expect(code(late) == "80200005")
        }
    }
}

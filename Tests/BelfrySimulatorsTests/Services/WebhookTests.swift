import Foundation
import Testing

@testable import BelfrySimulators

@Suite(.timeLimit(.minutes(20))) struct WebhookTests {
    typealias TestSimulator = TestService<WebhookService>
    private static let now = BelfrySimulatorsTests.TestSimulator.now
    private static let body = #"{"devices":["a",{"token":"b"}],"message":"hello"}"#

    /// HMAC-SHA256 by the `openssl` command, in hex.
    private func sign(_ text: String) async throws -> String {
        let output = try await Tool.withFile(text) { file in
            try await Tool.run(
                "/usr/bin/openssl", ["dgst", "-sha256", "-r", "-hmac", "belfry simulated webhook secret", file])
        }.output
        return String(output.prefix { $0 != " " })
    }

    private func fields(id: String = "m1", at time: Int64 = now, signed: String? = nil) async throws -> [(
        String, String
    )] {
        let hex = try await sign("\(id).\(time).\(signed ?? Self.body)")
        let code = Data(Hex.decode(hex) ?? []).base64EncodedString()
        return [
            ("content-type", "application/json"), ("webhook-id", id), ("webhook-timestamp", "\(time)"),
            ("webhook-signature", "v1,\(code)"),
        ]
    }

    @Test func `a signed batch is taken and all its devices notified`() async throws {
        try await TestSimulator.with { fixture in
            let answer = try await fixture.curl.post("\(fixture.simulator.url)/hook", try await fields(), Self.body)
            #expect(answer.status == 204)
            #expect(fixture.simulator.ledger.totals().told == 2)
            #expect(fixture.simulator.ledger.token([0x62])?.lastRequest?.payload == Self.body)
        }
    }

    @Test func `a wrong, outdated or missing signature is refused`() async throws {
        try await TestSimulator.with { fixture in
            let url = "\(fixture.simulator.url)/hook"
            let other = try await fixture.curl.post(url, try await fields(signed: "{}"), Self.body)
            #expect(other.json?["error"]?.string == "BadSignature")
            let late = try await fixture.curl.post(url, try await fields(at: Self.now - 301), Self.body)
            #expect(late.json?["error"]?.string == "StaleSignature")
            let none = try await fixture.curl.post(url, [("content-type", "application/json")], Self.body)
            #expect(none.json?["error"]?.string == "MissingSignature")
            #expect(fixture.simulator.ledger.totals().told == 0)
        }
    }

    @Test func `a hex signature may be in any field`() async throws {
        try await TestSimulator.with({
            $0.signature = .hex(field: "X-Signature", prefix: "sha256=", timestampField: "X-Time")
        }) { fixture in
            let hex = try await sign("\(Self.now).\(Self.body)")
            for (signature, status) in [("sha256=\(hex)", 204), (hex, 401)] {
                let answer = try await fixture.curl.post(
                    fixture.simulator.url,
                    [("content-type", "application/json"), ("x-signature", signature), ("x-time", "\(Self.now)")],
                    Self.body)
                #expect(answer.status == status)
            }
        }
    }

    @Test(arguments: [("Gone", 410), ("TooMany", 429), ("InternalServerError", 500)])
    func `a scripted device decides for its batch`(reason: String, status: Int) async throws {
        try await TestSimulator.with { fixture in
            fixture.simulator.script.answer(ScriptedAnswer(reason, retryAfter: "3"), for: ["b"])
            let answer = try await fixture.curl.post("\(fixture.simulator.url)/hook", try await fields(), Self.body)
            #expect(answer.status == status)
            #expect(answer.fields["retry-after"] == "3")
            #expect(fixture.simulator.ledger.totals().byReason == [reason: 2])
        }
    }
}

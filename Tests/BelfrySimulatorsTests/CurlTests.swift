import Testing

@testable import BelfrySimulators

/// The simulator as curl sees it: another TLS, another HTTP/2, another HTTP/1.1.
@Suite(.timeLimit(.minutes(20))) struct CurlTests {
    private func curl(_ arguments: String...) async throws -> (status: Int32, output: String) {
        try await Tool.run("/usr/bin/curl", ["--silent", "--max-time", "20"] + arguments)
    }

    @Test func `curl pushes over HTTP/2 and reads the ledger`() async throws {
        try await TestSimulator.with({
            $0.listening.controlPort = 0
            $0.listening.ledgerDetail = .payloads
        }) { fixture in
            let jwt = try fixture.key.providerToken(issuedAt: TestSimulator.now)
            let (status, output) = try await Tool.withFile(fixture.simulator.trustRootPEM) { trust in
                try await curl(
                    "--http2", "--cacert", trust, "--include", "--header", "authorization: bearer \(jwt)",
                    "--header", "apns-topic: com.example.app", "--header", "apns-push-type: alert",
                    "--data", #"{"aps":{"alert":"x"}}"#,
                    "https://127.0.0.1:\(fixture.simulator.port)/3/device/\(TestSimulator.token(7))")
            }
            #expect(status == 0)
            #expect(output.hasPrefix("HTTP/2 200"))
            let control = "http://127.0.0.1:\(try #require(fixture.simulator.controlPort))"
            #expect(try await curl("\(control)/health").output == #"{"status":"ok"}"#)
            let token = try await curl("\(control)/ledger/tokens/\(TestSimulator.token(7))").output
            #expect(token.contains(#""told":1"#))
            #expect(token.contains(#""payload":"{\"aps\":{\"alert\":\"x\"}}""#))
            #expect(!token.contains(jwt))
            _ = try await curl("--request", "DELETE", "\(control)/ledger")
            #expect(try await curl("\(control)/ledger/tokens").output == "[]")
        }
    }

    @Test func `scripts work alike over the control port and in process`() async throws {
        try await TestSimulator.with({ $0.listening.controlPort = 0 }) { fixture in
            let control = "http://127.0.0.1:\(try #require(fixture.simulator.controlPort))"
            let fault = """
                {"when":{"request":10},"times":1,"then":{"goAway":{"lastStream":"half","reason":"Shutdown"}}}
                """
            _ = try await curl("--data", fault, "\(control)/script/faults")
            let expected = ServiceFault(
                when: .init(request: 10), times: 1, then: .goAway(.init(reason: "Shutdown", lastStream: .half)))
            #expect(fixture.simulator.script.script.faults == [expected])
            let script = try await curl("\(control)/script").output
            _ = try await curl("--request", "DELETE", "\(control)/script")
            #expect(fixture.simulator.script.script == ServiceScript())
            _ = try await curl("--request", "PUT", "--data", script, "\(control)/script")
            #expect(fixture.simulator.script.script.faults == [expected])
        }
    }

    @Test(arguments: [
        (#"{"when":{"tokn":"aa"},"then":{"stall":{}}}"#, "when.tokn"),
        (#"{"when":{},"then":{"answer":{"reason":"X"}}}"#, "then.answer.reason"),
        (#"{"when":{"share":2},"then":{"stall":{}}}"#, "when.share"),
        (#"{"then":{"stall":{}}}"#, "when"),
        (#"{"when":{},"then":{"goAway":{"lastStream":"hlf"}}}"#, "then.goAway.lastStream"),
    ])
    func `an unknown fault is refused by its field's name`(body: String, field: String) async throws {
        try await TestSimulator.with({ $0.listening.controlPort = 0 }) { fixture in
            let port = try #require(fixture.simulator.controlPort)
            let answer = try await curl(
                "--write-out", " %{http_code}", "--data", body, "http://127.0.0.1:\(port)/script/faults")
            #expect(answer.output.contains(#""field":"\#(field)""#))
            #expect(answer.output.hasSuffix(" 400"))
            #expect(fixture.simulator.script.script.faults.isEmpty)
        }
    }
}

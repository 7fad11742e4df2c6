import Testing

@testable import BelfrySimulators

@Suite(.timeLimit(.minutes(20))) struct WNSTests {
    typealias TestSimulator = TestService<WNSService>

    private static let form =
        "grant_type=client_credentials&client_id=ms-app%3A%2F%2Fs-1-15-2-1000-2000-3000&client_secret=V%2Fex%2B2uNs3cr3t%3D"
        + "&scope=notify.windows.com"
    private static let toast =
        #"<toast launch="x"><visual><binding template="ToastGeneric"><text>t</text></binding></visual></toast>"#

    private func fields(_ token: String, _ changes: [String: String?] = [:]) -> [(String, String)] {
        var fields: [String: String?] = [
            "authorization": "Bearer \(token)", "x-wns-type": "wns/toast", "content-type": "text/xml",
        ]
        fields.merge(changes) { $1 }
        return fields.compactMap { name, value in value.map { (name, $0) } }.sorted { $0.0 < $1.0 }
    }

    private func post(
        _ fixture: TestSimulator, _ channel: String = "c1", _ changes: [String: String?] = [:], _ body: String = toast
    ) async throws -> Curl.Answer {
        let token = try await fixture.token(at: "/accesstoken.srf", Self.form)
        return try await fixture.curl.post(fixture.simulator.channel(channel), fields(token, changes), body)
    }

    @Test func `a token of either endpoint lets a toast through`() async throws {
        try await TestSimulator.with { fixture in
            let entra = fixture.simulator.service.configuration.entra
            let form =
                "grant_type=client_credentials&client_id=\(entra.clientID)&client_secret=Entra~S3cr3t.%2B%2F%3D"
                + "&scope=https%3A%2F%2Fwns.windows.com%2F.default"
            let path = "/\(fixture.simulator.service.configuration.tenantID)/oauth2/v2.0/token"
            for token in [
                try await fixture.token(at: "/accesstoken.srf", Self.form), try await fixture.token(at: path, form),
            ] {
                let fields = fields(token, ["x-wns-requestforstatus": "true"])
                let answer = try await fixture.curl.post(fixture.simulator.channel("c1"), fields, Self.toast)
                #expect(answer.status == 200)
                #expect(answer.fields["x-wns-status"] == "received")
                #expect(answer.fields["x-wns-deviceconnectionstatus"] == "connected")
            }
            let told = try #require(fixture.simulator.ledger.token(Array("c1".utf8)))
            #expect(told.told == 2)
            #expect(told.lastRequest?.payload == Self.toast)
        }
    }

    @Test(arguments: ["scope=x", "client_secret=x", "client_id=x", "grant_type=x"])
    func `a wrong credential buys no token`(change: String) async throws {
        try await TestSimulator.with { fixture in
            let token = try await fixture.token(at: "/accesstoken.srf", "\(Self.form)&\(change)")
            #expect(token.isEmpty)
        }
    }

    @Test(
        arguments: [
            (["authorization": "Bearer x"], 401), (["x-wns-type": nil], 400), (["x-wns-type": "wns/raw"], 400),
            (["content-type": "application/json"], 400), (["x-wns-cache-policy": "maybe"], 400),
            (["x-wns-ttl": "-1"], 400),
            (["x-wns-tag": "seventeen_letters"], 400), (["x-wns-priority": "5"], 400),
            (["transfer-encoding": "chunked"], 411),
            (["x-wns-cache-policy": "no-cache", "x-wns-tag": "abc", "x-wns-ttl": "60", "x-wns-priority": "1"], 200),
        ] as [([String: String?], Int)])
    func `headers are checked`(changes: [String: String?], status: Int) async throws {
        try await TestSimulator.with { fixture in
            let answer = try await post(fixture, "c1", changes)
            #expect(answer.status == status)
            #expect((answer.fields["x-wns-error-description"] != nil) == (status != 200))
        }
    }

    @Test func `5000 bytes are taken and no more`() async throws {
        try await TestSimulator.with { fixture in
            let raw = ["x-wns-type": "wns/raw", "content-type": "application/octet-stream"]
            for (bytes, status) in [(5000, 200), (5001, 413)] {
                let answer = try await post(fixture, "c1", raw, String(repeating: "x", count: bytes))
                #expect(answer.status == status)
            }
        }
    }

    @Test(arguments: [
        "<toast>", "<tile/>", "<toast/>", "nothing",
        #"<toast><visual><binding template="ToastText01"><text>t</text></binding></visual></toast>"#,
        #"<toast><visual><binding><text id="1">t</text></binding></visual></toast>"#,
        #"<toast><visual><binding template="ToastText01"><text id="1">t</text></binding></visual><audio src="https://a.example/a.wav"/></toast>"#,
    ])
    func `an unreadable toast is received and shown nowhere`(body: String) async throws {
        try await TestSimulator.with { fixture in
            let answer = try await post(fixture, "c1", [:], body)
            #expect(answer.status == 200)
            #expect(answer.fields["x-wns-status"] == "received")
            #expect(fixture.simulator.ledger.totals().told == 0)
            #expect(fixture.simulator.ledger.totals().byReason == ["InvalidXML": 1])
        }
    }

    @Test(arguments: [
        ("dropped", 200, "dropped"), ("channelthrottled", 200, "channelthrottled"), ("Gone", 410, "dropped"),
        ("NotFound", 404, "dropped"), ("Forbidden", 403, "dropped"), ("Throttled", 406, "channelthrottled"),
        ("DomainBlocked", 410, "dropped"), ("Unreachable", 412, "dropped"), ("QuotaExceeded", 429, "dropped"),
        ("InternalServerError", 500, "dropped"), ("ServiceUnavailable", 503, "dropped"),
    ])
    func `a scripted channel is answered in WNS's headers`(reason: String, status: Int, word: String) async throws {
        try await TestSimulator.with { fixture in
            fixture.simulator.script.answer(ScriptedAnswer(reason, retryAfter: "60"), for: ["bad"])
            let answer = try await post(fixture, "bad")
            #expect(answer.status == status)
            #expect(answer.fields["x-wns-status"] == word)
            #expect(answer.fields["retry-after"] == "60")
            #expect(fixture.simulator.ledger.totals().byReason == [reason: 1])
        }
    }

    @Test func `tokens that were taken back are refused`() async throws {
        try await TestSimulator.with { fixture in
            let token = try await fixture.token(at: "/accesstoken.srf", Self.form)
            fixture.simulator.service.accessTokens.expireAll()
            let answer = try await fixture.curl.post(fixture.simulator.channel("c1"), fields(token), Self.toast)
            #expect(answer.status == 401)
        }
    }
}

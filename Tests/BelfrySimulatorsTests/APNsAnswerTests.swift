import Testing

@testable import BelfrySimulators

@Suite(.timeLimit(.minutes(20))) struct APNsAnswerTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var status: Int
        var reason: String?
        var changes: [String: String?]
        var payload: String
        var testDescription: String { "\(status) \(reason ?? "")" }

        init(
            _ status: Int, _ reason: String? = nil, _ changes: [String: String?] = [:],
            payload: String = #"{"aps":{"alert":"x"}}"#
        ) {
            self.status = status
            self.reason = reason
            self.changes = changes
            self.payload = payload
        }
    }

    static let token = TestSimulator.token(1)

    static let rows: [Row] = [
        Row(200),
        Row(200, nil, ["apns-id": "0190f0a0-1111-7000-8000-000000000000", "apns-expiration": "0"]),
        Row(400, "BadMessageId", ["apns-id": "0190f0a0-1111-7000-8000-00000000000"]),
        Row(405, "MethodNotAllowed", [":method": "PUT"]),
        Row(400, "MissingTopic", ["apns-topic": nil]),
        Row(200, nil, ["apns-collapse-id": String(repeating: "c", count: 64)]),
        Row(400, "BadCollapseId", ["apns-collapse-id": String(repeating: "é", count: 33)]),
        Row(400, "BadPriority", ["apns-priority": "7"]),
        Row(400, "BadPriority", ["apns-priority": "10", "apns-push-type": "background"]),
        Row(200, nil, ["apns-priority": "5", "apns-push-type": "background"]),
        Row(400, "InvalidPushType", ["apns-push-type": "alarm"]),
        Row(400, "BadTopic", ["apns-push-type": "voip"]),
        Row(200, nil, ["apns-push-type": "voip", "apns-topic": "com.example.app.voip"]),
        Row(400, "BadExpirationDate", ["apns-expiration": "tomorrow"]),
        Row(400, "MissingDeviceToken", [":path": "/3/device/"]),
        Row(404, "BadPath", [":path": "/4/device/\(token)"]),
        Row(400, "BadDeviceToken", [":path": "/3/device/\(token.dropLast())"]),
        Row(400, "BadDeviceToken", [":path": "/3/device/\(token.dropLast(2))"]),
        Row(400, "BadDeviceToken", [":path": "/3/device/\(token.dropLast())g"]),
        Row(403, "MissingProviderToken", ["authorization": nil]),
        Row(403, "MissingProviderToken", ["authorization": "basic abc"]),
        Row(403, "InvalidProviderToken", ["authorization": "bearer abc"]),
        Row(400, "TopicDisallowed", ["apns-topic": "com.example.stranger"]),
        Row(400, "PayloadEmpty", payload: ""),
        Row(400, "BadRequestPayload", payload: "[]"),
        Row(400, "BadRequestPayload", payload: #"{"aps":"#),
        Row(413, "PayloadTooLarge", payload: "{" + String(repeating: " ", count: 4095) + "}"),
        Row(
            413, "PayloadTooLarge", ["apns-push-type": "voip", "apns-topic": "com.example.app.voip"],
            payload: "{" + String(repeating: " ", count: 5119) + "}"),
    ]

    @Test(arguments: rows)
    func `each flaw is answered on the wire as APNs does`(row: Row) async throws {
        try await TestSimulator.with({
            $0.parsesPayloads = true
            $0.topics = ["com.example.app"]
        }) { fixture in
            let client = try await fixture.connect()
            try await client.send([(try fixture.fields(row.changes), row.payload)])
            let events = await client.events(until: .end(of: 1))
            #expect(events.statuses[1] == "\(row.status)")
            #expect(events.bodies[1] == row.reason.map { #"{"reason":"\#($0)"}"# })
            let totals = fixture.simulator.ledger.totals()
            #expect(totals.told == (row.status == 200 ? 1 : 0))
            #expect(totals.byReason == (row.reason.map { [$0: 1] } ?? [:]))
            try await client.close()
        }
    }

    @Test func `apns-id is echoed or invented, and the sandbox adds one`() async throws {
        try await TestSimulator.with({ $0.isSandbox = true }) { fixture in
            let client = try await fixture.connect()
            let id = "0190f0a0-1111-7000-8000-000000000000"
            try await client.send([
                (try fixture.fields(["apns-id": id]), "{}"), (try fixture.fields(), "{}"),
            ])
            let events = await client.events(until: .end(of: 3))
            let answers = events.compactMap { event -> [String: String]? in
                if case .answer(_, let fields) = event { fields } else { nil }
            }
            #expect(answers.first?["apns-id"] == id)
            let invented = try #require(answers.last?["apns-id"])
            #expect(invented != id)
            #expect(invented.split(separator: "-").map(\.count) == [8, 4, 4, 4, 12])
            #expect(answers.allSatisfy { $0["apns-unique-id"] != nil })
            try await client.close()
        }
    }

    @Test func `a repeated header is refused`() async throws {
        try await TestSimulator.with { fixture in
            let client = try await fixture.connect()
            try await client.send([(try fixture.fields() + [("apns-topic", "com.example.app")], "{}")])
            let events = await client.events(until: .end(of: 1))
            #expect(events.bodies[1] == #"{"reason":"DuplicateHeaders"}"#)
            try await client.close()
        }
    }

    @Test func `a provider token grows old on its connection`() async throws {
        try await TestSimulator.with { fixture in
            let client = try await fixture.connect()
            try await client.send([(try fixture.fields(), "{}")])
            #expect(await client.events(until: .end(of: 1)).statuses[1] == "200")
            fixture.clock.move(by: 3601)
            try await client.send([(try fixture.fields(), "{}")])
            #expect(await client.events(until: .end(of: 3)).bodies[3] == #"{"reason":"ExpiredProviderToken"}"#)
            try await client.close()
        }
    }

    @Test func `one stream is allowed until a token was accepted`() async throws {
        try await TestSimulator.with({ $0.startsWithOneStream = true }) { fixture in
            let client = try await fixture.connect()
            #expect(await client.events(until: .event(.settings(maxStreams: 1))).last == .settings(maxStreams: 1))
            try await client.send([(try fixture.fields(["authorization": "bearer x"]), "{}")])
            let refused = await client.events(until: .end(of: 1))
            #expect(!refused.contains(.settings(maxStreams: 1000)))
            try await client.send([(try fixture.fields(), "{}")])
            let accepted = await client.events(until: .end(of: 3))
            #expect(accepted.statuses[3] == "200")
            #expect(accepted.contains(.settings(maxStreams: 1000)))
            try await client.close()
        }
    }

    @Test func `a certificate's topic is default and all streams open`() async throws {
        let authority = try CertificateAuthority()
        try await TestSimulator.with({
            $0.listening.authority = authority
            $0.authentication = .certificates(trustRootPEM: nil)
            $0.startsWithOneStream = true
            $0.topics = ["com.example.app"]
        }) { fixture in
            let client = try await fixture.connect(as: try authority.issueClient(topic: "com.example.app"))
            #expect(await client.events(until: .settings).last == .settings(maxStreams: 1000))
            try await client.send([(try fixture.fields(["apns-topic": nil, "authorization": nil]), "{}")])
            #expect(await client.events(until: .end(of: 1)).statuses[1] == "200")
            try await client.close()
        }
    }

    @Test func `a certificate of another authority does not pass the handshake`() async throws {
        let stranger = try CertificateAuthority().issueClient(topic: "com.example.app")
        try await TestSimulator.with({ $0.authentication = .certificates(trustRootPEM: nil) }) { fixture in
            let client = try await fixture.connect(as: stranger)
            #expect(await client.events(until: .settings) == [.closed])
        }
        try await TestSimulator.with({ $0.authentication = .anyCertificate }) { fixture in
            let client = try await fixture.connect(as: stranger)
            #expect(await client.events(until: .settings).last == .settings(maxStreams: 1000))
            try await client.close()
        }
    }
}

import Testing

@testable import BelfrySimulators

@Suite(.timeLimit(.minutes(20))) struct APNsFaultTests {
    /// Sends so many requests in one burst under one fault, and collects what comes until the wanted event.
    private func burst(
        of count: Int, _ faults: [ServiceFault], latency: Int = 0, until mark: WireClient.Mark,
        then check: (TestSimulator, WireClient, [WireClient.Event]) async throws -> Void
    ) async throws {
        try await TestSimulator.with { fixture in
            fixture.simulator.script.set(ServiceScript(faults: faults, latencyMilliseconds: latency))
            let client = try await fixture.connect()
            try await client.send(try fixture.requests(1...count))
            let events = await client.events(until: mark)
            try await check(fixture, client, events)
            try await client.close()
        }
    }

    @Test func `a token has the answer it was given`() async throws {
        try await TestSimulator.with { fixture in
            let verdict = ScriptedAnswer(.unregistered, timestamp: 1_700_000_000_123)
            fixture.simulator.script.answer(verdict, for: [TestSimulator.token(2)])
            let client = try await fixture.connect()
            try await client.send(try fixture.requests(1...3))
            let events = await client.events(until: .ends(3))
            #expect(events.statuses == [1: "200", 3: "410", 5: "200"])
            #expect(events.bodies == [3: #"{"reason":"Unregistered","timestamp":1700000000123}"#])
            try await client.close()
        }
    }

    @Test func `a burst of scripted answers ends in success`() async throws {
        let fault = ServiceFault(times: 2, then: .answer(ScriptedAnswer("ServiceUnavailable", status: 503)))
        try await burst(of: 3, [fault], until: .end(of: 5)) { fixture, _, events in
            #expect(events.statuses[5] == "200")
            #expect(fixture.simulator.ledger.totals().byReason == ["ServiceUnavailable": 2])
            #expect(fixture.simulator.script.timesHappened == [2])
        }
    }

    @Test func `a sticky answer stays with its connection`() async throws {
        let fault = ServiceFault(
            when: .init(request: 2), times: 1,
            then: .answer(ScriptedAnswer("ExpiredProviderToken", status: 403, sticky: true)))
        try await burst(of: 4, [fault], until: .end(of: 7)) { fixture, _, events in
            #expect(fixture.simulator.ledger.totals().byStatus == ["200": 1, "403": 3])
            let other = try await fixture.connect()
            try await other.send(try fixture.requests(9...9))
            #expect(await other.events(until: .end(of: 1)).statuses[1] == "200")
            try await other.close()
        }
    }

    @Test func `delayed answers all come`() async throws {
        try await burst(of: 200, [], latency: 3, until: .ends(200)) { fixture, _, events in
            #expect(events.statuses.count == 200)
            #expect(fixture.simulator.ledger.totals().accepted == 200)
        }
    }

    @Test func `a reset stream was not notified unless scripted`() async throws {
        let faults = [
            ServiceFault(when: .init(request: 1), then: .reset(code: 7)),
            ServiceFault(when: .init(request: 2), then: .reset(code: 2, told: true)),
        ]
        try await burst(of: 2, faults, until: .end(of: 3)) { fixture, _, events in
            #expect(events.contains(.streamClosed(stream: 1, code: 7)))
            #expect(events.contains(.streamClosed(stream: 3, code: 2)))
            let ledger = fixture.simulator.ledger
            #expect(ledger.tokens().map(\.token) == [TestSimulator.token(2)])
            #expect(ledger.totals().accepted == 0)
        }
    }

    @Test func `GOAWAY splits the waiting streams and drops the later`() async throws {
        let fault = ServiceFault(
            when: .init(request: 10), times: 1, then: .goAway(.init(reason: "Shutdown", lastStream: .half)))
        try await burst(of: 20, [fault], latency: 20, until: .event(.closed)) { fixture, _, events in
            #expect(events.contains(.goAway(lastStream: 19, code: 0, data: #"{"reason":"Shutdown"}"#)))
            #expect(events.statuses.keys.sorted() == Array(stride(from: 1, through: 19, by: 2)))
            let totals = fixture.simulator.ledger.totals()
            #expect((totals.told, totals.accepted, totals.connections.goAwaysSent) == (10, 10, 1))
        }
    }

    @Test func `GOAWAY takes back what it names as not processed`() async throws {
        let fault = ServiceFault(when: .init(request: 10), times: 1, then: .goAway(.init(lastStream: .exactly(5))))
        try await burst(of: 20, [fault], latency: 20, until: .event(.closed)) { fixture, _, events in
            #expect(events.statuses.keys.sorted() == [1, 3, 5])
            #expect((fixture.simulator.ledger.totals().told, fixture.simulator.ledger.totals().accepted) == (3, 3))
        }
    }

    @Test func `a graceful GOAWAY comes in two`() async throws {
        let fault = ServiceFault(when: .init(request: 3), then: .goAway(.init(lastStream: .all, noticeFirst: true)))
        try await burst(of: 3, [fault], until: .event(.closed)) { _, _, events in
            let last = events.compactMap { event -> Int32? in
                if case .goAway(let last, _, _) = event { last } else { nil }
            }
            #expect(last == [Int32.max, 5])
            #expect(events.statuses.count == 3)
        }
    }

    @Test func `GOAWAY comes without a request when it is asked for`() async throws {
        try await TestSimulator.with { fixture in
            let client = try await fixture.connect()
            try await client.send(try fixture.requests(1...1))
            _ = await client.events(until: .end(of: 1))
            try await fixture.simulator.act(.goAway(.init(reason: "IdleTimeout")))
            let events = await client.events(until: .event(.closed))
            #expect(events.first == .goAway(lastStream: 1, code: 0, data: #"{"reason":"IdleTimeout"}"#))
        }
    }

    @Test func `the limit of streams changes and comes back`() async throws {
        let faults = [
            ServiceFault(when: .init(request: 1), then: .maxStreams(streams: 1)),
            ServiceFault(when: .init(request: 2), then: .maxStreams(streams: 1000)),
        ]
        try await TestSimulator.with { fixture in
            fixture.simulator.script.set(ServiceScript(faults: faults))
            let client = try await fixture.connect()
            _ = await client.events(until: .settings)
            try await client.send(try fixture.requests(1...1))
            #expect(await client.events(until: .settings).last == .settings(maxStreams: 1))
            try await client.send(try fixture.requests(2...2))
            #expect(await client.events(until: .settings).last == .settings(maxStreams: 1000))
            try await client.close()
        }
    }

    @Test func `a stalled answer never ends and its connection lives`() async throws {
        let fault = ServiceFault(when: .init(request: 1), then: .stall())
        try await burst(of: 2, [fault], until: .end(of: 3)) { fixture, client, events in
            #expect(events.statuses == [1: "200", 3: "200"])
            #expect(!events.map(\.endedStream).contains(1))
            try await client.ping()
            #expect(await client.events(until: .event(.pong)).last == .pong)
            #expect(fixture.simulator.ledger.totals().connections.pings == 1)
        }
    }

    @Test func `a half-open connection answers what came before and then nothing`() async throws {
        let fault = ServiceFault(when: .init(request: 3), then: .silence())
        try await burst(of: 5, [fault], until: .end(of: 3)) { fixture, client, events in
            #expect(events.statuses == [1: "200", 3: "200"])
            try await client.ping()
            // Another connection is served, so the silence is the fault's and not the server's.
            let other = try await fixture.connect()
            try await other.send(try fixture.requests(9...9))
            #expect(await other.events(until: .end(of: 1)).statuses[1] == "200")
            try await other.close()
            try await client.close()
            #expect(await client.events(until: .event(.closed)) == [.closed])
            #expect(fixture.simulator.ledger.token(Array(repeating: 0, count: 31) + [3])?.told == 1)
            #expect(fixture.simulator.ledger.token(Array(repeating: 0, count: 31) + [4]) == nil)
        }
    }

    @Test func `a dropped connection says nothing`() async throws {
        let fault = ServiceFault(when: .init(request: 3), then: .close())
        try await burst(of: 5, [fault], until: .event(.closed)) { fixture, _, events in
            #expect(events.statuses == [1: "200", 3: "200"])
            #expect(fixture.simulator.ledger.totals().told == 2)
        }
    }

    @Test func `lost answers were told`() async throws {
        let fault = ServiceFault(when: .init(request: 3), then: .loseAnswers(count: 2))
        try await burst(of: 6, [fault], until: .event(.closed)) { fixture, _, events in
            #expect(events.statuses == [1: "200", 3: "200"])
            let totals = fixture.simulator.ledger.totals()
            #expect((totals.told, totals.accepted, totals.connections.unanswered) == (4, 2, 2))
        }
    }

    @Test func `a refused handshake is an alert; the next passes`() async throws {
        try await TestSimulator.with { fixture in
            fixture.simulator.script.add(ServiceFault(times: 1, then: .refuseHandshake()))
            let refused = try await fixture.connect()
            #expect(await refused.events(until: .settings) == [.closed])
            let taken = try await fixture.connect()
            #expect(await taken.events(until: .settings).last == .settings(maxStreams: 1000))
            #expect(fixture.simulator.ledger.totals().connections.refused == 1)
            try await taken.close()
        }
    }

    @Test func `TCP is refused while closed, then the port returns`() async throws {
        let port = try TestSimulator.ownPort()
        try await TestSimulator.with({ $0.listening.port = port }) { fixture in
            try await fixture.simulator.stopListening()
            await #expect(throws: (any Error).self) { try await fixture.connect() }
            try await fixture.simulator.resumeListening()
            let client = try await fixture.connect()
            #expect(await client.events(until: .settings).last == .settings(maxStreams: 1000))
            try await client.close()
        }
    }
}

import Testing

@testable import BelfrySimulators

/// FCM's HTTP/2 as its clients report it, and faults on it.
@Suite(.timeLimit(.minutes(20))) struct FCMHabitTests {
    typealias TestSimulator = TestService<FCMService>

    private func fields(_ fixture: TestSimulator) -> [(String, String)] {
        [
            (":method", "POST"), (":scheme", "https"), (":authority", "localhost:\(fixture.simulator.port)"),
            (":path", "/v1/projects/\(fixture.simulator.projectID)/messages:send"), ("authorization", "Bearer any"),
            ("content-type", "application/json"),
        ]
    }

    private func requests(_ fixture: TestSimulator, _ numbers: ClosedRange<Int>) -> [(
        fields: [(String, String)], body: String
    )] {
        numbers.map { (fields(fixture), #"{"message":{"token":"t\#($0)"}}"#) }
    }

    @Test func `a hundred streams work, with bodies ending in extra frames`() async throws {
        try await TestSimulator.with(FCMSendTests.believing) { fixture in
            let client = try await fixture.connect()
            #expect(await client.events(until: .settings).contains(.settings(maxStreams: 100)))
            try await client.send(requests(fixture, 1...100))
            let events = await client.events(until: .ends(100))
            #expect(events.statuses.count == 100)
            #expect(Set(events.statuses.values) == ["200"])
            #expect(fixture.simulator.ledger.totals().told == 100)
            let connections = fixture.simulator.ledger.totals().connections
            #expect(connections.streamsAtOnceMax == 100)
            try await client.close()
        }
    }

    @Test func `three pings without a request between are too many`() async throws {
        try await TestSimulator.with(FCMSendTests.believing) { fixture in
            let client = try await fixture.connect()
            try await client.ping()
            try await client.ping()
            try await client.send(requests(fixture, 1...1))
            _ = await client.events(until: .end(of: 1))
            for _ in 0..<3 { try await client.ping() }
            let events = await client.events(until: .event(.goAway(lastStream: 1, code: 11, data: "too_many_pings")))
            #expect(events.contains(.goAway(lastStream: 1, code: 11, data: "too_many_pings")))
        }
    }

    @Test func `a GOAWAY can leave the request that brought it on`() async throws {
        try await TestSimulator.with(FCMSendTests.believing) { fixture in
            fixture.simulator.script.add(
                ServiceFault(
                    when: .init(request: 2), times: 1, then: .goAway(.init(reason: "max_age", lastStream: .before))))
            let client = try await fixture.connect()
            try await client.send(requests(fixture, 1...3))
            let events = await client.events(until: .event(.closed))
            #expect(events.contains(.goAway(lastStream: 1, code: 0, data: "max_age")))
            #expect(events.statuses == [1: "200"])
            #expect(fixture.simulator.ledger.totals().told == 1)
        }
    }

    @Test func `scripts reset, hang, delay and cut requests`() async throws {
        try await TestSimulator.with(FCMSendTests.believing) { fixture in
            fixture.simulator.script.set(
                ServiceScript(faults: [
                    ServiceFault(when: .init(token: "t1"), then: .reset()),
                    ServiceFault(when: .init(token: "t2"), then: .hang()),
                    ServiceFault(when: .init(token: "t3"), then: .delay(milliseconds: 20)),
                    ServiceFault(when: .init(token: "t4"), then: .stall()),
                    ServiceFault(when: .init(token: "t6"), then: .close()),
                ]))
            let client = try await fixture.connect()
            try await client.send(requests(fixture, 1...5))
            let first = await client.events(until: .ends(3))
            #expect(first.contains(.streamClosed(stream: 1, code: 7)))
            #expect(first.statuses == [5: "200", 7: "200", 9: "200"])
            #expect(first.bodies[7] == nil)
            try await client.send(requests(fixture, 6...6))
            #expect(await client.events(until: .event(.closed)).last == .closed)
            let totals = fixture.simulator.ledger.totals()
            // t2 and t4 were notified though nothing came back, t1 and t6 were not.
            #expect(totals.told == 4)
            #expect(totals.connections.unanswered == 4)
            #expect(totals.connections.resetsSent == 1)
        }
    }

    @Test func `a share of tokens is gone, always equal ones`() async throws {
        try await TestSimulator.with(FCMSendTests.believing) { fixture in
            fixture.simulator.script.add(
                ServiceFault(when: .init(share: 0.5), then: .answer(ScriptedAnswer("UNREGISTERED"))))
            let client = try await fixture.connect()
            try await client.send(requests(fixture, 1...50))
            let first = await client.events(until: .ends(50)).statuses.filter { $0.value == "404" }.keys
            try await client.send(requests(fixture, 1...50))
            let second = await client.events(until: .ends(50)).statuses.filter { $0.value == "404" }.keys
            #expect((10...40).contains(first.count))
            #expect(Set(second) == Set(first.map { $0 + 100 }))
            try await client.close()
        }
    }
}

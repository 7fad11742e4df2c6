import BelfryProviders
import BelfryServer
import BelfryService
import BelfrySimulators
import BelfryTesting
import Foundation
import Testing

/// The server against an APNs that misbehaves in every way the simulator knows.
///
/// After each fault the push settles, every device has the right answer, and none was notified twice unless the fault hid
/// an answer.
extension OutageTests {
    @Suite struct FaultTests {}
}

private typealias When = ServiceFault.When
private typealias Then = ServiceFault.Then

/// More than two batches, so that several are in flight at once.
private let many = 1_200
private let few = 60

// MARK: - Verdicts on tokens

extension OutageTests.FaultTests {
    @Test func `a token that died after registration deactivates the device`() async throws {
        try await TestServer.open { server in
            let crowd = try await server.crowd(few, topics: ["town"])
            let dead = Array(crowd.devices.prefix(5))
            server.simulator.script.answer(
                ScriptedAnswer(.unregistered, timestamp: SystemClock().now.milliseconds + 60_000), for: tokens(dead))
            let receipt = try await server.settled(try await server.sender.push("Hello", toTopic: "town"))
            #expect(receipt.counts.filter { $0.value > 0 } == [.accepted: few - 5, .gone: 5])
            for device in dead {
                #expect(try await server.answer(device, in: receipt) == .gone)
                #expect(try await server.isActive(device) == false)
            }
            let again = try await server.settled(try await server.sender.push("Hello", toTopic: "town"))
            #expect(again.counts.filter { $0.value > 0 } == [.accepted: few - 5])
        }
    }

    @Test(arguments: [
        ScriptedAnswer(.unregistered, timestamp: 1_000_000_000_000), ScriptedAnswer(.unregistered),
        ScriptedAnswer(.badDeviceToken), ScriptedAnswer(.deviceTokenNotForTopic),
    ])
    func `an older or unrelated verdict leaves the device active`(
        verdict: ScriptedAnswer
    ) async throws {
        try await TestServer.open { server in
            let crowd = try await server.crowd(few, topics: ["town"])
            let judged = Array(crowd.devices.prefix(30))
            server.simulator.script.answer(verdict, for: tokens(judged))
            let receipt = try await server.settled(try await server.sender.push("Hello", toTopic: "town"))
            #expect(receipt.counts[.accepted] == few - 30)
            let answers: Set<Answer> = [.gone, .refused(.badToken), .refused(.tokenOfAnotherApplication)]
            #expect(answers.contains(try #require(try await server.answer(judged[0], in: receipt))))
            try await server.expectAllActive(crowd)
        }
    }
}

// MARK: - Answers

extension OutageTests.FaultTests {
    @Test func `a slow provider is waited for`() async throws {
        try await TestServer.open { server in
            let crowd = try await server.crowd(many, topics: ["town"])
            server.simulator.script.set(ServiceScript(latencyMilliseconds: 300))
            let receipt = try await server.settled(try await server.sender.push("Hello", toTopic: "town"))
            try await server.expectAllTold(crowd, in: receipt)
        }
    }

    @Test(arguments: [
        (500, APNsReason.internalServerError), (503, .serviceUnavailable), (503, .shutdown), (429, .tooManyRequests),
    ])
    func `a burst of refusals that pass is tried again`(status: Int, reason: APNsReason) async throws {
        try await TestServer.open { server in
            let crowd = try await server.crowd(many, topics: ["town"])
            server.simulator.script.add(
                ServiceFault(
                    when: When(after: 10), times: 150, then: .answer(ScriptedAnswer(reason.rawValue, status: status))))
            let receipt = try await server.settled(try await server.sender.push("Hello", toTopic: "town"))
            #expect(server.simulator.script.timesHappened == [150])
            try await server.expectAllTold(crowd, in: receipt)
        }
    }

    @Test func `a repeatedly refused device delays no other`() async throws {
        try await TestServer.open { server in
            let crowd = try await server.crowd(few, topics: ["town"])
            let token = crowd.tokens[7]
            server.simulator.script.add(
                ServiceFault(
                    when: When(token: token), then: .answer(ScriptedAnswer("InternalServerError", status: 500))))
            let id = try await server.sender.push("Hello", toTopic: "town")
            try await eventually("all others are told, and it is refused again and again") {
                try await server.receipt(id).counts[.accepted] == few - 1
                    && server.simulator.script.timesHappened.allSatisfy { $0 >= 4 }
            }
            server.simulator.script.clear()
            try await server.expectAllTold(crowd, in: try await server.settled(id))
        }
    }
}

// MARK: - Streams and connections

extension OutageTests.FaultTests {
    @Test(arguments: [ServiceFault.LastStream.all, .half, .before, .none], [false, true])
    func `a connection told to go loses and repeats nothing`(
        last: ServiceFault.LastStream, noticeFirst: Bool
    ) async throws {
        try await TestServer.open { server in
            let crowd = try await server.crowd(many, topics: ["town"])
            server.simulator.script.set(
                ServiceScript(
                    faults: [
                        ServiceFault(
                            when: When(after: 300), times: 1,
                            then: .goAway(.init(lastStream: last, noticeFirst: noticeFirst)))
                    ], latencyMilliseconds: 50))
            let receipt = try await server.settled(try await server.sender.push("Hello", toTopic: "town"))
            #expect(server.simulator.ledger.totals().connections.goAwaysSent > 0)
            try await server.expectAllTold(crowd, in: receipt)
        }
    }

    @Test func `streams refused unprocessed are resent and notified once`() async throws {
        try await TestServer.open { server in
            let crowd = try await server.crowd(many, topics: ["town"])
            server.simulator.script.add(ServiceFault(when: When(after: 10), times: 100, then: .reset(code: 7)))
            let receipt = try await server.settled(try await server.sender.push("Hello", toTopic: "town"))
            try await server.expectAllTold(crowd, in: receipt)
        }
    }

    @Test(arguments: [true, false])
    func `streams reset with an error are resent, notified or not`(told: Bool) async throws {
        try await TestServer.open { server in
            let crowd = try await server.crowd(many, topics: ["town"])
            server.simulator.script.add(
                ServiceFault(when: When(after: 10), times: 100, then: .reset(code: 2, told: told)))
            let receipt = try await server.settled(try await server.sender.push("Hello", toTopic: "town"))
            #expect(server.simulator.ledger.totals().connections.resetsSent == 100)
            try await server.expectAllTold(crowd, in: receipt, twiceMax: told ? 100 : 0)
        }
    }

    @Test func `changing stream limits of a provider are followed`() async throws {
        try await TestServer.open { server in
            let crowd = try await server.crowd(many, topics: ["town"])
            server.simulator.script.set(
                ServiceScript(
                    faults: [ServiceFault(when: When(after: 100), times: 8, then: .maxStreams(streams: 1))],
                    latencyMilliseconds: 5))
            let id = try await server.sender.push("Hello", toTopic: "town")
            try await eventually("one stream at a time") { server.simulator.script.timesHappened[0] >= 1 }
            server.simulator.script.clear()
            try await server.simulator.act(.maxStreams(streams: 1_000))
            try await server.expectAllTold(crowd, in: try await server.settled(id))
        }
    }

    @Test func `answers that never end are given up and resent`() async throws {
        try await TestServer.open(configure: { $0.providers.apns.deadline = .seconds(10) }) { server in
            let crowd = try await server.crowd(many, topics: ["town"])
            server.simulator.script.add(ServiceFault(when: When(after: 10), times: 20, then: .stall()))
            let receipt = try await server.settled(try await server.sender.push("Hello", toTopic: "town"))
            #expect(server.simulator.script.timesHappened == [20])
            try await server.expectAllTold(crowd, in: receipt, twiceMax: 20)
        }
    }

    @Test func `a silent connection is dropped and its doubtful sends repeated`() async throws {
        // A ping finds out sooner than the batches' own deadline.
        try await TestServer.open(configure: { $0.providers.apns.deadline = .seconds(30) }) { server in
            let crowd = try await server.crowd(many, topics: ["town"])
            server.simulator.script.add(
                ServiceFault(when: When(connection: 1, request: 200), times: 1, then: .silence()))
            let id = try await server.sender.push("Hello", toTopic: "town")
            let receipt = try await server.settled(id, within: .seconds(90))
            #expect(server.simulator.script.timesHappened == [1])
            try await server.expectAllTold(crowd, in: receipt, twiceMax: many)
        }
    }

    @Test(arguments: [true, false])
    func `a connection that breaks off is replaced`(told: Bool) async throws {
        try await TestServer.open { server in
            let crowd = try await server.crowd(many, topics: ["town"])
            server.simulator.script.set(
                ServiceScript(
                    faults: [ServiceFault(when: When(after: 300), times: 2, then: .close(told: told))],
                    latencyMilliseconds: 20))
            let receipt = try await server.settled(try await server.sender.push("Hello", toTopic: "town"))
            #expect(server.simulator.script.timesHappened == [2])
            // What waited for its answer on the connection may have been notified.
            try await server.expectAllTold(crowd, in: receipt, twiceMax: 2 * 1_000)
        }
    }

    @Test func `only devices with lost answers are notified again`() async throws {
        try await TestServer.open { server in
            let crowd = try await server.crowd(many, topics: ["town"])
            server.simulator.script.add(ServiceFault(when: When(after: 300), times: 1, then: .loseAnswers(count: 100)))
            let receipt = try await server.settled(try await server.sender.push("Hello", toTopic: "town"))
            try await server.expectAllTold(crowd, in: receipt, twiceMax: 100)
            #expect(server.simulator.ledger.totals().told > many)
        }
    }

    @Test func `a provider that is away is waited for`() async throws {
        // No other test is given it while nothing listens at it.
        let port = try Loopback.freePort()
        try await TestServer.open(simulate: { $0.listening.port = port }) { server in
            let crowd = try await server.crowd(many, topics: ["town"])
            try await server.simulator.stopListening()
            try await server.simulator.act(.close())
            let id = try await server.sender.push("Hello", toTopic: "town")
            try await eventually("it was tried") { server.hasLogged("connect failed") }
            #expect(try await server.receipt(id).answered == 0)
            try await server.simulator.resumeListening()
            try await server.expectAllTold(crowd, in: try await server.settled(id))
        }
    }
}

// MARK: - Credentials

extension OutageTests.FaultTests {
    @Test func `a handshake failing by chance is retried`() async throws {
        try await TestServer.open { server in
            let crowd = try await server.crowd(few, topics: ["town"])
            server.simulator.script.add(ServiceFault(times: 2, then: .refuseHandshake(alert: 40)))
            let receipt = try await server.settled(try await server.sender.push("Hello", toTopic: "town"))
            #expect(server.simulator.ledger.totals().connections.refused == 2)
            try await server.expectAllTold(crowd, in: receipt)
        }
    }

    @Test(arguments: [42, 44, 45] as [UInt8])
    func `a refused certificate parks, spares devices and resumes by command`(
        alert: UInt8
    ) async throws {
        try await TestServer.open(mayLogErrors: true) { server in
            let crowd = try await server.crowd(many, topics: ["town"])
            server.simulator.script.add(ServiceFault(then: .refuseHandshake(alert: alert)))
            let id = try await server.sender.push("Hello", toTopic: "town")
            #expect(try await server.parked().cause == .credentials)
            let receipt = try await server.receipt(id)
            #expect(receipt.answered == 0)
            #expect(receipt.state == .parked)
            try await server.expectAllActive(crowd)
            server.simulator.script.clear()
            try await server.resumeUntilSettled(id)
            try await server.expectAllTold(crowd, in: try await server.settled(id))
        }
    }

    @Test(arguments: [
        (403, APNsReason.invalidProviderToken), (400, .badTopic), (400, .topicDisallowed), (403, .badCertificate),
        (403, .badCertificateEnvironment), (403, .missingProviderToken),
    ])
    func `a refusing provider parks, spares devices and resumes when fixed`(
        status: Int, reason: APNsReason
    ) async throws {
        try await TestServer.open(mayLogErrors: true) { server in
            let crowd = try await server.crowd(many, topics: ["town"])
            server.simulator.script.add(
                ServiceFault(when: When(after: 300), then: .answer(ScriptedAnswer(reason.rawValue, status: status))))
            let id = try await server.sender.push("Hello", toTopic: "town")
            let parking = try await server.parked()
            #expect(parking.cause == .credentials)
            #expect(parking.detail.contains(reason.rawValue))
            try await server.expectAllActive(crowd)
            server.simulator.script.clear()
            try await server.operatorService.replaceCredentials(
                of: server.platform.platform, with: TestServer.credentials(server.key, of: server.simulator))
            try await server.expectAllTold(crowd, in: try await server.settled(id))
            #expect(try await server.store.platform(server.platform.platform.uuid)?.parked == nil)
        }
    }

    @Test(arguments: [
        (403, APNsReason.invalidProviderToken), (400, .badTopic), (400, .topicDisallowed), (403, .missingProviderToken),
    ])
    func `one device refused for credentials parks nothing, retries`(
        status: Int, reason: APNsReason
    ) async throws {
        try await TestServer.open { server in
            let crowd = try await server.crowd(few, topics: ["town"])
            let odd = Array(crowd.devices.prefix(1))
            server.simulator.script.answer(ScriptedAnswer(reason.rawValue, status: status), for: tokens(odd))
            let first = try await server.sender.push("Hello", toTopic: "town")
            try await eventually("all others were told") { try await server.receipt(first).answered == few - 1 }
            let second = try await server.sender.push("Hello again", toTopic: "town")
            try await eventually("all others were told again") { try await server.receipt(second).answered == few - 1 }
            #expect(try await server.store.platform(server.platform.platform.uuid)?.parked == nil)
            #expect(
                try await server.store.providerWords(of: try await server.receipt(first).push.key)
                    .contains { $0.contains(reason.rawValue) })
            server.simulator.script.clear()
            for push in [first, second] {
                #expect(try await server.settled(push).counts.filter { $0.value > 0 } == [.accepted: few])
            }
            try await server.expectAllActive(crowd)
        }
    }

    @Test func `an unknown key parks the platform until replaced`() async throws {
        try await TestServer.open(mayLogErrors: true) { server in
            let crowd = try await server.crowd(few, topics: ["town"])
            let stranger = APNsSimulator.IssuedKey(keyID: "STRANGEKEY", teamID: "STRANGETEA")
            try await server.operatorService.replaceCredentials(
                of: server.platform.platform, with: TestServer.credentials(stranger, of: server.simulator))
            let id = try await server.sender.push("Hello", toTopic: "town")
            _ = try await server.parked()
            #expect(try await server.receipt(id).answered == 0)
            try await server.operatorService.replaceCredentials(
                of: server.platform.platform, with: TestServer.credentials(server.key, of: server.simulator))
            try await server.expectAllTold(crowd, in: try await server.settled(id))
        }
    }

    @Test func `an expired provider token is replaced without duplicate pushes`() async throws {
        try await TestServer.open { server in
            let crowd = try await server.crowd(many, topics: ["town"])
            server.simulator.script.add(
                ServiceFault(
                    when: When(connection: 1, requestsFrom: 200),
                    then: .answer(ScriptedAnswer("ExpiredProviderToken", status: 403, sticky: true))))
            let receipt = try await server.settled(try await server.sender.push("Hello", toTopic: "town"))
            #expect(server.simulator.script.timesHappened[0] >= 1)
            try await server.expectAllTold(crowd, in: receipt)
            #expect(try await server.store.platform(server.platform.platform.uuid)?.parked == nil)
        }
    }

    @Test func `a platform with all devices dead parks before believing`() async throws {
        try await TestServer.open(mayLogErrors: true) { server in
            let crowd = try await server.crowd(2 * many, topics: ["town"])
            server.simulator.script.add(
                ServiceFault(
                    when: When(share: 0.6),
                    then: .answer(
                        ScriptedAnswer(.unregistered, timestamp: SystemClock().now.milliseconds + 60_000))))
            _ = try await server.sender.push("Hello", toTopic: "town")
            #expect(try await server.parked().cause == .deadTokens)
            var dead = 0
            for device in crowd.devices where try await server.isActive(device) == false { dead += 1 }
            // What a thousand answers could prove, and the batches in flight beside them.
            #expect(dead < 1_000)
        }
    }
}

extension TestServer {
    /// Resumes as often as a batch that was in flight parks the platform again.
    fileprivate func resumeUntilSettled(_ id: UUID) async throws {
        try await eventually("push \(id) is settled", every: .milliseconds(200)) {
            try await store.resume(platform.platform.key)
            return try await receipt(id).state == .settled
        }
    }
}

private func tokens(_ devices: [Device]) -> [String] {
    devices.compactMap { $0.token?.text(for: .ios) }
}

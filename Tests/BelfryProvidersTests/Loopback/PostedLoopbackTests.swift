import BelfryService
import BelfrySimulators
import BelfryTesting
import Foundation
import Testing
import WebPush

@testable import BelfryProviders

/// Each row of docs/Providers.md through the simulator of its provider: one batch whose devices each get another
/// answer.
@Suite struct PostedLoopbackTests {
    typealias Row = (answer: ScriptedAnswer, outcome: Outcome)

    /// Starts a simulator on the loopback, and ends it.
    func with<Service: SimulatedService>(
        _ type: ServiceSimulator<Service>.Type, _ configuration: Service.Configuration,
        _ body: (ServiceSimulator<Service>) async throws -> Void
    ) async throws {
        let simulator = try await type.start(configuration)
        do {
            try await body(simulator)
        } catch {
            try await simulator.shutdown()
            throw error
        }
        try await simulator.shutdown()
    }

    func configured<Configuration: ServiceConfiguration>(_ configuration: Configuration) -> Configuration {
        var configuration = configuration
        configuration.listening.ledgerDetail = .payloads
        return configuration
    }

    /// Sends one batch in which each device gets the answer of its row, and a last one the usual.
    func check<Service>(
        _ rows: [Row], _ simulator: ServiceSimulator<Service>, _ providers: TestProviders,
        _ provider: any DrainableProvider,
        _ push: Push, address: (String) -> String = { $0 }, usual: Outcome = .accepted
    ) async {
        for (index, row) in rows.enumerated() { simulator.script.answer(row.answer, for: ["d\(index)"]) }
        let tokens = (0...rows.count).map { address("d\($0)") }
        let outcomes = await providers.send(push, to: tokens, by: provider)
        for (row, outcome) in zip(rows, outcomes) {
            #expect(outcome == row.outcome, "\(row.answer.reason ?? "") \(row.answer.status ?? 0)")
        }
        #expect(outcomes.last == usual)
        #expect(providers.errors.isEmpty)
    }

    @Test func `each answer of a push service`() async throws {
        try await TestProviders.run { providers in
            try await with(WebPushSimulator.self, configured(WebPushConfiguration())) { simulator in
                let provider = try providers.provider(
                    .web, ["trust_root": simulator.trustRootPEM, "subject": "mailto:ops@belfry.example"])
                let gone = Outcome.gone(since: providers.clock.now)
                let rows: [Row] = [
                    (ScriptedAnswer("Gone"), gone), (ScriptedAnswer("NotFound"), gone),
                    (ScriptedAnswer("BadVAPID"), .refused(.forbidden)),
                    (ScriptedAnswer("KeyMismatch"), .refused(.forbidden)),
                    (ScriptedAnswer("MissingAuthorization"), .refused(.forbidden)),
                    (ScriptedAnswer(status: 403, body: #"{"reason":"BadJwtToken"}"#), .refused(.forbidden)),
                    (
                        ScriptedAnswer(status: 400, body: #"{"reason":"VapidPkHashMismatch"}"#),
                        .refused(.tokenOfAnotherApplication)
                    ),
                    (ScriptedAnswer(status: 400, body: #"{"errno":113}"#), .refused(.badCollapseID)),
                    (ScriptedAnswer(status: 400, body: #"{"errno":112}"#), .refused(.badExpiration)),
                    (ScriptedAnswer(status: 400), .refused(.other)),
                    (ScriptedAnswer(status: 400, body: #"{"errno":111}"#), .refused(.badExpiration)),
                    (ScriptedAnswer(status: 400, body: #"{"reason":"BadUrgency"}"#), .refused(.badPriority)),
                    (ScriptedAnswer(status: 200), .accepted), (ScriptedAnswer(status: 202), .accepted),
                    (ScriptedAnswer(status: 204), .accepted), (ScriptedAnswer(status: 418), .refused(.other)),
                    (ScriptedAnswer(status: 408), .failed(retryAfter: nil)),
                    (ScriptedAnswer("MethodNotAllowed"), .refused(.methodNotAllowed)),
                    (ScriptedAnswer("Throttled", retryAfter: "9"), .throttled(retryAfter: .seconds(9))),
                    (ScriptedAnswer("TooMany", retryAfter: "99999"), .throttled(retryAfter: .seconds(3_600))),
                    (ScriptedAnswer("TooLarge"), .refused(.payloadTooLarge)),
                    (ScriptedAnswer("InternalServerError"), .failed(retryAfter: nil)),
                    (ScriptedAnswer("BadGateway"), .failed(retryAfter: nil)),
                    (ScriptedAnswer("ServiceUnavailable", retryAfter: "3"), .failed(retryAfter: .seconds(3))),
                    (
                        ScriptedAnswer(status: 301, headers: ["location": "https://elsewhere.example/"]),
                        .refused(.other)
                    ),
                ]
                let subscriptions = simulator.subscribe(rows.count + 1)
                for (row, subscription) in zip(rows, subscriptions) {
                    simulator.script.answer(row.answer, for: [subscription.id])
                }
                let push = providers.push(
                    ["web": .object(["title": .string("T")])], lane: .urgent, lasting: .seconds(60))
                let outcomes = await providers.send(push, to: subscriptions.map(\.json) + ["nonsense"], by: provider)
                for (row, outcome) in zip(rows, outcomes) {
                    #expect(outcome == row.outcome, "\(row.answer.reason ?? "") \(row.answer.status ?? 0)")
                }
                #expect(outcomes.suffix(2) == [.accepted, .refused(.badToken)])
                #expect(simulator.ledger.totals().told == 1 + rows.count { $0.outcome == .accepted })
                let told = try #require(simulator.ledger.token(Array(subscriptions[rows.count].id.utf8)))
                let payload = try #require(told.lastRequest?.payload)
                #expect(payload == #"{"body":"hello","receiptId":"\#(push.receiptID.lowercased)","title":"T"}"#)
                #expect(told.lastRequest?.header("urgency") == "high" && told.lastRequest?.header("ttl") == "60")
                #expect(told.lastRequest?.header("topic")?.utf8.count == 22)
            }
        }
    }

    /// As it comes from an application server: the browser's keys open it, and ours are not needed.
    @Test func `a browser gets what another sender encrypted`() async throws {
        try await TestProviders.run { providers in
            try await with(WebPushSimulator.self, configured(WebPushConfiguration())) { simulator in
                let provider = try providers.provider(
                    .web, ["trust_root": simulator.trustRootPEM, "subject": "mailto:ops@belfry.example"])
                let browser = simulator.subscribe()
                let sealed = try WebPushMessage(payload: Array("only you".utf8), ttl: 1).body(
                    for: .init(endpoint: browser.endpoint, p256dh: browser.p256dh, auth: browser.auth))
                let text = Data(sealed).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
                    .replacing("=", with: "")
                for (isStored, seconds, ttl) in [(true, 60, "60"), (false, 60, "0"), (true, 9_000_000, "2419200")] {
                    var push = providers.push(lasting: .seconds(seconds))
                    push.content = try Push.Content(
                        stored: Array(
                            #"{"shared":{"collapse_key":"7-news"},"ciphertext":{"webpush":"\#(text)","is_stored":\#(isStored)}}"#
                                .utf8))
                    let outcomes = await providers.send(push, to: [browser.json], by: provider)
                    #expect(outcomes == [.accepted])
                    let told = simulator.ledger.token(Array(browser.id.utf8))?.lastRequest
                    #expect(told?.payload == "only you" && told?.header("content-encoding") == "aes128gcm")
                    #expect(told?.header("ttl") == ttl && told?.header("topic") == "7-news")
                }
            }
        }
    }

    @Test(arguments: WebPushDialect.allCases)
    func `a subscription for another key is refused by each vendor`(dialect: WebPushDialect) async throws {
        try await TestProviders.run { providers in
            var configuration = WebPushConfiguration()
            configuration.dialect = dialect
            try await with(WebPushSimulator.self, configuration) { simulator in
                let entered = ["trust_root": simulator.trustRootPEM, "subject": "mailto:ops@belfry.example"]
                let credentials = try WebPushPlatformCredentials(entered: entered.mapValues { .string($0) })
                let key = try #require(try credentials.published()["vapid_public_key"])
                let provider = try providers.provider(
                    .web, credentials.entered.compactMapValues(\.stringValue))
                let mine = simulator.subscribe(applicationServerKey: key)
                let another = try WebPushPlatformCredentials(entered: [:]).published()["vapid_public_key"]
                let theirs = simulator.subscribe(applicationServerKey: another)
                let outcomes = await providers.send(providers.push(), to: [mine.json, theirs.json], by: provider)
                #expect(outcomes.first == .accepted)
                #expect([.refused(.forbidden), .refused(.tokenOfAnotherApplication)].contains(outcomes.last))
            }
        }
    }

    @Test func `a subscription at a private address is never contacted`() async throws {
        try await TestProviders.run(allowed: []) { providers in
            try await with(WebPushSimulator.self, WebPushConfiguration()) { simulator in
                let provider = try providers.provider(.web, ["trust_root": simulator.trustRootPEM])
                let outcomes = await providers.send(providers.push(), to: [simulator.subscribe().json], by: provider)
                #expect(outcomes == [.refused(.addressNotAllowed)])
                #expect(simulator.ledger.totals().told == 0)
            }
        }
    }

    @Test func `an unanswered request leaves others their answers`() async throws {
        try await TestProviders.run { providers in
            try await with(WebPushSimulator.self, WebPushConfiguration()) { simulator in
                let provider = try providers.provider(.web, ["trust_root": simulator.trustRootPEM])
                let subscriptions = simulator.subscribe(20)
                simulator.script.add(
                    ServiceFault(when: .init(token: subscriptions[0].id), then: .reset(code: 2, told: true)))
                let outcomes = await providers.send(providers.push(), to: subscriptions.map(\.json), by: provider)
                #expect(outcomes[0] == .unanswered)
                #expect(outcomes.dropFirst().allSatisfy { $0 == .accepted || $0 == .unanswered })
            }
        }
    }
}

import BelfryService
import BelfrySimulators
import BelfryTesting
import Testing

@testable import BelfryProviders

/// Web Push over HTTP/2, and over HTTP/1.1 where a service offers nothing else.
@Suite struct WebPushHTTP2Tests {
    private func with(
        _ configure: (inout WebPushConfiguration) -> Void = { _ in }, deadline: Duration = .seconds(30),
        _ body: (WebPushSimulator, TestProviders, any DrainableProvider) async throws -> Void
    ) async throws {
        try await TestProviders.run(deadline: deadline) { providers in
            var configuration = WebPushConfiguration()
            configure(&configuration)
            let simulator = try await WebPushSimulator.start(configuration)
            do {
                let provider = try providers.provider(
                    .web, ["trust_root": simulator.trustRootPEM, "subject": "mailto:ops@belfry.example"])
                try await body(simulator, providers, provider)
            } catch {
                try await simulator.shutdown()
                throw error
            }
            try await simulator.shutdown()
        }
    }

    private func send(
        _ count: Int, _ simulator: WebPushSimulator, _ providers: TestProviders, _ provider: any DrainableProvider
    ) async -> [Outcome] {
        await providers.send(providers.push(), to: simulator.subscribe(count).map(\.json), by: provider)
    }

    @Test func `a batch uses few connections and many parallel requests`() async throws {
        try await with { simulator, providers, provider in
            for _ in 0..<3 {
                let outcomes = await send(500, simulator, providers, provider)
                #expect(outcomes == Array(repeating: .accepted, count: 500))
            }
            #expect(simulator.ledger.totals().told == 1_500)
            #expect(simulator.ledger.totals().connections.opened <= 8)
        }
    }

    @Test func `a service with only HTTP/1.1 gets reused connections`() async throws {
        try await with({ $0.listening.offersHTTP2 = false }) { simulator, providers, provider in
            for _ in 0..<3 {
                let outcomes = await send(500, simulator, providers, provider)
                #expect(outcomes == Array(repeating: .accepted, count: 500))
            }
            #expect(simulator.ledger.totals().told == 1_500)
            let most = providers.dependencies.options.posting.connectionsPerHost
            #expect(
                simulator.ledger.totals().connections.opened <= most,
                "the first one, which asked for HTTP/2, is one of them")
        }
    }

    @Test func `a GOAWAY's unprocessed requests are resent without duplicates`() async throws {
        try await with { simulator, providers, provider in
            simulator.script.add(
                ServiceFault(when: .init(request: 40), times: 2, then: .delay(milliseconds: 20)))
            simulator.script.add(
                ServiceFault(when: .init(request: 50), times: 2, then: .goAway(.init(lastStream: .half))))
            let outcomes = await send(500, simulator, providers, provider)
            #expect(outcomes == Array(repeating: .accepted, count: 500))
            #expect(simulator.ledger.totals().told == 500)
        }
    }

    @Test func `a sender over its rate waits as told, per device`() async throws {
        try await with({ $0.messagesPerMinuteOfSender = 100 }) { simulator, providers, provider in
            let outcomes = await send(150, simulator, providers, provider)
            #expect(outcomes.count { $0 == .accepted } == 100)
            let waits = outcomes.compactMap { if case .throttled(let wait?, _) = $0 { wait } else { nil } }
            #expect(waits.count == 50 && waits.allSatisfy { .seconds(1)...Duration.seconds(60) ~= $0 })
        }
    }

    @Test func `oversized messages and gone browsers are answered one by one`()
        async throws
    {
        try await with({ $0.bodyBytesMax = 200 }) { simulator, providers, provider in
            let outcomes = await send(3, simulator, providers, provider)
            #expect(outcomes == Array(repeating: .accepted, count: 3))
            let long = providers.push(body: String(repeating: "x", count: 300))
            let tokens = simulator.subscribe(2).map(\.json)
            #expect(
                await providers.send(long, to: tokens, by: provider)
                    == [.refused(.payloadTooLarge), .refused(.payloadTooLarge)])
            let gone = simulator.subscribe()
            simulator.script.answer(ScriptedAnswer("Gone"), for: [gone.id])
            let mixed = await providers.send(
                providers.push(), to: [gone.json, simulator.subscribe().json], by: provider)
            #expect(mixed == [.gone(since: providers.clock.now), .accepted])
        }
    }

    @Test func `a token refused for age is renewed once`() async throws {
        try await with { simulator, providers, provider in
            let subscriptions = simulator.subscribe(3)
            simulator.script.add(
                ServiceFault(
                    when: .init(token: subscriptions[1].id), times: 1, then: .answer(ScriptedAnswer(status: 401))))
            let outcomes = await providers.send(providers.push(), to: subscriptions.map(\.json), by: provider)
            #expect(outcomes == [.accepted, .accepted, .accepted])
        }
    }
}

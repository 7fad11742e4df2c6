import BelfryCore
import BelfryTesting
import Testing

@testable import BelfryDelivery

@Suite struct CourierTests {
    private let clock = HandClock()
    private let store: MemoryStore

    init() { store = MemoryStore(clock: clock) }

    @Test func `a courier that is called off before it sends hands its page back at once`() async throws {
        try await spreadOnePage()
        let page = try #require(try await claim())
        await courier.carry(page)
        let again = try #require(try await claim())
        #expect(again.key == page.key && again.attempt == 2 && !again.isLapsed)
        #expect(store.violations().isEmpty)
    }

    @Test func `a page that somebody may have sent before lapses again`() async throws {
        try await spreadOnePage()
        _ = try await claim()
        clock.advance(by: .seconds(60))
        let lapsed = try #require(try await claim())
        #expect(lapsed.isLapsed)
        await courier.carry(lapsed)
        #expect(try await claim() == nil)
        clock.advance(by: .seconds(60))
        #expect(try await claim()?.isLapsed == true)
    }

    private var courier: Courier {
        Courier(
            store: CalledOffStore(base: store), providers: FakeProviders { [clock] _ in FakeProvider(clock: clock) },
            policy: RetryPolicy(), clock: clock, random: { 0.5 }, deathWatches: DeathWatches(prototype: DeathWatch()),
            faults: ConnectionFaultReporter(store: store, clock: clock, logger: LogBook().logger), witness: NoWitness(),
            logger: LogBook().logger)
    }

    private func claim() async throws -> Page? {
        try await store.claimPages(PageClaim(pagesMax: 1, roomElsewhere: 1, lease: .seconds(60))).first
    }

    private func spreadOnePage() async throws {
        let application = try await store.create(.numbered(1))
        let platform = try await store.create(.numbered(1, of: application.key))
        _ = try await store.register(.sample(1), as: nil, on: platform)
        _ = try await store.accept(.sample(to: platform))
        for walk in try await store.claimWalks(atMost: 1, lanes: Lane.allCases, for: .seconds(60)) {
            let devices = try await store.devices(in: walk, after: nil, limit: 9)
            #expect(try await store.advance(WalkStep(walk: walk, pages: [devices], isLast: true)))
        }
    }
}

/// Its reads are cut off, as those of a task that is cancelled are.
private struct CalledOffStore: WrappedStore {
    let base: any Store

    func load(_ page: Page) async throws -> PageLoad? { throw CancellationError() }
}

package import BelfryCore
import Synchronization

/// The store as a simulated process sees it: others come between, calls fail, and after its death nothing happens.
package final class MortalStore: WrappedStore {
    package let base: any Store
    private let life: Life
    private let executor: SeededExecutor
    private let fails: @Sendable () -> Bool
    private let onDoubt: @Sendable (Page) -> Void
    private let held = Mutex<[Key<Page>: Page]>([:])

    /// - Parameters:
    ///   - fails: draws whether a call fails, once before its effect and once after.
    ///   - onDoubt: hears of each page whose settlement was lost.
    package init(
        _ base: any Store, life: Life, executor: SeededExecutor, fails: @escaping @Sendable () -> Bool,
        onDoubt: @escaping @Sendable (Page) -> Void
    ) {
        self.base = base
        self.life = life
        self.executor = executor
        self.fails = fails
        self.onDoubt = onDoubt
    }

    /// The pages that this process has claimed and not settled.
    var carried: [Page] { held.withLock { $0.values.sorted { $0.key < $1.key } } }

    package func claimWalks(atMost limit: Int, lanes: [Lane], for lease: Duration) async throws -> [Walk] {
        try await call { try await base.claimWalks(atMost: limit, lanes: lanes, for: lease) }
    }

    package func devices(in walk: Walk, after: Key<Device>?, limit: Int) async throws -> [Key<Device>] {
        try await call { try await base.devices(in: walk, after: after, limit: limit) }
    }

    package func advance(_ step: WalkStep) async throws -> Bool {
        try await call { try await base.advance(step) }
    }

    package func claimPages(_ claim: PageClaim) async throws -> [Page] {
        let pages = try await call { try await base.claimPages(claim) }
        held.withLock { held in
            for page in pages { held[page.key] = page }
        }
        return pages
    }

    package func load(_ page: Page) async throws -> PageLoad? {
        try await call { try await base.load(page) }
    }

    package func settle(_ settlement: Settlement) async throws -> Bool {
        do {
            let isDone = try await call { try await base.settle(settlement) }
            held.withLock { $0[settlement.page.key] = nil }
            return isDone
        } catch {
            if !life.isOver { onDoubt(settlement.page) }
            throw error
        }
    }

    package func nextDue() async throws -> Instant? { try await call { try await base.nextDue() } }

    /// A call may fail before it has an effect, or have its effect and never be heard of again.
    private func call<Result: Sendable>(_ body: () async throws -> Result) async throws -> Result {
        await executor.pause()
        try check()
        let result = try await body()
        await executor.pause()
        try check()
        return result
    }

    private func check() throws {
        if life.isOver { throw CancellationError() }
        if fails() { throw StoreError.unavailable("drawn by the simulation") }
    }
}

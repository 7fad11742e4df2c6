package import BelfryCore
import Synchronization

/// The store as a simulated process sees it: others come between, calls stall and fail, and after its death nothing
/// happens.
package final class MortalStore: WrappedStore {
    package let base: any Store
    private let life: Life
    private let executor: SeededExecutor
    private let clock: any WallClock
    private let trouble: Trouble
    private let onDoubt: @Sendable (Page) -> Void
    private let onClaim: @Sendable (Page) -> Void
    private let onSettle: @Sendable (Settlement) -> Void
    private let onRelease: @Sendable (Schedule, Push, NewPush) -> Void
    private let held = Mutex<[Key<Page>: Page]>([:])

    /// What goes wrong with calls; each is drawn once before a call's effect and once after.
    struct Trouble: Sendable {
        let fails: @Sendable () -> Bool
        /// How long the call hangs.
        let stall: @Sendable () -> Duration
        let isDeaf: Bool
    }

    /// - Parameters:
    ///   - onDoubt: hears of each page that another may come to carry while this process does, or did.
    ///   - onClaim: hears of each page that is claimed, before anything else happens.
    ///   - onSettle: hears of each settlement that counts.
    ///   - onRelease: hears of each schedule that became a push.
    init(
        _ base: any Store, life: Life, executor: SeededExecutor, clock: any WallClock, trouble: Trouble,
        onDoubt: @escaping @Sendable (Page) -> Void, onClaim: @escaping @Sendable (Page) -> Void,
        onSettle: @escaping @Sendable (Settlement) -> Void,
        onRelease: @escaping @Sendable (Schedule, Push, NewPush) -> Void
    ) {
        self.base = base
        self.life = life
        self.executor = executor
        self.clock = clock
        self.trouble = trouble
        self.onDoubt = onDoubt
        self.onClaim = onClaim
        self.onSettle = onSettle
        self.onRelease = onRelease
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
        try await pause()
        let pages = try await base.claimPages(claim)
        pages.forEach(onClaim)
        let isStalled = try await pause()
        held.withLock { held in
            for page in pages { held[page.key] = page }
        }
        if isStalled { pages.forEach(onDoubt) }
        return pages
    }

    package func load(_ page: Page) async throws -> PageLoad? {
        var isStalled = try await pause()
        let load = try await base.load(page)
        if try await pause() { isStalled = true }
        if isStalled { onDoubt(page) }
        return load
    }

    package func settle(_ settlement: Settlement) async throws -> Bool {
        do {
            if try await pause() { onDoubt(settlement.page) }
            let isDone = try await base.settle(settlement)
            if isDone { onSettle(settlement) }
            try await pause()
            held.withLock { $0[settlement.page.key] = nil }
            return isDone
        } catch {
            if !life.isOver { onDoubt(settlement.page) }
            throw error
        }
    }

    package func dueSchedules(atMost limit: Int) async throws -> [Schedule] {
        try await call { try await base.dueSchedules(atMost: limit) }
    }

    package func nextScheduleDue() async throws -> Instant? { try await call { try await base.nextScheduleDue() } }

    package func release(_ schedule: Schedule, as push: NewPush) async throws -> Push? {
        try await call {
            let accepted = try await base.release(schedule, as: push)
            if let accepted { onRelease(schedule, accepted, push) }
            return accepted
        }
    }

    package func end(_ schedule: Schedule, _ how: Schedule.How) async throws -> Bool {
        try await call { try await base.end(schedule, how) }
    }

    package func nextDue() async throws -> Instant? { try await call { try await base.nextDue() } }

    /// Hints may be missing.
    package func hints() -> AsyncStream<Void> {
        trouble.isDeaf ? AsyncStream { _ in } : base.hints()
    }

    /// A call may fail before it has an effect, or have its effect and never be heard of again.
    private func call<Result: Sendable>(_ body: () async throws -> Result) async throws -> Result {
        try await pause()
        let result = try await body()
        try await pause()
        return result
    }

    /// Whether the process stood still meanwhile.
    @discardableResult private func pause() async throws -> Bool {
        await executor.pause()
        let stall = trouble.stall()
        if stall > .zero { try await clock.sleep(for: stall) }
        if life.isOver { throw CancellationError() }
        if trouble.fails() { throw StoreError.unavailable("drawn by the simulation") }
        return stall > .zero
    }
}

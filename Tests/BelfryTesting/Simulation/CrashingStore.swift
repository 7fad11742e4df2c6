package import BelfryService
import Synchronization

/// The store of a simulated process: other jobs interleave, calls stall and fail, and after its crash nothing has an
/// effect.
package final class CrashingStore: ForwardedPorts {
    package let base: any DeliveryPorts
    private let lifetime: ProcessLifetime
    private let executor: SeededExecutor
    private let clock: any WallClock
    private let trouble: Trouble
    private let onDoubt: @Sendable (Batch) -> Void
    private let onClaim: @Sendable (Batch) -> Void
    private let onSettle: @Sendable (Settlement) -> Void
    private let onPace: @Sendable (PacingRequest, [Key<Device>: PacingVerdict]) -> Void
    private let onRelease: @Sendable (Schedule, Push, NewPush) -> Void
    private let onStart: @Sendable (Schedule) -> Void
    private let held = Mutex<[Key<Batch>: Batch]>([:])

    /// The faults of calls; each is drawn once before a call's effect and once after.
    struct Trouble: Sendable {
        let fails: @Sendable () -> Bool
        /// How long the call hangs.
        let stall: @Sendable () -> Duration
        let isDeaf: Bool
    }

    /// - Parameters:
    ///   - onDoubt: called for each batch that another worker may send while this process does, or did.
    ///   - onClaim: called for each batch that is claimed, before anything else happens.
    ///   - onSettle: called for each settlement that counts.
    ///   - onPace: called for each batch that rules were asked about.
    ///   - onRelease: called for each schedule that became a push.
    ///   - onStart: called for each schedule that started another.
    init(
        _ base: any DeliveryPorts, lifetime: ProcessLifetime, executor: SeededExecutor, clock: any WallClock,
        trouble: Trouble,
        onDoubt: @escaping @Sendable (Batch) -> Void, onClaim: @escaping @Sendable (Batch) -> Void,
        onSettle: @escaping @Sendable (Settlement) -> Void,
        onPace: @escaping @Sendable (PacingRequest, [Key<Device>: PacingVerdict]) -> Void,
        onRelease: @escaping @Sendable (Schedule, Push, NewPush) -> Void,
        onStart: @escaping @Sendable (Schedule) -> Void
    ) {
        self.base = base
        self.lifetime = lifetime
        self.executor = executor
        self.clock = clock
        self.trouble = trouble
        self.onDoubt = onDoubt
        self.onClaim = onClaim
        self.onSettle = onSettle
        self.onPace = onPace
        self.onRelease = onRelease
        self.onStart = onStart
    }

    /// The batches that this process has claimed and not settled.
    var claimed: [Batch] { held.withLock { $0.values.sorted { $0.key < $1.key } } }

    package func claimFanOuts(atMost limit: Int, lanes: [Lane], for lease: Duration) async throws -> [FanOut] {
        try await call { try await base.claimFanOuts(atMost: limit, lanes: lanes, for: lease) }
    }

    package func devices(
        of audience: Audience, on platform: Key<Platform>, after: Key<Device>?, limit: Int
    ) async throws -> [Key<Device>] {
        try await call { try await base.devices(of: audience, on: platform, after: after, limit: limit) }
    }

    package func advance(_ step: FanOutStep) async throws -> Bool {
        try await call { try await base.advance(step) }
    }

    package func claimBursts(_ claim: BatchClaim) async throws -> [[Batch]] {
        try await pause()
        let bursts = try await base.claimBursts(claim)
        let batches = bursts.flatMap(\.self)
        batches.forEach(onClaim)
        let isStalled = try await pause()
        held.withLock { held in
            for batch in batches { held[batch.key] = batch }
        }
        if isStalled { batches.forEach(onDoubt) }
        return bursts
    }

    /// Loads some of the batches at a time, as a store does whose pushes are long.
    package func load(_ batches: [Batch]) async throws -> [BatchLoad?] {
        var isStalled = try await pause()
        let loads = try await base.load(Array(batches.prefix(Self.loadedMax)))
        if try await pause() { isStalled = true }
        if isStalled { batches.forEach(onDoubt) }
        return loads
    }

    package func fill(_ requests: [FillingRequest]) async throws -> [[Key<Device>: PersonalizedValues.Values]?] {
        if try await pause() { requests.map(\.batch).forEach(onDoubt) }
        let values = try await base.fill(requests)
        if try await pause() { requests.map(\.batch).forEach(onDoubt) }
        return values
    }

    package func pace(_ requests: [PacingRequest]) async throws -> [[Key<Device>: PacingVerdict]] {
        if try await pause() { requests.map(\.batch).forEach(onDoubt) }
        let verdicts = try await base.pace(requests)
        zip(requests, verdicts).forEach(onPace)
        if try await pause() { requests.map(\.batch).forEach(onDoubt) }
        return verdicts
    }

    private static let loadedMax = 3

    package func settle(_ settlements: [Settlement]) async throws -> [Bool] {
        do {
            if try await pause() { settlements.map(\.batch).forEach(onDoubt) }
            let areDone = try await base.settle(settlements)
            for (settlement, isDone) in zip(settlements, areDone) where isDone { onSettle(settlement) }
            try await pause()
            held.withLock { held in
                for settlement in settlements { held[settlement.batch.key] = nil }
            }
            return areDone
        } catch {
            // What the process held when it died is doubted already.
            let doubted = lifetime.isOver ? held.withLock { Set($0.keys) } : []
            settlements.map(\.batch).filter { !doubted.contains($0.key) }.forEach(onDoubt)
            throw error
        }
    }

    package func note(_ finding: ProbeFinding, of service: String?, on platform: Platform) async throws {
        try await call { try await base.note(finding, of: service, on: platform) }
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

    package func start(_ occurrence: Schedule.Occurrence, of schedule: Schedule) async throws -> Bool {
        try await call {
            let isStarted = try await base.start(occurrence, of: schedule)
            if isStarted { onStart(schedule) }
            return isStarted
        }
    }

    package func pass(_ schedule: Schedule, to next: Instant) async throws -> Bool {
        try await call { try await base.pass(schedule, to: next) }
    }

    package func runs(of schedule: Key<Schedule>) async throws -> [ScheduleRun] {
        try await call { try await base.runs(of: schedule) }
    }

    package func timeZones(of application: Key<Application>) async throws -> [String] {
        try await call { try await base.timeZones(of: application) }
    }

    package func nextDue() async throws -> Instant? { try await call { try await base.nextDue() } }

    /// Hints may be missing.
    package func hints(of work: DueWork) -> AsyncStream<Void> {
        trouble.isDeaf ? AsyncStream { _ in } : base.hints(of: work)
    }

    /// A call may fail before it has an effect, or have its effect and not return.
    private func call<Result: Sendable>(_ body: () async throws -> Result) async throws -> Result {
        try await pause()
        let result = try await body()
        try await pause()
        return result
    }

    /// Whether the process was suspended meanwhile.
    @discardableResult private func pause() async throws -> Bool {
        await executor.pause()
        let stall = trouble.stall()
        if stall > .zero { try await clock.sleep(for: stall) }
        if lifetime.isOver { throw CancellationError() }
        if trouble.fails() { throw StoreError.unavailable("drawn by the simulation") }
        return stall > .zero
    }
}

import BelfryDelivery
import BelfryService
import BelfryTesting
import Synchronization
import Testing

@Suite struct RetentionSweeperTests {
    private let clock = ManualClock()
    private let store: MemoryStore

    init() { store = MemoryStore(clock: clock) }

    private func retentionSweeper(_ store: any Store) -> RetentionSweeper {
        RetentionSweeper(store: store, clock: clock, options: RetentionSweeper.Options(), logger: CapturedLog().logger)
    }

    @Test func `answers go after a month, and their push after three`() async throws {
        let application = try await store.create(.numbered(1))
        let platform = try await store.create(.numbered(1, of: application.key))
        let push = try await store.accept(.sample(to: platform))
        for fanOut in try await store.claimFanOuts(atMost: 1, lanes: Lane.allCases, for: .seconds(60)) {
            #expect(try await store.advance(FanOutStep(fanOut: fanOut, batches: [], isLast: true)))
        }
        clock.advance(by: .seconds(29 * 86_400))
        try await retentionSweeper(store).round()
        #expect(store.contents.pushes[push.key]?.hasLostAnswers == false)
        clock.advance(by: .seconds(2 * 86_400))
        try await retentionSweeper(store).round()
        #expect(store.contents.pushes[push.key]?.hasLostAnswers == true)
        clock.advance(by: .seconds(60 * 86_400))
        try await retentionSweeper(store).round()
        #expect(store.contents.pushes.isEmpty)
    }

    @Test func `it rests after each step`() async throws {
        let store = LongMemory(base: store)
        let round = Task { [retentionSweeper = retentionSweeper(store)] in try await retentionSweeper.round() }
        for _ in 0..<3 {
            while clock.sleepers == 0 { await Task.yield() }
            #expect(clock.advanceToNextSleeper())
        }
        try await round.value
        #expect(store.steps.load(ordering: .relaxed) == 4)
    }
}

/// A store whose audit log is forgotten in four steps.
private final class LongMemory: WrappedStore {
    let base: any Store
    let steps = Atomic(0)

    init(base: any Store) { self.base = base }

    func deleteExpired(_ kind: Retention.Kind, before: Instant) async throws -> DeletedRows {
        guard kind == .audit else { return DeletedRows() }
        let step = steps.add(1, ordering: .relaxed).newValue
        return DeletedRows(rows: 1, isMore: step < 4)
    }
}

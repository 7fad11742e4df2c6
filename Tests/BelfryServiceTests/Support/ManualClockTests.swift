import BelfryService
import BelfryTesting
import Testing

@Suite struct ManualClockTests {
    private let clock = ManualClock(at: .zero)
    private let executor = SeededExecutor(seed: 1)

    @Test func `sleepers wake in time order, each at its own`() {
        let log = Log()
        for second in [5, 1, 3, 1, 9] {
            _ = Task(executorPreference: executor) { [clock] in
                try await clock.sleep(for: .seconds(second))
                log.add(clock.now.milliseconds)
            }
        }
        while executor.runOne() || clock.advanceToNextSleeper() {}
        #expect(log.entries == [1_000, 1_000, 3_000, 5_000, 9_000])
    }

    @Test func `a moved clock wakes all sleepers and stays there`() {
        let log = Log()
        for second in [2, 1, 30] {
            _ = Task(executorPreference: executor) { [clock] in
                try await clock.sleep(for: .seconds(second))
                log.add(Int64(second))
            }
        }
        while executor.runOne() {}
        clock.advance(by: .seconds(10))
        while executor.runOne() {}
        #expect(log.entries.sorted() == [1, 2])
        #expect(clock.now == Instant(milliseconds: 10_000))
        #expect(clock.sleepers == 1)
        #expect(clock.nextWake == Instant(milliseconds: 30_000))
    }

    @Test func `a cancelled sleeper wakes at once or never sleeps`() {
        let log = Log()
        let task = Task(executorPreference: executor) { [clock] in
            do { try await clock.sleep(for: .seconds(60)) } catch is CancellationError { log.add(1) }
            do { try await clock.sleep(for: .seconds(60)) } catch is CancellationError { log.add(2) }
        }
        while executor.runOne() {}
        #expect(clock.sleepers == 1)
        task.cancel()
        while executor.runOne() {}
        #expect(log.entries == [1, 2])
        #expect(clock.sleepers == 0)
        #expect(clock.now == .zero)
    }

    @Test func `a sleep of no time does not wait`() async throws {
        try await clock.sleep(for: .zero)
        try await clock.sleep(for: .seconds(-1))
        #expect(!clock.advanceToNextSleeper())
    }
}

import BelfryTesting
import Testing

@Suite struct SeededExecutorTests {
    /// The order in which ten tasks of three steps each take them.
    private func order(seed: UInt64) -> [Int64] {
        let executor = SeededExecutor(seed: seed)
        let log = Log()
        _ = Task(executorPreference: executor) {
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<10 as Range<Int64> {
                    group.addTask {
                        for _ in 0..<3 {
                            log.add(number)
                            await executor.pause()
                        }
                    }
                }
            }
            log.add(-1)
        }
        while executor.runOne() {}
        return log.entries
    }

    @Test func `a seed has one order, and seeds have many`() {
        #expect(order(seed: 7) == order(seed: 7))
        #expect(Set((0..<20).map(order(seed:))).count == 20)
    }

    @Test func `everything runs, on the calling thread`() {
        for seed in 0..<20 as Range<UInt64> {
            let order = order(seed: seed)
            #expect(order.count == 31)
            #expect(order.last == -1)
        }
    }
}

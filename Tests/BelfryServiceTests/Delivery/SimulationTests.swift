import BelfryTesting
import Foundation
import Testing

/// Worlds drawn from seeds. `SEED=7` runs one, `SEEDS=5000` that many; a failure names its seed.
@Suite struct SimulationTests {
    private static let seeds: ClosedRange<UInt64> = {
        let environment = ProcessInfo.processInfo.environment
        if let seed = environment["SEED"].flatMap(UInt64.init) { return seed...seed }
        let first = environment["FIRST_SEED"].flatMap(UInt64.init) ?? 1
        return first...(first + (environment["SEEDS"].flatMap(UInt64.init) ?? 200) - 1)
    }()

    private static let seedsThatFailed: [UInt64] = [
        544_348_784, 900_001_011, 900_001_386, 1_413_024_625, 2_500_000_199,
    ]

    @Test(arguments: seeds + seedsThatFailed) func `in any world each push is delivered as promised`(seed: UInt64) {
        let simulation = Simulation(delivering: World(seed: seed))
        let violations = simulation.run()
        #expect(violations.isEmpty, "SEED=\(seed), \(simulation.executor.jobsRun) jobs: \(violations.prefix(5))")
    }

    @Test func `a seed goes the same way each time`() {
        let runs = (0..<2).map { _ in
            let simulation = Simulation(delivering: World(seed: 42))
            _ = simulation.run()
            return simulation.executor.digest
        }
        #expect(runs[0] == runs[1])
    }
}

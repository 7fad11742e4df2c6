import BelfryService
import BelfryTesting
import Testing

/// The harness proves something only if it notices faults.
@Suite struct PlantedFaultTests {
    /// Tries seeds until the fault is noticed; then returns its message.
    private func firstViolation(of fault: FaultyStore.Fault) -> String? {
        // Few worlds show a lapse that is forgotten, or waits for single devices at a lapse.
        let first: [FaultyStore.Fault: UInt64] = [.forgetsLapses: 1_166, .prolongsRetryTimes: 1_027]
        for seed in (first[fault] ?? 1)...(first[fault] == nil ? 400 : 2_800) {
            let simulation = Simulation(delivering: World(smallWithSeed: seed)) { FaultyStore($0, fault) }
            if let violation = simulation.run().first { return violation }
        }
        return nil
    }

    @Test(
        arguments: [
            (.settlesWithoutFence, "had"), (.forgetsSettlements, "hang"), (.leasesNothing, "was told"),
            (.forgetsLapses, "times, not once"), (.losesDevices, "is lost"),
            (.writesBatchesTwice, "stand in two places"),
            (.believesEveryDeadToken, "is inactive"), (.deactivatesOnRefusedCredentials, "is inactive"),
            (.skipsTheReachable, "was skipped"),
            (.refusesToAdvance, "hang"), (.sendsSchedulesTwice, "no client asked for it"),
            (.cancelsInVain, "was cancelled, and is sent"), (.forgetsSchedules, "hang"),
            (.forgetsRetryTimes, "waits until [:]"), (.prolongsRetryTimes, "waits until"),
            (.cancelsPushesInVain, "was claimed after push"), (.forgetsCancelledLeases, "was claimed after push"),
            (.parksAtOneRefusal, "was parked, though"), (.forgetsProbes, "hang"), (.forgetsCaps, "and the cap is"),
        ] as [(FaultyStore.Fault, String)])
    func `a planted fault is noticed`(fault: FaultyStore.Fault, words: String) throws {
        let violation = try #require(firstViolation(of: fault))
        #expect(violation.contains(words))
    }

    @Test(
        arguments: [
            (.forgetsRuns, "is in the pushes"),
            (.forgetsTimeZones, "before its clock came to the time"), (.endsAtFirstStep, "did not get it"),
            (.startsTwice, "started two schedules for one time"),
            (.cancelsInVain, "started another after it was cancelled"), (.cancelsParentsAlone, "was sent after"),
        ] as [(FaultyStore.Fault, String)])
    func `a planted fault by the clocks of recipients is noticed`(fault: FaultyStore.Fault, words: String) {
        let isNoticed = (1...400 as ClosedRange<UInt64>).lazy.map { World(seed: $0) }
            .filter { $0.journey != nil }
            .contains { world in
                Simulation(delivering: world) { FaultyStore($0, fault) }.run().contains { $0.contains(words) }
            }
        #expect(isNoticed)
    }

    @Test func `a process that does nothing is a hang`() {
        let simulation = Simulation(World(smallWithSeed: 1)) { _ in }
        #expect(simulation.run().first?.hasPrefix("hang") ?? false)
    }

    @Test func `a process that ignores its stop counts as hanging`() {
        let simulation = Simulation(World(smallWithSeed: 1).calm) { process in
            async let stubborn: Void = withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
            try await Simulation.deliver(process)
            await stubborn
        }
        #expect(simulation.run().first?.hasPrefix("hang: the server did not end") ?? false)
    }

    @Test func `a process that fails is named`() {
        let simulation = Simulation(World(smallWithSeed: 1)) { _ in throw StoreError.unavailable("planted") }
        #expect(simulation.run().contains { $0.hasPrefix("the process ended with an error") })
    }
}

extension World {
    /// Few devices, and soon a hang.
    fileprivate init(smallWithSeed seed: UInt64) {
        self.init(seed: seed)
        events.removeAll { if case .smallPush = $0.action { true } else { false } }
        devices = min(devices, 30)
        limits.jobsMax = 100_000
    }
}

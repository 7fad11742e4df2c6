import BelfryService
import BelfryTesting
import Foundation
import Synchronization
import Testing

@Suite struct ClockConformance {
    @Test(arguments: Engine.withModel)
    func `a clock set back delays waiting work without loss`(
        engine: Engine
    ) async throws {
        let clock = LooseClock()
        try await engine.withPorts(clock: clock) { store in
            let fixture = try await TestStore(store: store, clock: ManualClock())
            _ = try await fixture.registerMany(3)
            let (carried, waiting) = (try await fixture.push(), try await fixture.push())
            try await fixture.fanOut()
            let batch = try await fixture.claimOne()
            clock.move(by: .seconds(-3_600))
            // Who holds a lease settles it by its attempt, whatever the clock says.
            #expect(try await store.settle(Settlement(batch, all: .accepted)))
            #expect(try await fixture.counts(of: carried) == [.accepted: 3])
            let later = try await fixture.push()
            try await fixture.fanOut()
            #expect(try await fixture.claim(9).map(\.pushKey) == [later.key])
            #expect(try await store.nextDue() != nil)
            clock.move(by: .seconds(3_600))
            let batches = try await fixture.claim(9)
            #expect(Set(batches.map(\.pushKey)) == [waiting.key, later.key])
            for batch in batches { #expect(try await store.settle(Settlement(batch, all: .accepted))) }
            for push in [carried, waiting, later] { #expect(try await fixture.counts(of: push) == [.accepted: 3]) }
        }
    }
}

/// A clock that can be set back.
private final class LooseClock: WallClock {
    private let time = Mutex(Instant(milliseconds: 1_700_000_000_000))

    var now: Instant { time.withLock { $0 } }
    func move(by duration: Duration) { time.withLock { $0 = $0 + duration } }
    func sleep(for duration: Duration) async throws {}
}

import BelfryTesting
import FoundationEssentials
import Testing

@testable import BelfryService

/// A server that starts where another one died.
@Suite struct TakeoverTests {
    @Test func `a dead server's sends lapse at once, nothing else changes`() async throws {
        let clock = ManualClock()
        try await withSQLiteStore(clock: clock) { store, _ in
            let fixture = try await TestStore(store: store, clock: clock)
            _ = try await fixture.registerMany(3)
            let push = try await fixture.push()
            try await fixture.fanOut(batchesOf: 1)
            let held = try await fixture.claimOne()
            let waiting = try await fixture.claimOne()
            let later = fixture.clock.now + .seconds(600)
            #expect(try await store.settle(Settlement(handingBack: waiting, at: later)))
            #expect(try await fixture.claim(9).count == 1)
            #expect(try await fixture.claim(9).isEmpty)
            #expect(try await store.takeOver() == 2)
            let again = try await fixture.claim(9)
            #expect(again.count == 2 && again.allSatisfy { $0.isLapsed && $0.pushKey == push.key })
            #expect(again.contains { $0.key == held.key } && !again.contains { $0.key == waiting.key })
            #expect(try await !store.settle(Settlement(held, all: .accepted)))
            #expect(try await store.takeOver() == 2)
        }
    }

    /// A throttled one may have paused between its steps: it continues within one pause.
    @Test(arguments: [(nil, 0), (600, 10)] as [(Int?, Int)])
    func `a dead server's audience scan continues before its lease ends`(perMinute: Int?, seconds: Int) async throws {
        let clock = ManualClock()
        try await withSQLiteStore(clock: clock) { store, _ in
            let fixture = try await TestStore(store: store, clock: clock)
            _ = try await fixture.registerMany(1)
            var content = Push.Content(body: "hello")
            content.pacing.perMinute = perMinute
            _ = try await fixture.ports.accept(
                NewPush(
                    receiptID: UUID(), applicationKey: fixture.application.key, content: content,
                    audience: .list(.active), platformKeys: [fixture.platform.key], lane: .normal,
                    guarantee: .atLeastOnce))
            func claim() async throws -> Int {
                try await store.claimFanOuts(atMost: 9, lanes: Lane.allCases, for: .seconds(60)).count
            }
            #expect(try await claim() == 1)
            #expect(try await claim() == 0)
            #expect(try await store.takeOver() == 0)
            clock.advance(by: .seconds(seconds))
            #expect(try await claim() == 1)
        }
    }

    @Test func `a dead server's push service probe repeats at once`() async throws {
        let clock = ManualClock()
        try await withSQLiteStore(clock: clock) { store, _ in
            let fixture = try await TestStore(store: store, clock: clock)
            let (apple, platform) = ("https://web.push.apple.com", fixture.platform.key)
            try await store.note(.refused("BadJwtToken"), of: apple, on: fixture.platform)
            clock.advance(by: .seconds(30))
            let end = clock.now + .seconds(120)
            #expect(try await store.takeProbe(of: apple, on: platform, until: end))
            #expect(try await !store.takeProbe(of: apple, on: platform, until: end))
            _ = try await store.takeOver()
            #expect(try await store.takeProbe(of: apple, on: platform, until: end))
        }
    }

    @Test func `an unanswered request can be repeated at once`() async throws {
        let clock = ManualClock()
        try await withSQLiteStore(clock: clock) { store, _ in
            let fixture = try await TestStore(store: store, clock: clock)
            let reservation = Reservation(
                name: [UInt8](repeating: 1, count: 32), caller: Principal(.sender, 1),
                request: [UInt8](repeating: 2, count: 32), idempotentID: UUID(), hold: .seconds(600))
            _ = fixture
            #expect(try await store.reserve(reservation).isFirst)
            #expect(try await !store.reserve(reservation).isFirst)
            _ = try await store.takeOver()
            let verdict = try await store.reserve(reservation)
            guard case .again = verdict else {
                Issue.record("\(verdict)")
                return
            }
        }
    }
}

extension IdempotencyVerdict {
    fileprivate var isFirst: Bool { if case .first = self { true } else { false } }
}

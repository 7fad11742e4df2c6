import BelfryTesting
import FoundationEssentials
import Testing

@testable import BelfryService

/// A database that lost its last commits, as a standby that takes over may have, gives their keys again.
@Suite struct PostgresLostCommitsTests {
    @Test func `a key given again loads its own push`() async throws {
        try await withPostgresStore { store, _ in
            let fixture = try await TestStore(store: store, clock: ManualClock())
            try await fixture.register("a")
            let push = try await fixture.push(body: "mine")
            let lost = Push(
                key: push.key, receiptID: UUID(), applicationKey: push.applicationKey,
                content: Push.Content(body: "lost"), audience: .any([]), lane: push.lane, guarantee: push.guarantee,
                acceptedAt: push.acceptedAt, expiresAt: nil)
            store.pushes.keep(lost, bytes: 1)
            let fanOuts = try await store.claimFanOuts(atMost: 1, lanes: Lane.allCases, for: .seconds(60))
            #expect(fanOuts.map(\.audience) == [push.audience])
            for fanOut in fanOuts {
                _ = try await store.advance(FanOutStep(fanOut: fanOut, batches: [], isLast: false))
            }
            try await fixture.fanOut(batchesOf: 10)
            store.pushes.keep(lost, bytes: 1)
            #expect(try await store.load(try await fixture.claimOne())?.push == push)
        }
    }
}

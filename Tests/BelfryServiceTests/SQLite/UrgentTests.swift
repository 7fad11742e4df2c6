import BelfryService
import BelfryTesting
import Testing

@Suite struct UrgentTests {
    @Test func `short urgent audiences get batches at once, long ones later`() async throws {
        try await TestStore.play(on: .sqlite) { fixture in
            let devices = try await fixture.registerMany(Batch.devicesMax)
            let short = try await fixture.push(lane: .urgent)
            #expect(try await fixture.claim(9).map(\.devices) == [devices])
            #expect(try await fixture.store.receipt(short.receiptID)?.isFannedOut == true)
            #expect(try await fixture.counts(of: short) == [.pending: Batch.devicesMax])

            _ = try await fixture.registerMany(Batch.devicesMax + 1)
            _ = try await fixture.push(lane: .urgent)
            #expect(try await fixture.claim(9).isEmpty)
            #expect(try await fixture.store.claimFanOuts(atMost: 9, lanes: [.urgent], for: .seconds(60)).count == 1)
        }
    }

    @Test func `an urgent push to no device is settled at once`() async throws {
        try await TestStore.play(on: .sqlite) { fixture in
            let push = try await fixture.push(to: .list(.topic("nobody")), lane: .urgent)
            #expect(try await fixture.store.receipt(push.receiptID)?.state == .settled)
        }
    }
}

import BelfryCore
import BelfryTesting
import Testing

@Suite struct UrgentTests {
    @Test func `a short urgent audience has its page at once, a long one is walked`() async throws {
        try await Scene.play(on: .sqlite) { scene in
            let devices = try await scene.registerMany(Page.devicesMax)
            let short = try await scene.push(lane: .urgent)
            #expect(try await scene.claim(9).map(\.devices) == [devices])
            #expect(try await scene.store.receipt(short.receiptID)?.isSpread == true)
            #expect(try await scene.counts(of: short) == [.pending: Page.devicesMax])

            _ = try await scene.registerMany(Page.devicesMax + 1)
            _ = try await scene.push(lane: .urgent)
            #expect(try await scene.claim(9).isEmpty)
            #expect(try await scene.store.claimWalks(atMost: 9, lanes: [.urgent], for: .seconds(60)).count == 1)
        }
    }

    @Test func `an urgent push to nobody is settled at once`() async throws {
        try await Scene.play(on: .sqlite) { scene in
            let push = try await scene.push(to: .list(.topic("nobody")), lane: .urgent)
            #expect(try await scene.store.receipt(push.receiptID)?.state == .settled)
        }
    }
}

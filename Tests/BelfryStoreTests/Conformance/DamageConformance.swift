import BelfryCore
import BelfryTesting
import Testing

/// What a store of any kind says of sound pages; `DamageTests` and `PostgresDamageTests` have the others.
@Suite struct DamageConformance {
    @Test(arguments: Engine.allCases)
    func `where nothing is damaged there is nothing to write off`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            _ = try await scene.registerMany(3)
            let push = try await scene.push()
            try await scene.spread()
            let page = try await scene.claimOne()
            let before = try #require(try await scene.store.receipt(push.receiptID))
            #expect(before.state == .delivering && before.damagedPages == 0)
            #expect(try await scene.store.writeOffDamagedPages(of: push.key) == 0)
            #expect(try await scene.store.damagedPageCount() == 0)
            #expect(try await scene.store.receipt(push.receiptID) == before)
            #expect(try await scene.store.settle(Settlement(page, all: .accepted)))
        }
    }
}

import BelfryCore
import BelfryTesting
import Testing

@Suite struct HintConformance {
    @Test(.timeLimit(.minutes(1)), arguments: Engine.allCases)
    func `everybody who listens hears that something may have fallen due`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            var ears = [scene.store.hints().makeAsyncIterator(), scene.store.hints().makeAsyncIterator()]
            _ = try await scene.registerMany(1)
            _ = try await scene.push()
            for index in ears.indices { #expect(await ears[index].next(isolation: nil) != nil) }
            try await scene.spread()
            for index in ears.indices { #expect(await ears[index].next(isolation: nil) != nil) }
            let page = try await scene.claimOne()
            #expect(try await scene.store.settle(Settlement(handingBack: page, at: scene.clock.now)))
            for index in ears.indices { #expect(await ears[index].next(isolation: nil) != nil) }
        }
    }
}

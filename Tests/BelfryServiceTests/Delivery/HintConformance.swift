import BelfryService
import BelfryTesting
import Testing

@Suite struct HintConformance {
    @Test(.timeLimit(.minutes(20)), arguments: Engine.withModel)
    func `everybody who listens hears that something may have fallen due`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            var receivers = [
                fixture.ports.hints(of: .all).makeAsyncIterator(), fixture.ports.hints(of: .all).makeAsyncIterator(),
            ]
            _ = try await fixture.registerMany(1)
            _ = try await fixture.push()
            for index in receivers.indices { #expect(await receivers[index].next(isolation: nil) != nil) }
            try await fixture.fanOut()
            for index in receivers.indices { #expect(await receivers[index].next(isolation: nil) != nil) }
            let batch = try await fixture.claimOne()
            #expect(try await fixture.ports.settle(Settlement(handingBack: batch, at: fixture.clock.now)))
            for index in receivers.indices { #expect(await receivers[index].next(isolation: nil) != nil) }
        }
    }
}

import BelfryService
import BelfryTesting
import Foundation
import Testing

/// Every state of the model of the lease protocol, reached in a real store.
@Suite struct LeaseConformance {
    @Test(arguments: Engine.withModel, [Push.Guarantee.atLeastOnce, .atMostOnce])
    func `a store goes every way that the model goes`(engine: Engine, guarantee: Push.Guarantee) async throws {
        try await Self.go(LeaseModel(workers: 2, mishaps: 1, failures: 1, guarantee: guarantee), guarantee, on: engine)
    }

    @Test(arguments: Engine.withModel, [Push.Guarantee.atLeastOnce, .atMostOnce])
    func `a store takes every path of cancelling a push`(engine: Engine, guarantee: Push.Guarantee) async throws {
        let model = LeaseModel(workers: 2, mishaps: 1, failures: 0, cancels: 1, guarantee: guarantee)
        try await Self.go(model, guarantee, on: engine)
    }

    private static func go(_ model: LeaseModel, _ guarantee: Push.Guarantee, on engine: Engine) async throws {
        let ways = model.reachable().values
        // A way that another begins with has been gone with it.
        let beginnings = Set(ways.filter { !$0.isEmpty }.map { Array($0.dropLast()) })
        try await TestStore.play(on: engine) { fixture in
            for way in ways where !beginnings.contains(way) {
                try await Self.go(way, of: model, guarantee: guarantee, in: fixture)
            }
        }
    }

    private static func go(
        _ way: [LeaseModel.Step], of start: LeaseModel, guarantee: Push.Guarantee, in fixture: TestStore
    ) async throws {
        var model = start
        let platform = try await fixture.ports.create(.of(fixture.application))
        try await fixture.register("1", on: platform)
        let push = try await fixture.push(guarantee: guarantee, on: [platform])
        try await fixture.fanOut()
        var held: [Int: Batch] = [:]
        for (number, step) in way.enumerated() {
            let place = Comment(rawValue: "step \(number) of \(way)")
            switch step {
            case .claim(let worker):
                let claimed = try await fixture.claim(room: [platform.key: 1], elsewhere: 0)
                model.take(step)
                let batch = try #require(claimed.first, place)
                #expect(batch.attempt == Int64(model.attempt), place)
                #expect(batch.isLapsed == model.holds[worker]?.isLapsed, place)
                #expect(batch.isCancelled == model.holds[worker]?.isCancelled, place)
                held[worker] = batch
            case .settle(let worker):
                let batch = held.removeValue(forKey: worker)
                let hold = model.holds[worker]
                let answer = try model.answer(to: #require(hold, place))
                let settlement = Settlement(
                    batch: try #require(batch, place), answers: [answer],
                    retryAt: answer == .pending ? fixture.clock.now : nil)
                let isExpected = model.take(step)
                #expect(try await fixture.ports.settle(settlement) == isExpected, place)
            case .cancel:
                model.take(step)
                _ = try await fixture.ports.cancel(push.key)
            case .tell: model.take(step)
            case .crash(let worker):
                model.take(step)
                held[worker] = nil
            case .lapse:
                model.take(step)
                fixture.clock.advance(by: .seconds(60))
            }
            if !model.isClaimable {
                #expect(try await fixture.claim(room: [platform.key: 1], elsewhere: 0).isEmpty, place)
            }
        }
        #expect(try await fixture.counts(of: push) == [model.answer: 1], "\(way)")
    }
}

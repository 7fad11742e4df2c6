import BelfryCore
import BelfryTesting
import Foundation
import Testing

/// Every state of the model of the lease protocol, reached in a real store.
@Suite struct LeaseConformance {
    @Test(arguments: Engine.allCases, [Push.Guarantee.atLeastOnce, .atMostOnce])
    func `a store goes every way that the model goes`(engine: Engine, guarantee: Push.Guarantee) async throws {
        let model = LeaseModel(couriers: 2, mishaps: 1, failures: 1, guarantee: guarantee)
        let ways = model.reachable().values
        // A way that another begins with has been gone with it.
        let beginnings = Set(ways.filter { !$0.isEmpty }.map { Array($0.dropLast()) })
        try await Scene.play(on: engine) { scene in
            for way in ways where !beginnings.contains(way) {
                try await Self.go(way, of: model, guarantee: guarantee, in: scene)
            }
        }
    }

    private static func go(
        _ way: [LeaseModel.Step], of start: LeaseModel, guarantee: Push.Guarantee, in scene: Scene
    ) async throws {
        var model = start
        let platform = try await scene.store.create(.of(scene.application))
        try await scene.register("1", on: platform)
        let push = try await scene.push(guarantee: guarantee, on: [platform])
        try await scene.spread()
        var held: [Int: Page] = [:]
        for (number, step) in way.enumerated() {
            let place = Comment(rawValue: "step \(number) of \(way)")
            switch step {
            case .claim(let courier):
                let claimed = try await scene.claim(room: [platform.key: 1], elsewhere: 0)
                model.take(step)
                let page = try #require(claimed.first, place)
                #expect(page.attempt == Int64(model.attempt), place)
                #expect(page.isLapsed == model.holds[courier]?.isLapsed, place)
                held[courier] = page
            case .settle(let courier):
                let page = held.removeValue(forKey: courier)
                let hold = model.holds[courier]
                let answer = try model.answer(to: #require(hold, place))
                let settlement = Settlement(
                    page: try #require(page, place), answers: [answer],
                    retryAt: answer == .pending ? scene.clock.now : nil)
                let isExpected = model.take(step)
                #expect(try await scene.store.settle(settlement) == isExpected, place)
            case .tell: model.take(step)
            case .crash(let courier):
                model.take(step)
                held[courier] = nil
            case .lapse:
                model.take(step)
                scene.clock.advance(by: .seconds(60))
            }
            if !model.isClaimable {
                #expect(try await scene.claim(room: [platform.key: 1], elsewhere: 0).isEmpty, place)
            }
        }
        #expect(try await scene.counts(of: push) == [model.answer: 1], "\(way)")
    }
}

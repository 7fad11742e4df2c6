import BelfryCore
import BelfryTesting
import Foundation
import Testing

@Suite struct RetentionConformance {
    @Test(arguments: Engine.allCases)
    func `answers go before their push, and its counters stay until it goes`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let store = scene.store
            let devices = try await scene.registerMany(3)
            let push = try await settledPush(in: scene)
            let settledAt = scene.clock.now
            scene.clock.advance(by: .seconds(10))
            #expect(try await store.forget(.answers, before: settledAt) == Forgotten())
            #expect(try await store.answer(of: devices[0], in: push.key) == .accepted)
            #expect(try await store.forget(.answers, before: scene.clock.now).rows == 1)
            #expect(try await store.answer(of: devices[0], in: push.key) == nil)
            let receipt = try #require(try await store.receipt(push.receiptID))
            #expect(receipt.counts == [.accepted: 3] && receipt.state == .settled)
            #expect(try await store.answerCounts(of: push.key).isEmpty)
            #expect(try await store.forget(.pushes, before: settledAt) == Forgotten())
            #expect(try await store.forget(.pushes, before: scene.clock.now).rows == 1)
            #expect(try await store.receipt(push.receiptID) == nil)
            #expect(try await store.receipts(of: scene.application.key, before: nil, limit: 9).isEmpty)
            #expect(try await store.counts(of: push.key).isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a push that is not settled, and one that has its answers, stay`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            _ = try await scene.registerMany(2)
            let settled = try await settledPush(in: scene)
            let open = try await scene.push()
            try await scene.spread()
            let future = scene.clock.now + .seconds(1_000)
            #expect(try await scene.store.forget(.pushes, before: future) == Forgotten())
            #expect(try await scene.store.forget(.answers, before: future).rows == 1)
            #expect(try await scene.store.forget(.pushes, before: future).rows == 1)
            #expect(try await scene.store.receipt(settled.receiptID) == nil)
            #expect(try await scene.counts(of: open) == [.pending: 2])
            let page = try await scene.claimOne()
            #expect(try await scene.store.settle(Settlement(page, all: .accepted)))
            #expect(try await scene.counts(of: open) == [.accepted: 2])
        }
    }

    @Test(arguments: Engine.allCases.filter { $0 != .memory })
    func `a step is bounded, and the steps come to an end`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let store = scene.store
            _ = try await scene.registerMany(450)
            let pushes = [try await scene.push(), try await scene.push()]
            try await scene.spread(pagesOf: 2)
            while let page = try await scene.claim(1).first {
                #expect(try await store.settle(Settlement(page, all: .accepted)))
            }
            let future = scene.clock.now + .seconds(1)
            var steps: [Forgotten] = []
            repeat { steps.append(try await store.forget(.answers, before: future)) } while steps.last?.isMore == true
            #expect(steps.allSatisfy { $0.rows <= Forgotten.rowsMax })
            #expect(steps.map(\.rows).reduce(0, +) == 450)
            #expect(steps.count == 3)
            for push in pushes { #expect(try await scene.counts(of: push) == [.accepted: 450]) }
        }
    }

    @Test(arguments: Engine.allCases)
    func `an audit line goes by its age, and a kept answer too`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let store = scene.store
            let change = { (action: String) in
                AuditedChange(keyID: nil, address: nil, action: action, subject: "s", tenant: nil, application: nil)
            }
            let reservation = Reservation(
                name: Array(repeating: 9, count: 32), caller: Principal(.sender, 1),
                request: Array(repeating: 1, count: 32),
                seed: UUID(), hold: .seconds(30))
            _ = try await store.reserve(reservation)
            try await store.complete(
                reservation.name, seed: reservation.seed, with: KeptAnswer(status: 201, content: Sealed(bytes: [5])))
            try await store.audited(change("old")) {}
            scene.clock.advance(by: .seconds(10))
            try await store.audited(change("new")) {}
            let log = { try await store.auditLog(AuditQuery(bounds: .everything, limit: 9)).map(\.change.action) }
            #expect(try await store.forget(.audit, before: scene.clock.now).rows == 1)
            #expect(try await log() == ["new"])
            // What is asked for later does not take back what is forgotten.
            #expect(try await store.forget(.audit, before: .zero) == Forgotten())
            #expect(try await log() == ["new"])
            #expect(try await store.sealedSecrets(.answer, after: nil, limit: 9).count == 1)
            #expect(try await store.forget(.idempotency, before: scene.clock.now).rows == 1)
            #expect(try await store.sealedSecrets(.answer, after: nil, limit: 9).isEmpty)
        }
    }

    private func settledPush(in scene: Scene) async throws -> Push {
        let push = try await scene.push()
        try await scene.spread()
        let page = try await scene.claimOne()
        #expect(try await scene.store.settle(Settlement(page, all: .accepted)))
        return push
    }
}

import BelfryTesting
import Foundation
import Testing

@testable import BelfryService

@Suite struct RetentionConformance {
    @Test(arguments: Engine.allCases)
    func `answers go before their push, whose counters stay`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let devices = try await fixture.registerMany(3)
            let push = try await settledPush(in: fixture)
            let settledAt = fixture.clock.now
            fixture.clock.advance(by: .seconds(10))
            #expect(try await store.deleteExpired(.answers, before: settledAt) == DeletedRows())
            #expect(try await store.answer(of: devices[0], in: push.key) == .accepted)
            #expect(try await store.deleteExpired(.answers, before: fixture.clock.now).rows == 1)
            #expect(try await store.answer(of: devices[0], in: push.key) == nil)
            let receipt = try #require(try await store.receipt(push.receiptID))
            #expect(receipt.counts == [.accepted: 3] && receipt.state == .settled)
            #expect(try await store.answerCounts(of: push.key).isEmpty)
            #expect(try await store.deleteExpired(.pushes, before: settledAt) == DeletedRows())
            #expect(try await store.deleteExpired(.pushes, before: fixture.clock.now).rows == 1)
            #expect(try await store.receipt(push.receiptID) == nil)
            #expect(try await store.receipts(of: fixture.application.key, before: nil, limit: 9).isEmpty)
            #expect(try await store.counts(of: push.key).isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `unsettled pushes and those with answers stay`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            _ = try await fixture.registerMany(2)
            let settled = try await settledPush(in: fixture)
            let open = try await fixture.push()
            try await fixture.fanOut()
            let future = fixture.clock.now + .seconds(1_000)
            #expect(try await fixture.store.deleteExpired(.pushes, before: future) == DeletedRows())
            #expect(try await fixture.store.deleteExpired(.answers, before: future).rows == 1)
            #expect(try await fixture.store.deleteExpired(.pushes, before: future).rows == 1)
            #expect(try await fixture.ports.receipt(settled.receiptID) == nil)
            #expect(try await fixture.counts(of: open) == [.pending: 2])
            let batch = try await fixture.claimOne()
            #expect(try await fixture.ports.settle(Settlement(batch, all: .accepted)))
            #expect(try await fixture.counts(of: open) == [.accepted: 2])
        }
    }

    @Test(arguments: Engine.allCases)
    func `retention steps are bounded and finite`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            _ = try await fixture.registerMany(450)
            let pushes = [try await fixture.push(), try await fixture.push()]
            try await fixture.fanOut(batchesOf: 2)
            while let batch = try await fixture.claim(1).first {
                #expect(try await store.settle(Settlement(batch, all: .accepted)))
            }
            let future = fixture.clock.now + .seconds(1)
            var steps: [DeletedRows] = []
            repeat {
                steps.append(try await store.deleteExpired(.answers, before: future))
            } while steps.last?.isMore == true
            #expect(steps.allSatisfy { $0.rows <= DeletedRows.rowsMax })
            #expect(steps.map(\.rows).reduce(0, +) == 450)
            #expect(steps.count == 3)
            for push in pushes { #expect(try await fixture.counts(of: push) == [.accepted: 450]) }
        }
    }

    @Test(arguments: Engine.allCases)
    func `audit lines and kept answers go by age`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let change = { (action: String) in
                AuditedChange(keyID: nil, address: nil, action: action, subject: "s", tenant: nil, application: nil)
            }
            let reservation = Reservation(
                name: Array(repeating: 9, count: 32), caller: Principal(.sender, 1),
                request: Array(repeating: 1, count: 32),
                idempotentID: UUID(), hold: .seconds(30))
            _ = try await store.reserve(reservation)
            try await store.complete(
                reservation.name, idempotentID: reservation.idempotentID,
                with: StoredResponse(status: 201, content: Sealed(bytes: [5])))
            try await store.audited(change("old")) {}
            fixture.clock.advance(by: .seconds(10))
            try await store.audited(change("new")) {}
            let log = { try await store.auditLog(AuditQuery(bounds: .everything, limit: 9)).map(\.change.action) }
            #expect(try await store.deleteExpired(.audit, before: fixture.clock.now).rows == 1)
            #expect(try await log() == ["new"])
            // What is asked for later does not take back what is forgotten.
            #expect(try await store.deleteExpired(.audit, before: .zero) == DeletedRows())
            #expect(try await log() == ["new"])
            #expect(try await store.sealedSecrets(.answer, after: nil, limit: 9).count == 1)
            #expect(try await store.deleteExpired(.idempotency, before: fixture.clock.now).rows == 1)
            #expect(try await store.sealedSecrets(.answer, after: nil, limit: 9).isEmpty)
        }
    }

    private func settledPush(in fixture: TestStore) async throws -> Push {
        let push = try await fixture.push()
        try await fixture.fanOut()
        let batch = try await fixture.claimOne()
        #expect(try await fixture.ports.settle(Settlement(batch, all: .accepted)))
        return push
    }
}

import BelfryService
import BelfryTesting
import Foundation
import Testing

/// Effects of cancelling on a push, also beside workers that have some of it.
@Suite struct PushCancellationConformance {
    private static let cancelled = Answer.skipped(.cancelled)

    @Test(arguments: Engine.allCases)
    func `waiting batches are never claimed and their devices cancelled`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            _ = try await fixture.registerMany(6)
            let push = try await fixture.push()
            try await fixture.fanOut(batchesOf: 2)
            let first = try await fixture.claimOne()
            #expect(try await store.settle(Settlement(first, all: .accepted)))
            fixture.clock.advance(by: .seconds(5))
            #expect(try await store.cancel(push.key) == Cancellation(devices: 4))
            #expect(try await fixture.claim(9).isEmpty)
            #expect(try await store.nextDue() == nil)
            let receipt = try #require(try await store.receipt(push.receiptID))
            #expect(receipt.counts == [.accepted: 2, Self.cancelled: 4] && receipt.state == .settled)
            #expect(receipt.settledAt == fixture.clock.now)
            #expect(try await store.answerCounts(of: push.key) == [fixture.platform.key: receipt.counts])
            #expect(try await store.answers(in: push.key, kind: .skipped, after: nil, limit: 9).answers.count == 4)
            // Again, and of a push that is settled.
            #expect(try await store.cancel(push.key) == .nothing)
            #expect(try await store.receipt(push.receiptID) == receipt)
            // A worker that did not get the answer to its settlement changes nothing.
            _ = try await store.settle(Settlement(first, all: .gone))
            #expect(try await fixture.counts(of: push) == receipt.counts)
        }
    }

    @Test(arguments: Engine.withModel)
    func `a batch in flight finishes, its retries cancelled`(engine: Engine)
        async throws
    {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.ports
            _ = try await fixture.registerMany(3)
            let push = try await fixture.push()
            try await fixture.fanOut()
            let batch = try await fixture.claimOne()
            #expect(try await store.cancel(push.key) == Cancellation(devicesInFlight: 3))
            #expect(try await fixture.counts(of: push) == [.pending: 3])
            let later = fixture.clock.now + .seconds(90)
            #expect(
                try await store.settle(
                    Settlement(
                        batch: batch, answers: [.accepted, .pending, .pending], retryAt: later, retryTimes: [2: 1])))
            #expect(try await fixture.counts(of: push) == [.accepted: 1, Self.cancelled: 2])
            #expect(try await store.receipt(push.receiptID)?.state == .settled)
            fixture.clock.advance(by: .seconds(600))
            #expect(try await fixture.claim(9).isEmpty)
        }
    }

    @Test(arguments: Engine.withModel)
    func `a batch that is handed back unsent is cancelled`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            _ = try await fixture.registerMany(2)
            let push = try await fixture.push()
            try await fixture.fanOut()
            let batch = try await fixture.claimOne()
            _ = try await fixture.ports.cancel(push.key)
            #expect(try await fixture.ports.settle(Settlement(handingBack: batch, at: fixture.clock.now)))
            #expect(try await fixture.counts(of: push) == [Self.cancelled: 2])
            #expect(try await fixture.claim(9).isEmpty)
        }
    }

    @Test(arguments: Engine.withModel)
    func `a batch orphaned after cancelling is not resent`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.ports
            _ = try await fixture.registerMany(2)
            let push = try await fixture.push()
            try await fixture.fanOut()
            let lost = try await fixture.claimOne()
            #expect(!lost.isCancelled)
            _ = try await store.cancel(push.key)
            fixture.clock.advance(by: .seconds(60))
            let batch = try await fixture.claimOne()
            #expect(batch.isCancelled && batch.isLapsed)
            #expect(try await !store.settle(Settlement(lost, all: .accepted)))
            #expect(try await store.settle(Settlement(cancelled: batch)))
            // They may have been notified.
            #expect(try await fixture.counts(of: push) == [.unknown: 2])
            #expect(try await store.receipt(push.receiptID)?.state == .settled)
        }
    }

    @Test(arguments: Engine.withModel)
    func `a batch orphaned before cancelling closes and late workers fail`(
        engine: Engine
    ) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.ports
            _ = try await fixture.registerMany(3)
            let push = try await fixture.push()
            try await fixture.fanOut()
            let first = try await fixture.claimOne()
            let again = fixture.clock.now
            // One waits for minutes, so the second lease does not hold it.
            #expect(
                try await store.settle(
                    Settlement(
                        batch: first, answers: [.pending, .pending, .pending], retryAt: again, retryTimes: [2: 60])))
            let lost = try await fixture.claimOne()
            fixture.clock.advance(by: .seconds(60))
            #expect(try await store.cancel(push.key) == Cancellation(devices: 1, devicesInFlight: 2))
            #expect(try await fixture.counts(of: push) == [.unknown: 2, Self.cancelled: 1])
            #expect(try await store.receipt(push.receiptID)?.state == .settled)
            #expect(try await !store.settle(Settlement(lost, all: .accepted)))
            #expect(try await fixture.claim(9).isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `devices found after cancelling are cancelled`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            _ = try await fixture.registerMany(7)
            let push = try await fixture.push()
            let fanOut = try #require(
                try await store.claimFanOuts(atMost: 1, lanes: Lane.allCases, for: .seconds(60)).first)
            let found = try await store.devices(in: fanOut, after: nil, limit: 2)
            #expect(try await store.advance(FanOutStep(fanOut: fanOut, batches: [found], isLast: false)))
            let held = try #require(
                try await store.claimFanOuts(atMost: 1, lanes: Lane.allCases, for: .seconds(60)).first)
            #expect(!held.isCancelled)
            #expect(try await store.cancel(push.key) == Cancellation(devices: 2, fanOuts: 1))
            #expect(try await store.cancel(push.key) == .nothing)
            #expect(try await store.receipt(push.receiptID)?.state == .fanningOut)
            // The worker that had it comes too late.
            let more = try await store.devices(in: held, after: held.cursor, limit: 2)
            #expect(try await !store.advance(FanOutStep(fanOut: held, batches: [more], isLast: false)))
            try await fixture.fanOut(batchesOf: 2)
            #expect(try await fixture.claim(9).isEmpty)
            let receipt = try #require(try await store.receipt(push.receiptID))
            #expect(receipt.counts == [Self.cancelled: 7] && receipt.state == .settled && receipt.firstAnswerAt != nil)
            #expect(try await store.answerCounts(of: push.key) == [fixture.platform.key: receipt.counts])
        }
    }

    @Test(arguments: Engine.withModel)
    func `a push accepted with batches is cancelled alone`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.ports
            let devices = try await fixture.registerMany(3)
            let push = try await fixture.push(naming: [fixture.platform.key: devices])
            let other = try await fixture.push(naming: [fixture.platform.key: devices])
            #expect(try await store.cancel(push.key) == Cancellation(devices: 3))
            #expect(try await fixture.counts(of: push) == [Self.cancelled: 3])
            #expect(try await store.receipt(push.receiptID)?.state == .settled)
            #expect(try await fixture.claim(9).map(\.pushKey) == [other.key])
        }
    }

    @Test(arguments: Engine.withModel)
    func `a parked platform's waiting devices are cancelled for good`(engine: Engine)
        async throws
    {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.ports
            _ = try await fixture.registerMany(2)
            let push = try await fixture.push()
            try await fixture.fanOut()
            try await store.park(
                fixture.platform.key, Parking(cause: .operator, detail: "stop", since: fixture.clock.now))
            #expect(try await store.cancel(push.key) == Cancellation(devices: 2))
            #expect(try await store.receipt(push.receiptID)?.state == .settled)
            try await store.resume(fixture.platform.key)
            #expect(try await fixture.claim(9).isEmpty)
        }
    }

    @Test(arguments: Engine.withModel)
    func `a push of many batches is cancelled whole`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            _ = try await fixture.registerMany(205)
            let push = try await fixture.push()
            try await fixture.fanOut(batchesOf: 1)
            let held = try await fixture.claim(3)
            #expect(try await fixture.ports.cancel(push.key) == Cancellation(devices: 202, devicesInFlight: 3))
            for batch in held { #expect(try await fixture.ports.settle(Settlement(batch, all: .accepted))) }
            #expect(try await fixture.counts(of: push) == [Self.cancelled: 202, .accepted: 3])
            #expect(try await fixture.ports.receipt(push.receiptID)?.state == .settled)
        }
    }
}

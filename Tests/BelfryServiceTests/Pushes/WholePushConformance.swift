import BelfryTesting
import Foundation
import Testing

@testable import BelfryService

/// Pushes that are accepted with all their batches.
@Suite struct WholePushConformance {
    @Test(arguments: Engine.allCases)
    func `a push naming devices is accepted with its batches`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let other = try await store.create(.of(fixture.application, kind: .androidFCM))
            let here = try await fixture.registerMany(2)
            let there = try await fixture.registerMany(1, on: other)
            let placed = [fixture.platform.key: here, other.key: there]
            let push = try await fixture.push(naming: placed)
            #expect(try await store.claimFanOuts(atMost: 4, lanes: Lane.allCases, for: .seconds(60)).isEmpty)
            var receipt = try #require(try await store.receipt(push.receiptID))
            #expect(receipt.state == .delivering && receipt.counts == [.pending: 3] && receipt.firstAnswerAt == nil)
            #expect(try await store.openReceipts(of: fixture.application.key, limit: 9) == [receipt])

            let batches = try await fixture.claim(9)
            #expect(Dictionary(uniqueKeysWithValues: batches.map { ($0.platformKey, $0.devices) }) == placed)
            let apple = try #require(batches.first { $0.platformKey == fixture.platform.key })
            let android = try #require(batches.first { $0.platformKey == other.key })
            fixture.clock.advance(by: .seconds(1))
            let firstAt = fixture.clock.now
            let half = Settlement(batch: apple, answers: [.gone, .pending], retryAt: firstAt + .seconds(5))
            #expect(try await store.settle([half, Settlement(android, all: .accepted)]) == [true, true])
            receipt = try #require(try await store.receipt(push.receiptID))
            #expect(receipt.counts == [.gone: 1, .accepted: 1, .pending: 1] && receipt.settledAt == nil)
            #expect(receipt.firstAnswerAt == firstAt)

            fixture.clock.advance(by: .seconds(5))
            let again = try await fixture.claimOne()
            #expect(try await store.settle(Settlement(batch: again, answers: [.gone, .accepted], retryAt: nil)))
            receipt = try #require(try await store.receipt(push.receiptID))
            #expect(receipt.counts == [.gone: 1, .accepted: 2] && receipt.state == .settled)
            #expect(receipt.firstAnswerAt == firstAt && receipt.settledAt == fixture.clock.now)
            #expect(try await store.openReceipts(of: fixture.application.key, limit: 9).isEmpty)
            #expect(try await store.receipts(of: fixture.application.key, before: nil, limit: 9) == [receipt])
            #expect(try await store.answer(of: here[1], in: push.key) == .accepted)
            #expect(
                try await store.counts(of: push.key) == [
                    fixture.platform.key: [.sent: 1], other.key: [.sent: 1],
                ])
        }
    }

    @Test(arguments: Engine.allCases)
    func `its counters stay when its answers are deleted`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let devices = try await fixture.registerMany(3)
            let push = try await fixture.push(naming: [fixture.platform.key: devices])
            let open = try await fixture.push(naming: [fixture.platform.key: [devices[0]]])
            let batch = try #require(try await fixture.claim(9).first { $0.pushKey == push.key })
            #expect(
                try await store.settle(Settlement(batch: batch, answers: [.accepted, .gone, .accepted], retryAt: nil)))
            let before = try #require(try await store.receipt(push.receiptID))
            #expect(try await store.deleteExpired(.answers, before: fixture.clock.now) == DeletedRows())
            fixture.clock.advance(by: .seconds(1))
            #expect(try await store.deleteExpired(.answers, before: fixture.clock.now).rows == 1)
            #expect(try await store.receipt(push.receiptID) == before)
            #expect(try await store.answerCounts(of: push.key).isEmpty)
            #expect(try await store.counts(of: push.key) == [fixture.platform.key: [.sent: 2]])
            #expect(try await fixture.counts(of: open) == [.pending: 1])
            #expect(try await store.deleteExpired(.pushes, before: fixture.clock.now).rows == 1)
            #expect(try await store.receipt(push.receiptID) == nil)
            #expect(try await fixture.counts(of: open) == [.pending: 1])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a push whose devices are unknown settles at once`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let push = try await fixture.push(naming: [:])
            let receipt = try #require(try await fixture.ports.receipt(push.receiptID))
            #expect(receipt.state == .settled && receipt.counts.isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `simultaneous pushes are accepted once; a refusal takes no other`(
        engine: Engine
    ) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            var devices: [Device] = []
            for number in 1...5 { devices.append(try await fixture.register("\(number)")) }
            let ids = (0..<60).map { _ in UUID() }
            let pushes = try await withThrowingTaskGroup(of: Push?.self) { group in
                for (number, id) in (ids + ids).enumerated() {
                    let isRefused = number % 20 == 7
                    let device = devices[number % 5]
                    // Every other one leaves its device to be looked up.
                    let isNamed = number.isMultiple(of: 2)
                    let push = NewPush(
                        receiptID: isRefused ? UUID() : id, applicationKey: fixture.application.key,
                        content: .init(body: device.uuid.lowercased), audience: .list(.devices([device.key])),
                        platformKeys: isRefused ? [Key(999)] : [fixture.platform.key], lane: .urgent,
                        devices: isNamed ? nil : [fixture.platform.key: [device.key]],
                        named: isNamed ? [device.uuid] : [])
                    group.addTask {
                        do { return try await store.accept(push) } catch StoreError.unknown { return nil }
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let accepted = pushes.compactMap(\.self)
            #expect(pushes.count - accepted.count == 6)
            let byReceipt = Dictionary(grouping: accepted, by: \.receiptID)
            #expect(byReceipt.values.allSatisfy { Set($0.map(\.key)).count == 1 })
            let batches = try await fixture.claim(200)
            #expect(Set(batches.map(\.pushKey)) == Set(accepted.map(\.key)) && batches.count == byReceipt.count)
            let bodies = Dictionary(accepted.map { ($0.key, $0.content.body) }, uniquingKeysWith: { first, _ in first })
            #expect(
                batches.allSatisfy { batch in
                    devices.contains { [$0.key] == batch.devices && $0.uuid.lowercased == bodies[batch.pushKey] }
                })
        }
    }

    @Test(arguments: Engine.allCases)
    func `a platform that another node deleted is left out`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let device = try await fixture.register("1")
            for named in [[], [device.uuid]] as [[UUID]] {
                let push = try await fixture.store.accept(
                    NewPush(
                        receiptID: UUID(), applicationKey: fixture.application.key, content: .init(body: "hello"),
                        audience: .list(.active), platformKeys: [fixture.platform.key, Key(999)], lane: .urgent,
                        named: named))
                try await fixture.fanOut()
                let batch = try await fixture.claimOne()
                #expect(batch.pushKey == push.key && batch.devices == [device.key])
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `named devices are looked up at acceptance`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let other = try await store.create(.of(fixture.application, kind: .androidFCM))
            let foreign = try await store.create(.of(fixture.application, kind: .web))
            let mine = try await fixture.register("a")
            let dead = try await fixture.register("b")
            let also = try await fixture.register("c", on: other)
            let elsewhere = try await fixture.register("d", on: foreign)
            try await store.unregister(dead.uuid, on: fixture.platform.key)
            let stranger = UUID()
            func push(naming names: [UUID]) async throws -> Push {
                try await store.accept(
                    NewPush(
                        receiptID: UUID(), applicationKey: fixture.application.key, content: .init(body: "hello"),
                        audience: .list(.devices([])), platformKeys: [fixture.platform.key, other.key], lane: .urgent,
                        named: names))
            }

            let names = [also.uuid, stranger, dead.uuid, mine.uuid, elsewhere.uuid, also.uuid, stranger]
            let some = try await push(naming: names)
            let found = [also.key, dead.key, mine.key].sorted()
            #expect(some.audience == .all([.list(.devices(found)), .list(.registered)]))
            #expect(
                try await store.unmatchedNames(of: some.key).devices == UnknownDevices([stranger, elsewhere.uuid]))
            let batches = try await fixture.claim(9)
            #expect(
                Dictionary(uniqueKeysWithValues: batches.map { ($0.platformKey, $0.devices) }) == [
                    fixture.platform.key: [mine.key, dead.key].sorted(), other.key: [also.key],
                ])
            #expect(batches.allSatisfy { $0.pushKey == some.key })

            let one = try await push(naming: [mine.uuid])
            #expect(one.audience == .all([.list(.devices([mine.key])), .list(.registered)]))
            let batch = try await fixture.claimOne()
            #expect(batch.pushKey == one.key && batch.devices == [mine.key])

            let none = try await push(naming: [stranger])
            #expect(try await store.receipt(none.receiptID)?.state == .settled)
            #expect(try await fixture.claim(9).isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `devices are found by their names in a push`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let other = try await store.create(.of(fixture.application, kind: .androidFCM))
            let mine = try await fixture.register("a", user: .set("ada"))
            let also = try await fixture.register("b", user: .set("ada"), on: other)
            let dead = try await fixture.register("c", user: .set("ada"))
            _ = try await fixture.register("d", user: .set("bert"))
            try await store.unregister(dead.uuid, on: fixture.platform.key)
            let both = [fixture.platform.key, other.key]
            #expect(
                try await store.devices(named: .users(["ada", "nobody"]), on: both).found == [
                    fixture.platform.key: [mine.key], other.key: [also.key],
                ])
            let uuids = [also.uuid, dead.uuid, mine.uuid, UUID()]
            #expect(
                try await store.devices(named: .devices(uuids), on: both).found == [
                    fixture.platform.key: [mine.key, dead.key].sorted(), other.key: [also.key],
                ])
            #expect(try await store.devices(named: .devices(uuids), on: [other.key]).found == [other.key: [also.key]])
            #expect(try await store.devices(named: .users(["ada"]), on: []).found.isEmpty)
        }
    }
}

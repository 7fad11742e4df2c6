import BelfryTesting
import Testing

@testable import BelfryService

/// Rows that a store cannot read, and its reports of them.
@Suite struct DamageConformance {
    @Test(arguments: Engine.allCases)
    func `where nothing is damaged there is nothing to write off`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            _ = try await fixture.registerMany(3)
            let push = try await fixture.push()
            try await fixture.fanOut()
            let batch = try await fixture.claimOne()
            let before = try #require(try await fixture.store.receipt(push.receiptID))
            #expect(before.state == .delivering && before.damagedBatches == 0 && before.damagedFanOuts == 0)
            #expect(try await fixture.store.writeOffDamage(of: push.key) == .nothing)
            #expect(try await fixture.store.damagedBatchCount() == 0)
            #expect(try await fixture.store.damagedFanOutCount() == 0)
            #expect(try await fixture.store.receipt(push.receiptID) == before)
            #expect(try await fixture.store.settle(Settlement(batch, all: .accepted)))
        }
    }

    @Test(arguments: DamageableEngine.allCases, [("devices", "ff"), ("answers", "ffff"), ("answers", "00")])
    func `a damaged batch is set aside and sent once mended`(
        damageableEngine: DamageableEngine, damage: (column: String, hex: String)
    ) async throws {
        try await damageableEngine.damageable { damageable in
            let (fixture, store) = (damageable.fixture, damageable.store)
            _ = try await fixture.registerMany(3)
            let hurt = try await fixture.push()
            try await fixture.fanOut()
            try await damageable.run("CREATE TABLE sound AS SELECT * FROM batch")
            try await damageable.damage("batch", damage.column, damage.hex)
            let other = try await fixture.push()
            try await fixture.fanOut()
            #expect(try await fixture.claim(9).map(\.pushKey) == [other.key])
            #expect(damageable.complaints == 1)
            #expect(try await fixture.claim(9).isEmpty)
            let receipt = try #require(try await store.receipt(hurt.receiptID))
            #expect(receipt.state == .damaged && receipt.damagedBatches == 1 && receipt.damagedFanOuts == 0)
            #expect(try await store.damagedBatchCount() == 1)
            let pushes = try await store.damagedPushes(of: [fixture.application.key], limit: 9)
            #expect(pushes.map(\.receiptID) == [hurt.receiptID])
            try await damageable.run(
                """
                UPDATE batch SET devices = sound.devices, answers = sound.answers, due_at_ms = 0 FROM sound
                 WHERE batch.id = sound.id
                """)
            try await damageable.run("DROP TABLE sound")
            let batch = try await fixture.claimOne()
            #expect(batch.pushKey == hurt.key && !batch.isLapsed)
            #expect(try await store.settle(Settlement(batch, all: .accepted)))
            #expect(try await store.writeOffDamage(of: hurt.key) == .nothing)
            #expect(try await fixture.counts(of: hurt) == [.accepted: 3])
            #expect(try await store.damagedBatchCount() == 0)
            #expect(try await store.damagedPushes(of: [fixture.application.key], limit: 9).isEmpty)
            #expect(try await store.damagedPushes(of: [Key(-1)], limit: 9).isEmpty)
        }
    }

    @Test(arguments: DamageableEngine.allCases, [("devices", "ff", 2), ("answers", "01", 3), ("answers", "010064", 2)])
    func `a written-off damaged batch has answers and its push settles`(
        damageableEngine: DamageableEngine, damage: (column: String, hex: String, skipped: Int)
    ) async throws {
        try await damageableEngine.damageable { damageable in
            let (fixture, store, skipped) = (damageable.fixture, damageable.store, damage.skipped)
            _ = try await fixture.registerMany(3)
            let hurt = try await fixture.push()
            try await fixture.fanOut()
            let batch = try await fixture.claimOne()
            // One is notified, two wait.
            #expect(
                try await store.settle(
                    Settlement(batch: batch, answers: [.accepted, .pending, .pending], retryAt: fixture.clock.now)))
            try await damageable.damage("batch", damage.column, damage.hex)
            #expect(try await fixture.claim(9).isEmpty)
            #expect(try await store.writeOffDamage(of: hurt.key) == WriteOff(devices: skipped, fanOuts: 0))
            let receipt = try #require(try await store.receipt(hurt.receiptID))
            #expect(receipt.state == .settled)
            #expect(receipt.counts == [.accepted: 3 - skipped, .skipped(.damaged): skipped].filter { $0.value > 0 })
            #expect(try await store.answerCounts(of: hurt.key) == [fixture.platform.key: receipt.counts])
            let now = fixture.clock.now
            let hours = try await store.counts(
                on: fixture.platform.key, from: now + .seconds(-3_600), until: now + .seconds(3_600), by: .hour)
            #expect(hours.reduce(0) { $0 + $1.activity[.failed] } == Int64(skipped))
            let list = try await store.answers(in: hurt.key, kind: .skipped, after: nil, limit: 9)
            #expect(list.answers.count == (damage.column == "devices" ? 0 : skipped))
            #expect(try await store.damagedBatchCount() == 0)
            #expect(try await store.writeOffDamage(of: hurt.key) == .nothing)
            try await damageable.run("UPDATE batch SET due_at_ms = 0")
            #expect(try await fixture.claim(9).isEmpty)
            // A delivery worker that still has it comes too late.
            #expect(try await !store.settle(Settlement(batch, all: .accepted)))
            #expect(try await store.receipt(hurt.receiptID) == receipt)
        }
    }

    @Test(arguments: DamageableEngine.allCases)
    func `a damaged batch is written off beside healthy ones`(damageableEngine: DamageableEngine)
        async throws
    {
        try await damageableEngine.damageable { damageable in
            let (fixture, store) = (damageable.fixture, damageable.store)
            _ = try await fixture.registerMany(6)
            let hurt = try await fixture.push()
            try await fixture.fanOut(batchesOf: 2)
            let first = try await fixture.claimOne()
            try await damageable.damage("batch", "answers", "00", where: "id = (SELECT max(id) FROM batch)")
            let second = try await fixture.claim(9)
            #expect(second.count == 1)
            for batch in second {
                let delayed = Settlement(
                    batch: batch, answers: [.pending, .pending], retryAt: .zero, retryTimes: [0: 1])
                #expect(try await store.settle(delayed))
            }
            #expect(try await store.writeOffDamage(of: hurt.key).devices == 2)
            #expect(try await fixture.counts(of: hurt) == [.skipped(.damaged): 2, .pending: 4])
            let again = try await fixture.claimOne()
            for batch in [first, again] { #expect(try await store.settle(Settlement(batch, all: .accepted))) }
            #expect(try await store.receipt(hurt.receiptID)?.state == .settled)
            #expect(try await fixture.counts(of: hurt) == [.skipped(.damaged): 2, .accepted: 4])
        }
    }

    @Test(arguments: DamageableEngine.allCases)
    func `a senseless answer leaves the receipt readable beside write-offs`(
        damageableEngine: DamageableEngine
    ) async throws {
        try await damageableEngine.damageable { damageable in
            let (fixture, store) = (damageable.fixture, damageable.store)
            _ = try await fixture.registerMany(4)
            let hurt = try await fixture.push()
            try await fixture.fanOut(batchesOf: 2)
            let done = try await fixture.claimOne()
            #expect(try await store.settle(Settlement(done, all: .accepted)))
            try await damageable.damage("batch", "answers", "0164", where: "id = \(done.key)")
            try await damageable.damage("batch", "answers", "00", where: "id <> \(done.key)")
            #expect(try await fixture.claim(9).isEmpty)
            #expect(try await store.writeOffDamage(of: hurt.key).devices == 2)
            #expect(try await fixture.counts(of: hurt) == [.accepted: 1, .skipped(.damaged): 2, .pending: 1])
        }
    }

    @Test(arguments: DamageableEngine.allCases)
    func `a platform with a damaged batch can be deleted`(damageableEngine: DamageableEngine) async throws {
        try await damageableEngine.damageable { damageable in
            let (fixture, store) = (damageable.fixture, damageable.store)
            _ = try await fixture.registerMany(4)
            let hurt = try await fixture.push()
            try await fixture.fanOut(batchesOf: 2)
            try await damageable.damage("batch", "answers", "00", where: "id = (SELECT max(id) FROM batch)")
            try await store.delete(fixture.platform.key, force: true)
            #expect(try await store.platform(fixture.platform.uuid) == nil)
            #expect(try await fixture.counts(of: hurt) == [.skipped(.missing): 2, .pending: 2])
            #expect(try await store.receipt(hurt.receiptID)?.state == .damaged)
            #expect(try await store.writeOffDamage(of: hurt.key).devices == 2)
            #expect(try await store.receipt(hurt.receiptID)?.state == .settled)
        }
    }
}

/// A push whose own row is what cannot be read.
extension DamageConformance {
    @Test(arguments: DamageableEngine.allCases, ["audience", "content"])
    func `an unreadable push delays nobody, is seen, continues once mended`(
        damageableEngine: DamageableEngine, column: String
    ) async throws {
        try await damageableEngine.damageable { damageable in
            let fixture = damageable.fixture
            _ = try await fixture.registerMany(3)
            let hurt = try await fixture.push()
            try await damageable.run("CREATE TABLE sound AS SELECT * FROM push")
            try await damageable.run("UPDATE push SET \(column) = 'nonsense'")
            let other = try await fixture.push()
            let blank = damageable.blank
            try await blank.fanOut()
            #expect(try await blank.claim(9).map(\.pushKey) == [other.key])
            #expect(damageable.complaints == 1)
            #expect(try await blank.store.damagedFanOutCount() == 1)
            let receipt = try #require(try await blank.store.receipt(hurt.receiptID))
            #expect(receipt.state == .damaged && receipt.damagedFanOuts == 1 && receipt.damagedBatches == 0)
            let list = try await blank.store.receipts(of: fixture.application.key, before: nil, limit: 9)
            #expect(list.map(\.push.key) == [other.key, hurt.key])

            try await damageable.run(
                "UPDATE push SET \(column) = sound.\(column) FROM sound WHERE push.id = sound.id")
            try await damageable.run("DROP TABLE sound")
            try await damageable.run("UPDATE fan_out SET due_at_ms = 0")
            try await blank.fanOut()
            #expect(try await blank.store.damagedFanOutCount() == 0)
            let batch = try await blank.claimOne()
            #expect(batch.pushKey == hurt.key)
            #expect(try await blank.store.load(batch)?.push == hurt)
            #expect(try await blank.store.settle(Settlement(batch, all: .accepted)))
            #expect(try await blank.counts(of: hurt) == [.accepted: 3])
        }
    }

    @Test(arguments: DamageableEngine.allCases)
    func `an unreadable push is written off in place`(damageableEngine: DamageableEngine) async throws {
        try await damageableEngine.damageable { damageable in
            let (fixture, store) = (damageable.fixture, damageable.neighbour)
            _ = try await fixture.registerMany(3)
            let hurt = try await fixture.push()
            try await damageable.run("UPDATE push SET audience = 'nonsense'")
            #expect(try await damageable.blank.claimFanOuts().isEmpty)
            let pushes = try await store.damagedPushes(of: [fixture.application.key], limit: 9)
            #expect(pushes.map(\.receiptID) == [hurt.receiptID])
            #expect(try await store.writeOffDamage(of: hurt.key) == WriteOff(devices: 0, fanOuts: 1))
            let receipt = try #require(try await store.receipt(hurt.receiptID))
            #expect(receipt.state == .settled && receipt.counts.isEmpty && receipt.firstAnswerAt == nil)
            #expect(try await store.damagedFanOutCount() == 0)
            #expect(try await store.writeOffDamage(of: hurt.key) == .nothing)
        }
    }

    @Test(arguments: DamageableEngine.allCases)
    func `an unreadable push's batches are set aside and written off`(
        damageableEngine: DamageableEngine
    ) async throws {
        try await damageableEngine.damageable { damageable in
            let fixture = damageable.fixture
            _ = try await fixture.registerMany(6)
            let hurt = try await fixture.push(guarantee: .atMostOnce)
            try await fixture.fanOut(batchesOf: 2)
            let done = try await fixture.claimOne()
            #expect(try await fixture.store.settle(Settlement(done, all: .accepted)))
            try await damageable.run("UPDATE push SET content = 'nonsense'")
            let blank = damageable.blank
            let batch = try await blank.claimOne()
            #expect(try await blank.store.load(batch) == nil)
            #expect(damageable.complaints == 1)
            #expect(try await blank.store.damagedBatchCount() == 1)
            #expect(try await blank.store.receipt(hurt.receiptID)?.state == .damaged)
            // Its lease is over, so a second word changes nothing.
            #expect(try await blank.store.load(batch) == nil)
            #expect(damageable.complaints == 1)
            fixture.clock.advance(by: Damage.setAsideFor)
            #expect(try await blank.claim(9).allSatisfy { !$0.isLapsed })

            #expect(try await blank.store.writeOffDamage(of: hurt.key) == WriteOff(devices: 4, fanOuts: 0))
            let receipt = try #require(try await blank.store.receipt(hurt.receiptID))
            #expect(receipt.state == .settled && receipt.counts == [.accepted: 2, .skipped(.damaged): 4])
            #expect(try await blank.store.answerCounts(of: hurt.key) == [fixture.platform.key: receipt.counts])
            #expect(try await blank.store.damagedBatchCount() == 0)
        }
    }
}

extension DamageConformance {
    @Test(arguments: DamageableEngine.allCases)
    func `damaged topics of a device hold back no other`(damageableEngine: DamageableEngine) async throws {
        try await damageableEngine.damageable { damageable in
            let (fixture, store) = (damageable.fixture, damageable.store)
            let hurt = try await fixture.register("hurt", topics: .replace(["t"]))
            let sound = try await fixture.register("sound", topics: .replace(["t"]))
            try await damageable.damage("device", "topics", "ff", where: "id = \(hurt.key)")
            #expect(try await damageable.blank.devices(.topic("t")).contains(sound.key))
            let push = try await fixture.push(to: .list(.active))
            try await fixture.fanOut()
            let batch = try await fixture.claimOne()
            let dead = Settlement.DeadToken(device: hurt.key, since: fixture.clock.now + .seconds(1))
            #expect(try await store.settle(Settlement(batch, all: .accepted, deadTokens: [dead])))
            #expect(try await fixture.counts(of: push) == [.accepted: 2])
        }
    }
}

extension DamageConformance {
    @Test(arguments: DamageableEngine.allCases)
    func `a list of answers passes many unreadable batches`(damageableEngine: DamageableEngine) async throws {
        try await damageableEngine.damageable { damageable in
            let (fixture, store) = (damageable.fixture, damageable.store)
            for number in 1...205 { _ = try await fixture.register("\(number)") }
            let push = try await fixture.push()
            try await fixture.fanOut(batchesOf: 1)
            try await damageable.damage(
                "batch", "answers", "ffff", where: "first_device_id < (SELECT max(first_device_id) FROM batch)")
            var (pages, found, cursor): (Int, Int, AnswerCursor?) = (0, 0, nil)
            repeat {
                let page = try await store.answers(in: push.key, kind: .all, after: cursor, limit: 9)
                (pages, found, cursor) = (pages + 1, found + page.answers.count, page.next)
            } while cursor != nil && pages < 5
            #expect(found == 1 && cursor == nil, "\(pages) pages")
        }
    }
}

extension TestStore {
    fileprivate func claimFanOuts() async throws -> [FanOut] {
        try await store.claimFanOuts(atMost: 9, lanes: Lane.allCases, for: .seconds(60))
    }
}

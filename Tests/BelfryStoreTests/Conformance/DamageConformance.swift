import BelfryCore
import BelfryTesting
import Testing

/// What a store says of rows that it cannot read.
@Suite struct DamageConformance {
    @Test(arguments: Engine.allCases)
    func `where nothing is damaged there is nothing to write off`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            _ = try await scene.registerMany(3)
            let push = try await scene.push()
            try await scene.spread()
            let page = try await scene.claimOne()
            let before = try #require(try await scene.store.receipt(push.receiptID))
            #expect(before.state == .delivering && before.damagedPages == 0 && before.damagedWalks == 0)
            #expect(try await scene.store.writeOffDamage(of: push.key) == .nothing)
            #expect(try await scene.store.damagedPageCount() == 0)
            #expect(try await scene.store.damagedWalkCount() == 0)
            #expect(try await scene.store.receipt(push.receiptID) == before)
            #expect(try await scene.store.settle(Settlement(page, all: .accepted)))
        }
    }

    @Test(arguments: Hull.allCases, [("devices", "ff"), ("answers", "ffff"), ("answers", "00")])
    func `a damaged page is set aside, others go on, and once mended it is carried`(
        hull: Hull, damage: (column: String, hex: String)
    ) async throws {
        try await hull.wreck { wreck in
            let (scene, store) = (wreck.scene, wreck.store)
            _ = try await scene.registerMany(3)
            let hurt = try await scene.push()
            try await scene.spread()
            try await wreck.run("CREATE TABLE sound AS SELECT * FROM page")
            try await wreck.damage("page", damage.column, damage.hex)
            let other = try await scene.push()
            try await scene.spread()
            #expect(try await scene.claim(9).map(\.pushKey) == [other.key])
            #expect(wreck.complaints == 1)
            #expect(try await scene.claim(9).isEmpty)
            let receipt = try #require(try await store.receipt(hurt.receiptID))
            #expect(receipt.state == .damaged && receipt.damagedPages == 1 && receipt.damagedWalks == 0)
            #expect(try await store.damagedPageCount() == 1)
            try await wreck.run(
                """
                UPDATE page SET devices = sound.devices, answers = sound.answers, due_at_ms = 0 FROM sound
                 WHERE page.id = sound.id
                """)
            try await wreck.run("DROP TABLE sound")
            let page = try await scene.claimOne()
            #expect(page.pushKey == hurt.key && !page.isLapsed)
            #expect(try await store.settle(Settlement(page, all: .accepted)))
            #expect(try await store.writeOffDamage(of: hurt.key) == .nothing)
            #expect(try await scene.counts(of: hurt) == [.accepted: 3])
            #expect(try await store.damagedPageCount() == 0)
        }
    }

    @Test(arguments: Hull.allCases, [("devices", "ff", 2), ("answers", "01", 3), ("answers", "010064", 2)])
    func `a damaged page that is written off has an answer for each device, and its push settles`(
        hull: Hull, damage: (column: String, hex: String, skipped: Int)
    ) async throws {
        try await hull.wreck { wreck in
            let (scene, store, skipped) = (wreck.scene, wreck.store, damage.skipped)
            _ = try await scene.registerMany(3)
            let hurt = try await scene.push()
            try await scene.spread()
            let page = try await scene.claimOne()
            // One is told, two wait.
            #expect(
                try await store.settle(
                    Settlement(page: page, answers: [.accepted, .pending, .pending], retryAt: scene.clock.now)))
            try await wreck.damage("page", damage.column, damage.hex)
            #expect(try await scene.claim(9).isEmpty)
            #expect(try await store.writeOffDamage(of: hurt.key) == WriteOff(devices: skipped, walks: 0))
            let receipt = try #require(try await store.receipt(hurt.receiptID))
            #expect(receipt.state == .settled)
            #expect(receipt.counts == [.accepted: 3 - skipped, .skipped(.damaged): skipped].filter { $0.value > 0 })
            #expect(try await store.answerCounts(of: hurt.key) == [scene.platform.key: receipt.counts])
            let list = try await store.answers(in: hurt.key, kind: .skipped, after: nil, limit: 9)
            #expect(list.answers.count == (damage.column == "devices" ? 0 : skipped))
            #expect(try await store.damagedPageCount() == 0)
            #expect(try await store.writeOffDamage(of: hurt.key) == .nothing)
            try await wreck.run("UPDATE page SET due_at_ms = 0")
            #expect(try await scene.claim(9).isEmpty)
            // A courier that still has it comes too late.
            #expect(try await !store.settle(Settlement(page, all: .accepted)))
            #expect(try await store.receipt(hurt.receiptID) == receipt)
        }
    }

    @Test(arguments: Hull.allCases)
    func `a damaged page is written off beside others of its push that go on`(hull: Hull) async throws {
        try await hull.wreck { wreck in
            let (scene, store) = (wreck.scene, wreck.store)
            _ = try await scene.registerMany(6)
            let hurt = try await scene.push()
            try await scene.spread(pagesOf: 2)
            let first = try await scene.claimOne()
            try await wreck.damage("page", "answers", "00", where: "id = (SELECT max(id) FROM page)")
            let second = try await scene.claim(9)
            #expect(second.count == 1)
            for page in second {
                let resting = Settlement(page: page, answers: [.pending, .pending], retryAt: .zero, rests: [0: 1])
                #expect(try await store.settle(resting))
            }
            #expect(try await store.writeOffDamage(of: hurt.key).devices == 2)
            #expect(try await scene.counts(of: hurt) == [.skipped(.damaged): 2, .pending: 4])
            let again = try await scene.claimOne()
            for page in [first, again] { #expect(try await store.settle(Settlement(page, all: .accepted))) }
            #expect(try await store.receipt(hurt.receiptID)?.state == .settled)
            #expect(try await scene.counts(of: hurt) == [.skipped(.damaged): 2, .accepted: 4])
        }
    }

    @Test(arguments: Hull.allCases)
    func `an answer without meaning in a page that is done leaves the receipt readable when another is written off`(
        hull: Hull
    ) async throws {
        try await hull.wreck { wreck in
            let (scene, store) = (wreck.scene, wreck.store)
            _ = try await scene.registerMany(4)
            let hurt = try await scene.push()
            try await scene.spread(pagesOf: 2)
            let done = try await scene.claimOne()
            #expect(try await store.settle(Settlement(done, all: .accepted)))
            try await wreck.damage("page", "answers", "0164", where: "id = \(done.key)")
            try await wreck.damage("page", "answers", "00", where: "id <> \(done.key)")
            #expect(try await scene.claim(9).isEmpty)
            #expect(try await store.writeOffDamage(of: hurt.key).devices == 2)
            #expect(try await scene.counts(of: hurt) == [.accepted: 1, .skipped(.damaged): 2, .pending: 1])
        }
    }

    @Test(arguments: Hull.allCases)
    func `a platform with a damaged page can be deleted`(hull: Hull) async throws {
        try await hull.wreck { wreck in
            let (scene, store) = (wreck.scene, wreck.store)
            _ = try await scene.registerMany(4)
            let hurt = try await scene.push()
            try await scene.spread(pagesOf: 2)
            try await wreck.damage("page", "answers", "00", where: "id = (SELECT max(id) FROM page)")
            try await store.delete(scene.platform.key, force: true)
            #expect(try await store.platform(scene.platform.uuid) == nil)
            #expect(try await scene.counts(of: hurt) == [.skipped(.missing): 2, .pending: 2])
            #expect(try await store.receipt(hurt.receiptID)?.state == .damaged)
            #expect(try await store.writeOffDamage(of: hurt.key).devices == 2)
            #expect(try await store.receipt(hurt.receiptID)?.state == .settled)
        }
    }
}

/// A push whose own row is what cannot be read.
extension DamageConformance {
    @Test(arguments: Hull.allCases, ["audience", "content"])
    func `a push that cannot be read holds up no other, is seen, and once mended goes on`(
        hull: Hull, column: String
    ) async throws {
        try await hull.wreck { wreck in
            let scene = wreck.scene
            _ = try await scene.registerMany(3)
            let hurt = try await scene.push()
            try await wreck.run("CREATE TABLE sound AS SELECT * FROM push")
            try await wreck.run("UPDATE push SET \(column) = 'nonsense'")
            let other = try await scene.push()
            let blank = wreck.blank
            try await blank.spread()
            #expect(try await blank.claim(9).map(\.pushKey) == [other.key])
            #expect(wreck.complaints == 1)
            #expect(try await blank.store.damagedWalkCount() == 1)
            let receipt = try #require(try await blank.store.receipt(hurt.receiptID))
            #expect(receipt.state == .damaged && receipt.damagedWalks == 1 && receipt.damagedPages == 0)
            let list = try await blank.store.receipts(of: scene.application.key, before: nil, limit: 9)
            #expect(list.map(\.push.key) == [other.key, hurt.key])

            try await wreck.run(
                "UPDATE push SET \(column) = sound.\(column) FROM sound WHERE push.id = sound.id")
            try await wreck.run("DROP TABLE sound")
            try await wreck.run("UPDATE walk SET due_at_ms = 0")
            try await blank.spread()
            #expect(try await blank.store.damagedWalkCount() == 0)
            let page = try await blank.claimOne()
            #expect(page.pushKey == hurt.key)
            #expect(try await blank.store.load(page)?.push == hurt)
            #expect(try await blank.store.settle(Settlement(page, all: .accepted)))
            #expect(try await blank.counts(of: hurt) == [.accepted: 3])
        }
    }

    @Test(arguments: Hull.allCases)
    func `a push that cannot be read is written off where it stands`(hull: Hull) async throws {
        try await hull.wreck { wreck in
            let (scene, store) = (wreck.scene, wreck.neighbour)
            _ = try await scene.registerMany(3)
            let hurt = try await scene.push()
            try await wreck.run("UPDATE push SET audience = 'nonsense'")
            #expect(try await wreck.blank.claimWalks().isEmpty)
            #expect(try await store.writeOffDamage(of: hurt.key) == WriteOff(devices: 0, walks: 1))
            let receipt = try #require(try await store.receipt(hurt.receiptID))
            #expect(receipt.state == .settled && receipt.counts.isEmpty && receipt.firstAnswerAt == nil)
            #expect(try await store.damagedWalkCount() == 0)
            #expect(try await store.writeOffDamage(of: hurt.key) == .nothing)
        }
    }

    @Test(arguments: Hull.allCases)
    func `pages of a push that cannot be read are set aside as if nobody had carried them, and written off together`(
        hull: Hull
    ) async throws {
        try await hull.wreck { wreck in
            let scene = wreck.scene
            _ = try await scene.registerMany(6)
            let hurt = try await scene.push(guarantee: .atMostOnce)
            try await scene.spread(pagesOf: 2)
            let done = try await scene.claimOne()
            #expect(try await scene.store.settle(Settlement(done, all: .accepted)))
            try await wreck.run("UPDATE push SET content = 'nonsense'")
            let blank = wreck.blank
            let page = try await blank.claimOne()
            #expect(try await blank.store.load(page) == nil)
            #expect(wreck.complaints == 1)
            #expect(try await blank.store.damagedPageCount() == 1)
            #expect(try await blank.store.receipt(hurt.receiptID)?.state == .damaged)
            // Its lease is over, so a second word changes nothing.
            #expect(try await blank.store.load(page) == nil)
            #expect(wreck.complaints == 1)
            scene.clock.advance(by: Damage.setAsideFor)
            #expect(try await blank.claim(9).allSatisfy { !$0.isLapsed })

            #expect(try await blank.store.writeOffDamage(of: hurt.key) == WriteOff(devices: 4, walks: 0))
            let receipt = try #require(try await blank.store.receipt(hurt.receiptID))
            #expect(receipt.state == .settled && receipt.counts == [.accepted: 2, .skipped(.damaged): 4])
            #expect(try await blank.store.answerCounts(of: hurt.key) == [scene.platform.key: receipt.counts])
            #expect(try await blank.store.damagedPageCount() == 0)
        }
    }
}

extension Scene {
    fileprivate func claimWalks() async throws -> [Walk] {
        try await store.claimWalks(atMost: 9, lanes: Lane.allCases, for: .seconds(60))
    }
}

import BelfryCore
import BelfryTesting
import Foundation
import Testing

@Suite struct UpkeepConformance {
    @Test(arguments: Engine.allCases)
    func `applications and platforms get new names and secrets`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let (store, application) = (scene.store, scene.application)
            try await store.rename(application.key, to: try Name("renamed"))
            try await store.replaceAPIKey(of: application.key, with: [7, 7])
            try await store.replaceSharedSecret(of: application.key, with: Sealed(bytes: [8, 8]))
            let changed = try #require(try await store.application(application.uuid))
            #expect(changed.name == "renamed")
            #expect(changed.apiKeyHash == [7, 7])
            #expect(changed.sharedSecret == Sealed(bytes: [8, 8]))
            #expect(changed.key == application.key && changed.tenantKey == application.tenantKey)
            try await store.rename(scene.platform.key, to: try Name("tablets"))
            #expect(try await store.platform(scene.platform.uuid)?.name == "tablets")
            await #expect(throws: StoreError.self) { try await store.rename(Key<Application>(99), to: try Name("a")) }
            await #expect(throws: StoreError.self) { try await store.rename(Key<Platform>(99), to: try Name("a")) }
        }
    }

    @Test(arguments: Engine.allCases)
    func `a platform with active devices is deleted by force only`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let store = scene.store
            let device = try await scene.register("a", topics: .replace(["t"]))
            await #expect(throws: StoreError.self) { try await store.delete(scene.platform.key, force: false) }
            #expect(try await store.platform(scene.platform.uuid) != nil)
            try await store.unregister(device.uuid, on: scene.platform.key)
            try await store.delete(scene.platform.key, force: false)
            #expect(try await store.platform(scene.platform.uuid) == nil)
            #expect(try await store.platforms(of: scene.application.key).isEmpty)
            #expect(try await store.device(device.uuid, on: scene.platform.key) == nil)
            await #expect(throws: StoreError.self) { try await store.delete(scene.platform.key, force: true) }
            await #expect(throws: StoreError.self) { try await scene.register("b") }
        }
    }

    @Test(arguments: Engine.allCases)
    func `pushes do not wait for a deleted platform, and keep the answers they have`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let store = scene.store
            let other = try await store.create(.of(scene.application))
            _ = try await scene.registerMany(6)
            let there = try await scene.register("elsewhere", on: other)
            let carried = try await scene.push(on: [scene.platform, other])
            try await scene.spread(pagesOf: 4)
            let page = try await scene.claimOne()
            #expect(try await store.settle(Settlement(page, all: .accepted)))
            let late = try await scene.claimOne()
            let unspread = try await scene.push(lane: .bulk)
            try await store.delete(scene.platform.key, force: true)
            #expect(try await store.settle(Settlement(late, all: .accepted)) == (late.platformKey == other.key))
            for page in try await scene.claim(10) { _ = try await store.settle(Settlement(page, all: .accepted)) }
            let counts = try await scene.counts(of: carried)
            let told = page.platformKey == other.key ? 1 : page.devices.count + 1
            #expect(counts == [.accepted: told, .skipped(.missing): 7 - told].filter { $0.value > 0 })
            for push in [carried, unspread] {
                #expect(try await store.receipt(push.receiptID)?.state == .settled)
            }
            #expect(try await store.device(there.uuid, on: other.key) != nil)
            #expect(try await store.nextDue() == nil)
        }
    }
}

@Suite struct ReceiptConformance {
    @Test(arguments: Engine.allCases)
    func `an application's pushes are listed newest first, a page at a time`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let store = scene.store
            let stranger = try await store.create(.named("weather"))
            _ = try await scene.push(on: [], of: stranger)
            var pushes: [PushHead] = []
            for number in 1...5 { pushes.append(try await scene.push(body: "\(number)").head) }
            let newest = try await store.receipts(of: scene.application.key, before: nil, limit: 3)
            #expect(newest.map(\.push) == [pushes[4], pushes[3], pushes[2]])
            let rest = try await store.receipts(of: scene.application.key, before: newest.last?.push.key, limit: 3)
            #expect(rest.map(\.push) == [pushes[1], pushes[0]])
            for (before, heads) in [(nil, [4, 3, 2]), (pushes[2].key, [1, 0]), (pushes[0].key, [])] {
                let found = try await store.pushes(of: scene.application.key, before: before, limit: 3)
                #expect(found == heads.map { pushes[$0] })
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `an application's open pushes are listed newest first, until they settle`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let store = scene.store
            try await scene.register("a")
            let stranger = try await store.create(.named("weather"))
            let (spread, nobodys) = (try await scene.push(), try await scene.push(on: []))
            try await scene.spread()
            let last = try await scene.push()
            _ = try await scene.push(on: [], of: stranger)
            #expect(try await store.receipt(nobodys.receiptID)?.state == .settled)
            let open = try await store.openReceipts(of: scene.application.key, limit: 3)
            #expect(open.map(\.push) == [last.head, spread.head])
            #expect(open.map(\.state) == [.spreading, .delivering])
            #expect(try await store.openReceipts(of: scene.application.key, limit: 1).map(\.push) == [last.head])
            for page in try await scene.claim(1) {
                #expect(try await store.settle(Settlement(page: page, answers: [.accepted], retryAt: nil)))
            }
            #expect(try await store.openReceipts(of: scene.application.key, limit: 3).map(\.push) == [last.head])
            #expect(try await store.openReceipts(of: stranger.key, limit: 3).isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `the counters of the platforms add up to those of the push`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let store = scene.store
            let other = try await store.create(.of(scene.application))
            for number in 1...7 { try await scene.register("\(number)", on: number <= 4 ? scene.platform : other) }
            let push = try await scene.push(on: [scene.platform, other])
            try await scene.spread(pagesOf: 3)
            for page in try await scene.claim(20) where page.platformKey == other.key {
                let answers: [Answer] = page.devices.indices.map { $0 == 0 ? .gone : .accepted }
                #expect(try await store.settle(Settlement(page: page, answers: answers, retryAt: nil)))
            }
            let counts = try await store.answerCounts(of: push.key)
            #expect(counts == [scene.platform.key: [.pending: 4], other.key: [.gone: 1, .accepted: 2]])
            #expect(try await store.answerCounts(of: Key(99)).isEmpty)
            try await store.delete(scene.platform.key, force: true)
            #expect(try await store.answerCounts(of: push.key)[scene.platform.key] == [.skipped(.missing): 4])
        }
    }

    @Test(arguments: Engine.allCases, [1, 3, 100])
    func `every device with one kind of answer is found once, a page at a time`(
        engine: Engine, limit: Int
    ) async throws {
        try await Scene.play(on: engine) { scene in
            let store = scene.store
            let other = try await store.create(.of(scene.application))
            for number in 1...9 {
                try await scene.register("\(number)", on: number.isMultiple(of: 2) ? other : scene.platform)
            }
            let push = try await scene.push(on: [scene.platform, other])
            try await scene.spread(pagesOf: 2)
            var expected: [UUID: Answer] = [:]
            for page in try await scene.claim(20) {
                let answers = page.devices.map { device -> Answer in
                    device.rawValue.isMultiple(of: 3) ? .accepted : .refused(.badToken)
                }
                let settlement = Settlement(page: page, answers: answers, retryAt: nil)
                #expect(try await store.settle(settlement))
            }
            for number in 1...9 {
                let device = try await scene.register(
                    "\(number)", on: number.isMultiple(of: 2) ? other : scene.platform)
                expected[device.uuid] = try await store.answer(of: device.key, in: push.key)
            }
            for kind in [Answer.Kind.failed, .accepted, .gone] {
                var found: [UUID] = []
                var cursor: AnswerCursor?
                repeat {
                    let page = try await store.answers(in: push.key, kind: kind, after: cursor, limit: limit)
                    #expect(page.answers.count <= limit)
                    #expect(page.answers.allSatisfy { expected[$0.uuid] == $0.answer })
                    found += page.answers.map(\.uuid)
                    cursor = page.next
                } while cursor != nil
                #expect(found.count == Set(found).count)
                #expect(Set(found) == Set(expected.filter { kind.includes($0.value) }.keys), "\(kind)")
            }
        }
    }
}

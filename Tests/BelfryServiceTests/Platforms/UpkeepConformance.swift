import BelfryTesting
import Foundation
import Testing

@testable import BelfryService

@Suite struct UpkeepConformance {
    @Test(arguments: Engine.allCases)
    func `applications and platforms get new names and secrets`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, application) = (fixture.store, fixture.application)
            try await store.edit(application.key, ApplicationEdit(name: try Name("renamed")))
            try await store.edit(application.key, ApplicationEdit(description: try Description("sends weather")))
            #expect(try await store.application(application.uuid)?.ignoresUnknownFields == false)
            try await store.edit(application.key, ApplicationEdit(ignoresUnknownFields: true))
            try await store.replaceAPIKey(of: application, with: [7, 7], graceEnd: nil)
            try await store.replaceSharedSecret(of: application, with: Sealed(bytes: [8, 8]), graceEnd: nil)
            let changed = try #require(try await store.application(application.uuid))
            #expect(changed.name == "renamed" && changed.description == "sends weather")
            #expect(changed.ignoresUnknownFields)
            #expect(changed.previousAPIKey == nil && changed.previousSharedSecret == nil)
            #expect(changed.apiKeyHash == [7, 7])
            #expect(changed.sharedSecret == Sealed(bytes: [8, 8]))
            #expect(changed.key == application.key && changed.tenantKey == application.tenantKey)
            try await store.edit(
                fixture.platform.key,
                PlatformEdit(name: try Name("tablets"), description: try Description("of the shops")))
            let platform = try #require(try await store.platform(fixture.platform.uuid))
            #expect(platform.name == "tablets" && platform.description == "of the shops")
            #expect(platform.mode == fixture.platform.mode && platform.credentialsVersion == 1)
            let edits = (ApplicationEdit(name: try Name("a")), PlatformEdit(name: try Name("a")))
            await #expect(throws: StoreError.self) { try await store.edit(Key<Application>(99), edits.0) }
            await #expect(throws: StoreError.self) { try await store.edit(Key<Platform>(99), edits.1) }
        }
    }

    @Test(arguments: Engine.allCases)
    func `replaced secrets stay beside new ones until grace ends`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, old) = (fixture.store, fixture.application)
            let end = Instant(milliseconds: 5_000_000_000_000)
            try await store.replaceAPIKey(of: old, with: [7, 7], graceEnd: end)
            try await store.replaceSharedSecret(of: old, with: Sealed(bytes: [8, 8]), graceEnd: end)
            let changed = try #require(try await store.application(old.uuid))
            #expect(changed.previousAPIKey == PreviousSecret(old.apiKeyHash, validUntil: end))
            #expect(changed.previousSharedSecret == PreviousSecret(old.sharedSecret, validUntil: end))
            // Of two rotations at once the second finds another secret than it saw.
            await #expect(throws: StoreError.self) {
                try await store.replaceAPIKey(of: old, with: [6], graceEnd: end)
            }
            await #expect(throws: StoreError.self) {
                try await store.replaceSharedSecret(of: old, with: Sealed(bytes: [6]), graceEnd: end)
            }
            #expect(try await store.application(old.uuid) == changed)
            let sealed = try await store.sealedSecrets(.previousSharedSecret, after: nil, limit: 9)
            #expect(sealed.map(\.seal) == [old.sharedSecret])
            #expect(try await store.reseal(try #require(sealed.first), as: Sealed(bytes: [9])))
            #expect(try await store.application(old.uuid)?.previousSharedSecret?.value == Sealed(bytes: [9]))
        }
    }

    @Test(arguments: Engine.allCases)
    func `another mode renews the client and resumes its parking`(
        engine: Engine
    ) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, platform) = (fixture.store, fixture.platform)
            let parking = Parking(cause: .credentials, detail: "refused", since: .zero)
            try await store.park(platform.key, parking)
            try await store.edit(platform.key, PlatformEdit(mode: platform.mode))
            #expect(try await store.platform(platform.uuid)?.parked != nil)
            let other: Platform.Mode = platform.mode == .production ? .development : .production
            try await store.edit(platform.key, PlatformEdit(mode: other))
            let edited = try #require(try await store.platform(platform.uuid))
            #expect(edited.mode == other && edited.parked == nil && edited.credentialsVersion == 2)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a UUID that any application or platform has is taken`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, theirs) = (fixture.store, fixture.application)
            let again = NewApplication(
                uuid: theirs.uuid, name: "mine", apiKeyHash: [1], sharedSecret: Sealed(bytes: [1]))
            await #expect(throws: StoreError.taken("the application")) { try await store.create(again) }
            let mine = try await store.create(.named("mine"))
            let platform = NewPlatform(
                uuid: fixture.platform.uuid, applicationKey: mine.key, kind: .web, mode: .production, name: "web",
                secretHash: [1], credentials: Sealed(bytes: [1]))
            await #expect(throws: StoreError.taken("the platform")) { try await store.create(platform) }
            #expect(try await store.application(theirs.uuid) == theirs)
            #expect(try await store.platforms(of: mine.key).isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a platform with active devices is deleted by force only`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let device = try await fixture.register("a", topics: .replace(["t"]))
            await #expect(throws: StoreError.self) { try await store.delete(fixture.platform.key, force: false) }
            #expect(try await store.platform(fixture.platform.uuid) != nil)
            try await store.unregister(device.uuid, on: fixture.platform.key)
            try await store.delete(fixture.platform.key, force: false)
            #expect(try await store.platform(fixture.platform.uuid) == nil)
            #expect(try await store.platforms(of: fixture.application.key).isEmpty)
            #expect(try await store.device(device.uuid, on: fixture.platform.key) == nil)
            await #expect(throws: StoreError.self) { try await store.delete(fixture.platform.key, force: true) }
            await #expect(throws: StoreError.self) { try await fixture.register("b") }
        }
    }

    @Test(arguments: Engine.allCases)
    func `pushes ignore a deleted platform and keep its answers`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let other = try await store.create(.of(fixture.application))
            _ = try await fixture.registerMany(6)
            let there = try await fixture.register("elsewhere", on: other)
            let carried = try await fixture.push(on: [fixture.platform, other])
            try await fixture.fanOut(batchesOf: 4)
            let batch = try await fixture.claimOne()
            #expect(try await store.settle(Settlement(batch, all: .accepted)))
            let late = try await fixture.claimOne()
            let notFannedOut = try await fixture.push(lane: .bulk)
            try await store.delete(fixture.platform.key, force: true)
            #expect(try await store.settle(Settlement(late, all: .accepted)) == (late.platformKey == other.key))
            for batch in try await fixture.claim(10) { _ = try await store.settle(Settlement(batch, all: .accepted)) }
            let counts = try await fixture.counts(of: carried)
            let told = batch.platformKey == other.key ? 1 : batch.devices.count + 1
            #expect(counts == [.accepted: told, .skipped(.missing): 7 - told].filter { $0.value > 0 })
            for push in [carried, notFannedOut] {
                #expect(try await store.receipt(push.receiptID)?.state == .settled)
            }
            #expect(try await store.device(there.uuid, on: other.key) != nil)
            #expect(try await store.nextDue() == nil)
        }
    }
}

@Suite struct ReceiptConformance {
    @Test(arguments: Engine.allCases)
    func `an application's pushes are listed newest first, in pages`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let stranger = try await store.create(.named("weather"))
            _ = try await fixture.push(on: [], of: stranger)
            var pushes: [PushHead] = []
            for number in 1...5 { pushes.append(try await fixture.push(body: "\(number)").head) }
            let newest = try await store.receipts(of: fixture.application.key, before: nil, limit: 3)
            #expect(newest.map(\.push) == [pushes[4], pushes[3], pushes[2]])
            let rest = try await store.receipts(of: fixture.application.key, before: newest.last?.push.key, limit: 3)
            #expect(rest.map(\.push) == [pushes[1], pushes[0]])
            for (before, heads) in [(nil, [4, 3, 2]), (pushes[2].key, [1, 0]), (pushes[0].key, [])] {
                let found = try await store.pushes(of: fixture.application.key, before: before, limit: 3)
                #expect(found == heads.map { pushes[$0] })
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `an application's open pushes are listed newest first`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            try await fixture.register("a")
            let stranger = try await store.create(.named("weather"))
            let (fanOut, nobodys) = (try await fixture.push(), try await fixture.push(on: []))
            try await fixture.fanOut()
            let last = try await fixture.push()
            _ = try await fixture.push(on: [], of: stranger)
            #expect(try await store.receipt(nobodys.receiptID)?.state == .settled)
            let open = try await store.openReceipts(of: fixture.application.key, limit: 3)
            #expect(open.map(\.push) == [last.head, fanOut.head])
            #expect(open.map(\.state) == [.fanningOut, .delivering])
            #expect(try await store.openReceipts(of: fixture.application.key, limit: 1).map(\.push) == [last.head])
            for batch in try await fixture.claim(1) {
                #expect(try await store.settle(Settlement(batch: batch, answers: [.accepted], retryAt: nil)))
            }
            #expect(try await store.openReceipts(of: fixture.application.key, limit: 3).map(\.push) == [last.head])
            #expect(try await store.openReceipts(of: stranger.key, limit: 3).isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `platform counters add up to the push's`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let other = try await store.create(.of(fixture.application))
            for number in 1...7 { try await fixture.register("\(number)", on: number <= 4 ? fixture.platform : other) }
            let push = try await fixture.push(on: [fixture.platform, other])
            try await fixture.fanOut(batchesOf: 3)
            for batch in try await fixture.claim(20) where batch.platformKey == other.key {
                let answers: [Answer] = batch.devices.indices.map { $0 == 0 ? .gone : .accepted }
                #expect(try await store.settle(Settlement(batch: batch, answers: answers, retryAt: nil)))
            }
            let counts = try await store.answerCounts(of: push.key)
            #expect(counts == [fixture.platform.key: [.pending: 4], other.key: [.gone: 1, .accepted: 2]])
            #expect(try await store.answerCounts(of: Key(99)).isEmpty)
            try await store.delete(fixture.platform.key, force: true)
            #expect(try await store.answerCounts(of: push.key)[fixture.platform.key] == [.skipped(.missing): 4])
        }
    }

    @Test(arguments: Engine.allCases, [1, 3, 100])
    func `every device with one answer is found once, in pages`(
        engine: Engine, limit: Int
    ) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let other = try await store.create(.of(fixture.application))
            for number in 1...9 {
                try await fixture.register("\(number)", on: number.isMultiple(of: 2) ? other : fixture.platform)
            }
            let push = try await fixture.push(on: [fixture.platform, other])
            try await fixture.fanOut(batchesOf: 2)
            var expected: [UUID: Answer] = [:]
            for batch in try await fixture.claim(20) {
                let answers = batch.devices.map { device -> Answer in
                    device.rawValue.isMultiple(of: 3) ? .accepted : .refused(.badToken)
                }
                let settlement = Settlement(batch: batch, answers: answers, retryAt: nil)
                #expect(try await store.settle(settlement))
            }
            for number in 1...9 {
                let device = try await fixture.register(
                    "\(number)", on: number.isMultiple(of: 2) ? other : fixture.platform)
                expected[device.uuid] = try await store.answer(of: device.key, in: push.key)
            }
            for kind in [Answer.Kind.failed, .accepted, .gone] {
                var found: [UUID] = []
                var cursor: AnswerCursor?
                repeat {
                    let batch = try await store.answers(in: push.key, kind: kind, after: cursor, limit: limit)
                    #expect(batch.answers.count <= limit)
                    #expect(batch.answers.allSatisfy { expected[$0.uuid] == $0.answer })
                    found += batch.answers.map(\.uuid)
                    cursor = batch.next
                } while cursor != nil
                #expect(found.count == Set(found).count)
                #expect(Set(found) == Set(expected.filter { kind.includes($0.value) }.keys), "\(kind)")
            }
        }
    }
}

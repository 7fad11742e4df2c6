import BelfryTesting
import Foundation
import Testing

@testable import BelfryService

@Suite struct UserConformance {
    private static let profile = UserProfile(
        stored: "de-AT", timeZone: "Europe/Vienna",
        attributes: [
            "plan": .text("gold \"1\""), "visits": .number(3), "share": .number(0.5), "vip": .flag(true),
            "since": .time(Instant(milliseconds: 1_767_225_600_000)),
        ])

    @Test(arguments: Engine.allCases)
    func `a user is managed by its application and reads back`(
        engine: Engine
    ) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, mine) = (fixture.store, fixture.application.key)
            let other = try await store.create(.named("other")).key
            #expect(try await store.user("Emma", of: mine) == nil)
            let made = try await store.setUser("Emma", of: mine) {
                #expect($0 == UserProfile()); return Self.profile
            }
            #expect(made.profile == Self.profile && made.createdAt == fixture.clock.now)
            #expect(try await store.user("Emma", of: mine) == made)
            #expect(try await store.user("emma", of: mine) == nil)
            #expect(try await store.user("Emma", of: other) == nil)
            fixture.clock.advance(by: .seconds(1))
            let change = UserProfile.Change(language: .clear, attributes: ["plan": nil, "visits": .number(4)])
            let changed = try await store.setUser("Emma", of: mine) { try $0.changed(by: change) }
            #expect(changed.createdAt == made.createdAt && changed.updatedAt == fixture.clock.now)
            #expect(changed.profile.language == nil && changed.profile.timeZone == "Europe/Vienna")
            #expect(changed.profile.attributes["plan"] == nil && changed.profile.attributes["visits"] == .number(4))
            #expect(try await store.user("Emma", of: mine) == changed)
            #expect(try await store.deleteUser("Emma", of: other) == false)
            #expect(try await store.deleteUser("Emma", of: mine))
            #expect(try await store.deleteUser("Emma", of: mine) == false)
        }
    }

    @Test(arguments: Engine.allCases)
    func `changes of a user at once are all kept`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, mine) = (fixture.store, fixture.application.key)
            try await withThrowingDiscardingTaskGroup { group in
                for number in 0..<16 {
                    group.addTask {
                        let change = UserProfile.Change(attributes: ["a\(number)": .flag(true)])
                        _ = try await store.setUser("Emma", of: mine) { try $0.changed(by: change) }
                    }
                }
            }
            let user = try #require(try await store.user("Emma", of: mine))
            #expect(user.profile.attributes.count == 16)
            for number in 0..<16 {
                let found = try await store.users(of: mine, having: "a\(number)", .flag(true), after: nil, limit: 2)
                #expect(found.map(\.user.id) == ["Emma"])
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `a user that was changed since stays as it is`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, mine) = (fixture.store, fixture.application.key)
            let made = try await store.setUser("Emma", of: mine) { _ in Self.profile }
            let now = fixture.clock.now
            #expect(try await store.setUser("Emma", of: mine, changedBefore: now) { _ in UserProfile() } == made)
            let new = try await store.setUser("Ada", of: mine, changedBefore: now) { _ in Self.profile }
            #expect(new.profile == Self.profile)
            #expect(try await store.user("Ada", of: mine) == new)
            fixture.clock.advance(by: .seconds(1))
            let end = fixture.clock.now
            #expect(
                try await store.setUser("Emma", of: mine, changedBefore: end) { _ in UserProfile() }.profile
                    == UserProfile())
        }
    }

    @Test(arguments: Engine.allCases)
    func `users are listed by id bytes, or by id part`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, mine) = (fixture.store, fixture.application.key)
            for id in ["b", "Ä", "a", "Z", "ab"] { _ = try await store.setUser(id, of: mine) { $0 } }
            let all = try await store.users(of: mine, containing: nil, after: nil, limit: 10).map(\.id)
            #expect(all == ["Z", "a", "ab", "b", "Ä"])
            #expect(try await store.users(of: mine, containing: nil, after: "a", limit: 2).map(\.id) == ["ab", "b"])
            #expect(try await store.users(of: mine, containing: "b", after: nil, limit: 9).map(\.id) == ["ab", "b"])
        }
    }

    @Test(arguments: Engine.allCases)
    func `users are found by id prefix, with profile or device`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, mine) = (fixture.store, fixture.application.key)
            for id in ["ann", "Ann", "ann-2", "anna", "bob", "anné", "an"] {
                _ = try await store.setUser(id, of: mine) { $0 }
                try await fixture.register("token of \(id)", user: .set(id))
            }
            _ = try await store.setUser("ann", of: try await store.create(.named("other")).key) { $0 }
            let platforms = [fixture.platform.key]
            func found(_ text: String, after id: String? = nil, limit: Int = 10) async throws -> [String] {
                let prefix = IDPrefix(text)
                let users = try await store.users(of: mine, beginning: prefix, after: id, limit: limit).map(\.id)
                let named = try await store.customUserIDs(on: platforms, beginning: prefix, after: id, limit: limit)
                #expect(users == named, "\(text)")
                return users
            }
            #expect(try await found("ann") == ["ann", "ann-2", "anna", "anné"])
            #expect(try await found("ann", limit: 2) == ["ann", "ann-2"])
            #expect(try await found("ann", after: "ann-2", limit: 2) == ["anna", "anné"])
            #expect(try await found("ann", after: "anné").isEmpty)
            #expect(try await found("ann", after: "an") == ["ann", "ann-2", "anna", "anné"])
            #expect(try await found("anné") == ["anné"])
            #expect(try await found("%").isEmpty)
            #expect(try await found("x").isEmpty)
            #expect(try await found("") == ["Ann", "an", "ann", "ann-2", "anna", "anné", "bob"])
        }
    }

    @Test(arguments: Engine.allCases)
    func `users are listed after a given one's key`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, mine) = (fixture.store, fixture.application.key)
            let other = try await store.create(.named("other")).key
            for id in ["b", "Z", "a", "c"] {
                _ = try await store.setUser(id, of: mine) { $0 }
                fixture.clock.advance(by: .seconds(1))
            }
            let first = try #require(try await store.users(of: mine, after: nil, limit: 3))
            #expect(first.map(\.user.id) == ["Z", "a", "b"])
            let rest = try await store.users(of: mine, after: first[2].key, limit: 3)
            #expect(rest?.map(\.user.id) == ["c"])
            #expect(try await store.users(of: mine, after: rest?.last?.key, limit: 3) == [])
            #expect(try await store.users(of: mine, after: Key(999), limit: 3) == nil)
            #expect(try await store.users(of: other, after: first[0].key, limit: 3) == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `an application's users are limited and deletion makes room`(engine: Engine) async throws {
        try await TestStore.play(on: engine, quotas: Quotas([.users: 2])) { fixture in
            let (store, mine) = (fixture.store, fixture.application.key)
            for id in ["a", "b", "a"] { _ = try await store.setUser(id, of: mine) { $0 } }
            await #expect(throws: StoreError.self) { try await store.setUser("c", of: mine) { $0 } }
            _ = try await store.deleteUser("a", of: mine)
            _ = try await store.setUser("c", of: mine) { $0 }
            #expect(try await store.quotas(of: mine).first { $0.quota == .users }?.use == 2)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a merge past the quota changes nothing`(engine: Engine) async throws {
        try await TestStore.play(on: engine, quotas: Quotas([.userDevices: 2])) { fixture in
            let (store, mine) = (fixture.store, fixture.application)
            for (token, user) in [("a", "old"), ("b", "old"), ("c", "new")] {
                try await fixture.register(token, user: .set(user))
            }
            await #expect(throws: StoreError.self) {
                _ = try await UserService(store: store).merge(
                    "old", into: "new", of: mine, by: .local(systemUser: "test"))
            }
            #expect(try await store.user("new", of: mine.key) == nil)
            #expect(try await store.devices(ofUser: "old", on: [fixture.platform.key], limit: 9).count == 2)
        }
    }

    @Test(arguments: Engine.allCases)
    func `opposite merges at once keep what both users had`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, mine) = (fixture.store, fixture.application)
            let (service, author) = (UserService(store: store), AuditAuthor.local(systemUser: "test"))
            for round in 0..<10 {
                let (a, b) = ("a\(round)", "b\(round)")
                for id in [a, b] {
                    _ = try await store.setUser(id, of: mine.key) {
                        try $0.changed(by: UserProfile.Change(attributes: [id: .flag(true)]))
                    }
                }
                async let one = service.merge(a, into: b, of: mine, by: author)
                async let other = service.merge(b, into: a, of: mine, by: author)
                _ = try await (one, other)
                let (left, right) = (
                    try await store.user(a, of: mine.key), try await store.user(b, of: mine.key)
                )
                #expect((left == nil) != (right == nil))
                #expect((left ?? right)?.profile.attributes.count == 2)
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `users are found by attribute value and type, per application`(
        engine: Engine
    ) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, mine) = (fixture.store, fixture.application.key)
            let other = try await store.create(.named("other")).key
            func set(_ id: String, _ attributes: [String: UserAttribute?], in application: Key<Application>)
                async throws
            {
                _ = try await store.setUser(id, of: application) {
                    try $0.changed(by: UserProfile.Change(attributes: attributes))
                }
                fixture.clock.advance(by: .seconds(1))
            }
            func found(_ name: String, _ value: UserAttribute) async throws -> [String] {
                try await store.users(of: mine, having: name, value, after: nil, limit: 9).map(\.user.id)
            }
            try await set("c", ["plan": .text("gold"), "visits": .number(3)], in: mine)
            try await set("a", ["plan": .text("gold")], in: mine)
            try await set("b", ["plan": .text("1"), "visits": .number(-3.5)], in: mine)
            try await set("d", ["plan": .number(1), "since": .time(fixture.clock.now)], in: mine)
            try await set("a", ["plan": .text("gold")], in: other)
            let gold = try await store.users(of: mine, having: "plan", .text("gold"), after: nil, limit: 1)
            #expect(gold.map(\.user.id) == ["c"])
            let rest = try await store.users(of: mine, having: "plan", .text("gold"), after: gold[0].key, limit: 9)
            #expect(rest.map(\.user.id) == ["a"])
            #expect(try await found("plan", .text("1")) == ["b"])
            #expect(try await found("plan", .number(1)) == ["d"])
            #expect(try await found("visits", .number(-3.5)) == ["b"])
            #expect(try await found("plan", .text("Gold")) == [])
            try await set("c", ["plan": nil, "visits": .number(4)], in: mine)
            #expect(try await found("plan", .text("gold")) == ["a"])
            #expect(try await found("visits", .number(4)) == ["c"])
            #expect(try await found("visits", .number(3)) == [])
            #expect(try await store.deleteUser("a", of: mine))
            #expect(try await found("plan", .text("gold")) == [])
        }
    }

    @Test func `an attribute's index is in the order of its values`() {
        let numbers = [-1e300, -2, -0.5, 0, 1e-300, 1, 1.5, 1e300].map { UserAttribute.number($0).indexed }
        let times = [Int64.min, -1, 0, 1, .max].map { UserAttribute.time(Instant(milliseconds: $0)).indexed }
        for values in [numbers, times] {
            #expect(values == values.sorted { $0.lexicographicallyPrecedes($1) })
            #expect(Set(values).count == values.count)
        }
        #expect(UserAttribute.number(-0.0).indexed == UserAttribute.number(0).indexed)
    }

    @Test(arguments: Engine.allCases)
    func `a user's devices are active; inactive ones forget it`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, platforms) = (fixture.store, [fixture.platform.key])
            let first = try await fixture.register("1", topics: .replace(["news"]), user: .set("emma"))
            let second = try await fixture.register("2", topics: .replace(["news"]), user: .set("emma"))
            try await fixture.register("3", user: .set("emmanuel"))
            let found = try await store.devices(ofUser: "emma", on: platforms, limit: 10)
            #expect(found.map(\.key) == [first.key, second.key])
            #expect(try await store.devices(ofUser: "emma", on: platforms, limit: 1).map(\.key) == [first.key])
            for device in [first, second] {
                try await store.setDetail(of: device.key, on: platforms[0], .init(badge: 3, language: "de"))
            }
            try await store.unregister(first.uuid, on: fixture.platform.key)
            try await store.forgetUser(of: [first.key, second.key])
            let forgotten = try #require(try await store.device(first.uuid, on: fixture.platform.key))
            #expect(forgotten.customUserID == nil && forgotten.topics.isEmpty)
            #expect(try await store.detail(of: first.key, on: platforms[0]) == DeviceDetail(badge: 3))
            #expect(try await store.detail(of: second.key, on: platforms[0])?.language == "de")
            let other = try #require(try await store.device(second.uuid, on: fixture.platform.key))
            #expect(other.customUserID == "emma" && other.topics == ["news"])
            let named = try await store.devices(DeviceSearch(platforms: platforms, text: "emma"), after: nil, limit: 9)
            #expect(!named.contains { $0.key == first.key })
        }
    }
}

@Suite struct EntranceConformance {
    @Test(arguments: Engine.allCases)
    func `an open endpoint is found until it is closed`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, mine) = (fixture.store, fixture.application.key)
            let new = try NewOpenEndpoint(
                kind: .genero, application: mine, keyHash: [1, 0, 2], allowed: ["10.0.0.0/8", "::1"],
                options: ["template": "a,\"b\""])
            let made = try await store.create(new)
            #expect(made.allowed == new.allowed && made.options == new.options && made.application == mine)
            #expect(try await store.openEndpoint(.genero, keyHash: [1, 0, 2]) == made)
            #expect(try await store.openEndpoint(.acrobitsReporter, keyHash: [1, 0, 2]) == nil)
            #expect(try await store.openEndpoint(.genero, keyHash: [1, 0, 3]) == nil)
            #expect(try await store.plainOpenEndpoints(.genero).isEmpty)
            #expect(try await store.openEndpoints(of: mine) == [made])
            #expect(try await store.delete(made.key, of: Key(99)) == false)
            #expect(try await store.delete(made.key, of: mine))
            #expect(try await store.openEndpoint(.genero, keyHash: [1, 0, 2]) == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a certificate chooses one platform until it is revoked`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, platform) = (fixture.store, fixture.platform.key)
            let print = [UInt8](repeating: 7, count: 32)
            let made = try await store.createGatewayCredential(print, expiresAt: fixture.clock.now, on: platform)
            #expect(made.fingerprint == print && made.expiresAt == fixture.clock.now)
            #expect(try await store.gatewayCredential(print) == made)
            #expect(try await store.gatewayCredentials(of: platform) == [made])
            await #expect(throws: StoreError.self) {
                try await store.createGatewayCredential(print, expiresAt: nil, on: platform)
            }
            #expect(try await store.delete(made.key, of: Key(99)) == false)
            #expect(try await store.delete(made.key, of: platform))
            #expect(try await store.gatewayCredential(print) == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a dead token is reported to gateways until sent, alive`(
        engine: Engine
    ) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, platform) = (fixture.store, fixture.platform.key)
            func kill(_ tokens: String...) async throws {
                for token in tokens { try await fixture.register(token) }
                fixture.clock.advance(by: .seconds(1))
                _ = try await fixture.push()
                try await fixture.fanOut(batchesOf: 10)
                let batch = try await fixture.claimOne()
                _ = try await store.settle(
                    Settlement(
                        batch: batch, answers: batch.devices.map { _ in .gone }, retryAt: nil,
                        deadTokens: batch.devices.map { .init(device: $0, since: .distantFuture) }))
            }
            try await kill("early")
            #expect(try await store.feedback(of: platform, after: nil, limit: 9) == [])
            let print = [UInt8](repeating: 1, count: 32)
            _ = try await store.createGatewayCredential(print, expiresAt: nil, on: platform)
            try await kill("a", "b", "c")
            try await fixture.register("b")
            let told = try await store.feedback(of: platform, after: nil, limit: 9)
            #expect(Set(told.map(\.token.bytes)) == [Array("a".utf8), Array("c".utf8)])
            #expect(told.allSatisfy { $0.since == fixture.clock.now })
            let first = try #require(told.first)
            #expect(try await store.feedback(of: platform, after: first, limit: 9) == Array(told.dropFirst()))
            try await store.deleteFeedback([(key: first.key, since: first.since)])
            #expect(try await store.feedback(of: platform, after: nil, limit: 9) == Array(told.dropFirst()))
            try await kill("a", "c")
            try await store.deleteFeedback(told.map { (key: $0.key, since: $0.since) })
            let again = try await store.feedback(of: platform, after: nil, limit: 9)
            #expect(Set(again.map(\.token.bytes)) == Set(["a", "b", "c"].map { Array($0.utf8) }), "noted meanwhile")
        }
    }

    @Test(arguments: Engine.allCases)
    func `Genero's token list has the original's columns`(
        engine: Engine
    ) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, mine, platform) = (fixture.store, fixture.application.key, fixture.platform.key)
            let device = try await fixture.register("\u{1}", user: .set("mike"))
            let gone = try await fixture.register("gone")
            try await store.unregister(gone.uuid, on: platform)
            #expect(try await store.generoTokens(of: mine, after: 0, limit: 9) == [])
            _ = try await store.create(try NewOpenEndpoint(kind: .genero, application: mine, keyHash: [1]))
            let plain = try #require(try await store.generoTokens(of: mine, after: 0, limit: 9).first)
            #expect(plain.id == device.key.rawValue && plain.type == "APNS" && plain.token == "01")
            #expect(plain.badge == 0 && plain.user == "mike")
            let date = device.registeredAt.text.replacing("T", with: " ").replacing("Z", with: "")
            #expect(plain.registeredAt.hasPrefix(date.prefix(19)) && plain.registeredAt.utf8.count == 23)
            try await store.setDetail(of: device.key, on: platform, .init(badge: 4, spelling: "<01>"))
            let detailed = try await store.generoTokens(of: mine, after: 0, limit: 9)
            #expect(detailed.map(\.badge) == [4] && detailed.map(\.token) == ["<01>"])
            #expect(try await store.generoTokens(of: mine, after: device.key.rawValue, limit: 9) == [])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a token leads to its device, with details kept`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, platform) = (fixture.store, fixture.platform.key)
            let device = try await fixture.register("known")
            let (known, unknown) = (DeviceToken(bytes: Array("known".utf8)), DeviceToken(bytes: [1]))
            let held = TokenHolder(device: device.key, uuid: device.uuid, isActive: true)
            #expect(try await store.holders(of: [known, unknown], on: platform) == [known: held])
            #expect(try await store.holders(of: [known], on: Key(99)) == [:])
            try await store.unregister(device.uuid, on: platform)
            #expect(try await store.holders(of: [known], on: platform)[known]?.isActive == false)
            #expect(try await store.detail(of: device.key, on: platform) == nil)
            try await store.setDetail(of: device.key, on: platform, .init(spelling: "<kn own>"))
            #expect(try await store.detail(of: device.key, on: platform) == DeviceDetail(spelling: "<kn own>"))
            try await store.setDetail(of: device.key, on: platform, .init(badge: 5))
            #expect(
                try await store.detail(of: device.key, on: platform) == DeviceDetail(badge: 5, spelling: "<kn own>"))
        }
    }
}

import BelfryTesting
import Testing

@testable import BelfryService

@Suite struct GeofenceConformance {
    @Test(arguments: Engine.allCases)
    func `a geofence is seen and changed by its application only`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, mine) = (fixture.store, fixture.application.key)
            let stranger = try await store.create(.named("stranger"))
            let (a, b) = (try await fixture.locate("a"), try await fixture.locate("b"))
            let geofence = try await fixture.fence([b, a])
            #expect(geofence.locations == [b, a] && geofence.phase == .active)
            #expect(try await store.geofence(geofence.key, of: mine) == geofence)
            #expect(try await store.geofence(geofence.key, of: stranger.key) == nil)
            #expect(try await store.geofences(of: mine, GeoListQuery()) == ListPage([geofence], total: 1))
            #expect(try await store.geofences(of: stranger.key, GeoListQuery()).total == 0)
            fixture.clock.advance(by: .seconds(1))
            let changed = try await store.update(geofence.key, of: mine) { try $0.with(locations: [a.key]) }
            #expect(changed?.locations == [a] && changed?.createdAt == geofence.createdAt)
            #expect(changed?.updatedAt == fixture.clock.now)
            #expect(try await store.geofence(geofence.key, of: mine) == changed)
            let late = try await store.geofences(of: mine, GeoListQuery(changedSince: fixture.clock.now))
            #expect(late.elements == [changed])
            let stolen = try await store.update(geofence.key, of: stranger.key) { $0 }
            #expect(stolen == nil)
            #expect(try await store.delete(geofence.key, of: stranger.key) == false)
            #expect(try await store.delete(geofence.key, of: mine))
            #expect(try await store.delete(geofence.key, of: mine) == false)
            #expect(try await fixture.fence([a]).key > geofence.key)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a geofence has its groups' locations and follows their changes`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, mine) = (fixture.store, fixture.application.key)
            let (a, b) = (try await fixture.locate("a"), try await fixture.locate("b"))
            let shops = try await store.create(
                try LocationGroupPlan(name: "shops", summary: "", locations: [b.key]), of: mine)
            let plan = try GeofencePlan.around([], groups: [shops.key], expiresAt: fixture.clock.now + .seconds(3_600))
            let geofence = try await store.create(plan, of: mine)
            #expect(geofence.locations == [b] && geofence.plan.groups == [shops.key])
            #expect(try await store.geofence(geofence.key, of: mine) == geofence)
            let before = try await fixture.updates().lastModified
            let grown = try await store.update(shops.key, of: mine) { old in
                try LocationGroupPlan(name: old.name, summary: "", locations: [b.key, a.key])
            }
            let changes = try await store.geofenceUpdates(since: before, on: fixture.platform)
            #expect(changes.geofences.map(\.locations) == [[b, a]] && grown?.locations == [b, a])
            let moved = try await store.update(a.key, of: mine) { try $0.moved(to: 2) }
            let again = try await store.geofenceUpdates(since: changes.lastModified, on: fixture.platform)
            #expect(again.geofences.map(\.locations) == [[b, try #require(moved)]])
            let words = "location group \(shops.key) is used by geofence \(geofence.key)"
            await #expect(throws: StoreError.conflict(words)) { try await store.delete(shops.key, of: mine) }
            let own = try await store.update(geofence.key, of: mine) { try $0.with(locations: [b.key], groups: []) }
            #expect(own?.locations == [b])
            #expect(try await store.delete(shops.key, of: mine))
        }
    }

    @Test(arguments: Engine.allCases)
    func `a foreign group or too many locations are refused`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, mine) = (fixture.store, fixture.application.key)
            let stranger = try await store.create(.named("stranger"))
            let theirs = try await store.create(
                try LocationGroupPlan(name: "theirs", summary: "", locations: []), of: stranger.key)
            let expiresAt = fixture.clock.now + .seconds(3_600)
            let plan = try GeofencePlan.around([], groups: [theirs.key], expiresAt: expiresAt)
            let refusal = InvalidInput(
                field: "location_groups[0]", "is \(theirs.key), this application has no such location group")
            await #expect(throws: refusal) { try await store.create(plan, of: mine) }
            var places: [Key<Location>] = []
            for number in 0...GeofencePlan.locationsMax { places.append(try await fixture.locate("\(number)").key) }
            let many = try await store.create(
                try LocationGroupPlan(name: "many", summary: "", locations: places), of: mine)
            await #expect(throws: InvalidInput.self) {
                try await store.create(try .around([], groups: [many.key], expiresAt: expiresAt), of: mine)
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `a group does not outgrow a geofence of it`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, mine) = (fixture.store, fixture.application.key)
            var places: [Key<Location>] = []
            for number in 0...GeofencePlan.locationsMax { places.append(try await fixture.locate("\(number)").key) }
            let own = places.removeLast()
            let group = try await store.create(
                try LocationGroupPlan(name: "many", summary: "", locations: Array(places.dropLast())), of: mine)
            let geofence = try await store.create(
                try .around([own], groups: [group.key], expiresAt: fixture.clock.now + .seconds(3_600)), of: mine)
            func change(to locations: [Key<Location>]) async throws -> LocationGroup? {
                try await store.update(group.key, of: mine) {
                    try LocationGroupPlan(name: $0.name, summary: "", locations: locations)
                }
            }
            let refusal = InvalidInput(
                field: "location_ids",
                "give geofence \(geofence.key) more locations with its others than the limit, 100")
            await #expect(throws: refusal) { try await change(to: places) }
            #expect(try await store.locationGroup(group.key, of: mine)?.locations.count == 99)
            #expect(try await change(to: Array(places.dropLast()) + [own])?.locations.count == 100)
            #expect(try await store.geofence(geofence.key, of: mine)?.locations.count == 100)
        }
    }

    @Test(arguments: Engine.allCases)
    func `another application's location is refused by its list position`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let stranger = try await fixture.store.create(.named("stranger"))
            let theirs = try await fixture.store.create(.named("theirs"), of: stranger.key)
            let mine = try await fixture.locate()
            let refusal = InvalidInput(
                field: "locations[1]", "is \(theirs.key), this application has no such location")
            await #expect(throws: refusal) { try await fixture.fence([mine, theirs]) }
            #expect(try await fixture.updates().lastModified == .zero)
        }
    }

    @Test(arguments: Engine.allCases)
    func `an application's unfinished geofences are limited`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let shop = try await fixture.locate()
            let first = try await fixture.fence([shop], expiresIn: .seconds(10))
            for _ in 1..<GeofenceLimits.liveMax { _ = try await fixture.fence([shop]) }
            await #expect(throws: InvalidInput.self) { try await fixture.fence([shop]) }
            fixture.clock.advance(by: .seconds(10))
            while try await fixture.store.startAndEndDueGeofences() {}
            _ = try await fixture.fence([shop])
            await #expect(throws: InvalidInput.self) {
                try await fixture.store.update(first.key, of: fixture.application.key) { plan in
                    try plan.with(expiresAt: plan.expiresAt + .seconds(3_600))
                }
            }
        }
    }

    // MARK: What devices get

    @Test(arguments: Engine.allCases)
    func `a device gets all at first and then what changed`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, mine) = (fixture.store, fixture.application.key)
            #expect(try await fixture.updates() == GeofenceChanges(lastModified: .zero, geofences: [], gone: []))
            let shop = try await fixture.locate()
            let (a, b) = (try await fixture.fence([shop]), try await fixture.fence([shop]))
            let first = try await fixture.updates()
            #expect(first.geofences == [a, b] && first.gone.isEmpty)
            let second = try await fixture.updates(since: first.lastModified)
            #expect(second == GeofenceChanges(lastModified: first.lastModified, geofences: [], gone: []))
            let changed = try await store.update(a.key, of: mine) { try $0.with(platform: .ios) }
            _ = try await store.delete(b.key, of: mine)
            let third = try await fixture.updates(since: first.lastModified)
            #expect(third.geofences == [changed] && third.gone == [b.key])
            #expect(third.lastModified > first.lastModified)
            #expect(try await fixture.updates().geofences == [changed])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a time that was never given out gets everything`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let geofence = try await fixture.fence([try await fixture.locate()])
            #expect(try await fixture.updates(since: .distantFuture).geofences == [geofence])
            #expect(try await fixture.updates(since: .distantPast).geofences == [geofence])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a geofence appears at its start, disappears at its end`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let shop = try await fixture.locate()
            _ = try await fixture.fence([shop])
            let before = try await fixture.updates().lastModified
            let later = try await fixture.fence([shop], startsIn: .seconds(60), expiresIn: .seconds(120))
            #expect(later.phase == .waiting)
            #expect(try await fixture.updates(since: before).geofences.isEmpty)
            #expect(try await fixture.updates(since: before).lastModified == before)
            fixture.clock.advance(by: .seconds(60) - .milliseconds(1))
            #expect(try await fixture.updates(since: before).geofences.isEmpty)
            fixture.clock.advance(by: .milliseconds(1))
            let started = try await fixture.updates(since: before)
            #expect(started.geofences.map(\.key) == [later.key] && started.geofences.first?.phase == .active)
            fixture.clock.advance(by: .seconds(60))
            let ended = try await fixture.updates(since: started.lastModified)
            #expect(ended.geofences.isEmpty && ended.gone == [later.key])
            #expect(try await fixture.updates().geofences.count == 1)
            #expect(try await fixture.store.geofence(later.key, of: fixture.application.key)?.phase == .over)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a postponed geofence is withdrawn from devices`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let geofence = try await fixture.fence([try await fixture.locate()])
            let since = try await fixture.updates().lastModified
            _ = try await fixture.store.update(geofence.key, of: fixture.application.key) { plan in
                try plan.with(startsAt: fixture.clock.now + .seconds(60))
            }
            let updates = try await fixture.updates(since: since)
            #expect(updates.geofences.isEmpty && updates.gone == [geofence.key])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a moved location changes its geofences; an unchanged name nothing`(
        engine: Engine
    ) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, mine) = (fixture.store, fixture.application.key)
            let (a, b) = (try await fixture.locate("a"), try await fixture.locate("b"))
            let near = try await fixture.fence([a, b])
            _ = try await fixture.fence([b])
            let since = try await fixture.updates().lastModified
            let moved = try #require(try await store.update(a.key, of: mine) { try $0.moved(to: 7) })
            let updates = try await fixture.updates(since: since)
            #expect(updates.geofences.map(\.key) == [near.key])
            #expect(updates.geofences.first?.locations == [moved, b])
            _ = try await store.update(a.key, of: mine) { $0 }
            _ = try await store.update(near.key, of: mine) { $0 }
            #expect(try await fixture.updates(since: updates.lastModified).geofences.isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `devices get the geofences of their platform`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let fcm = try await fixture.store.create(.of(fixture.application, kind: .androidFCM))
            let stranger = try await fixture.store.create(.of(try await fixture.store.create(.named("stranger"))))
            let shop = try await fixture.locate()
            var keys: [GeofencePlatform: Key<Geofence>] = [:]
            for platform in GeofencePlatform.allCases {
                keys[platform] = try await fixture.fence([shop], platform: platform).key
            }
            let ios = try await fixture.updates()
            #expect(Set(ios.geofences.map(\.key)) == Set([keys[.all], keys[.ios]].compactMap(\.self)))
            let android = try await fixture.updates(on: fcm)
            #expect(
                Set(android.geofences.map(\.key))
                    == Set([keys[.all], keys[.android], keys[.androidFCM]].compactMap(\.self)))
            #expect(try await fixture.updates(on: stranger).geofences.isEmpty)
            let phones = try #require(keys[.all])
            _ = try await fixture.store.update(phones, of: fixture.application.key) { try $0.with(platform: .android) }
            #expect(try await fixture.updates(since: ios.lastModified).gone == [phones])
            #expect(try await fixture.updates(since: ios.lastModified, on: fcm).geofences.map(\.key) == [phones])
        }
    }

    @Test(arguments: Engine.allCases)
    func `changes of one millisecond are never lost between two fetches`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let shop = try await fixture.locate()
            var since = Instant.zero
            for _ in 0..<20 {
                let geofence = try await fixture.fence([shop])
                let updates = try await fixture.updates(since: since)
                #expect(updates.geofences == [geofence])
                #expect(updates.lastModified > since)
                since = updates.lastModified
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `a device fetching during changes ends with all geofences`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let shop = try await fixture.locate()
            var device = FencedDevice()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<60 {
                    group.addTask {
                        let geofence = try await fixture.fence([shop])
                        if number.isMultiple(of: 3) {
                            _ = try await fixture.store.delete(geofence.key, of: fixture.application.key)
                        }
                    }
                }
                for _ in 0..<30 { try await device.fetch(on: fixture.platform, fixture.store) }
                try await group.waitForAll()
            }
            try await device.fetch(on: fixture.platform, fixture.store)
            #expect(device.geofences.count == 40)
            let fresh = try await FencedDevice(of: fixture.platform, fixture.store)
            #expect(device.geofences == fresh.geofences)
        }
    }

    @Test(arguments: Engine.allCases, Array(1...12) as [UInt64])
    func `fetching changes equals a full fetch, whatever happens`(
        engine: Engine, seed: UInt64
    ) async throws {
        let clock = WaywardClock()
        try await engine.withStore(clock: clock) { store in
            var sequence = try await GeofenceSequence(store: store, clock: clock, seed: seed)
            try await sequence.run(steps: 120)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a deleted geofence is forgotten after devices drop it`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let geofence = try await fixture.fence([try await fixture.locate()], expiresIn: .seconds(60))
            let since = try await fixture.updates().lastModified
            _ = try await fixture.store.delete(geofence.key, of: fixture.application.key)
            let end = geofence.plan.expiresAt
            #expect(try await fixture.store.deleteExpired(.geofences, before: end) == DeletedRows())
            #expect(try await fixture.updates(since: since).gone == [geofence.key])
            _ = try await fixture.store.deleteExpired(.geofences, before: end + .milliseconds(1))
            #expect(try await fixture.updates(since: since).gone.isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `ends that no device got keep no deletion`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, mine) = (fixture.store, fixture.application.key)
            let geofence = try await fixture.fence(
                [try await fixture.locate()], startsIn: .seconds(60), expiresIn: .seconds(60 * 86_400))
            fixture.clock.advance(by: .seconds(1))
            let end = fixture.clock.now + .seconds(120)
            _ = try await store.update(geofence.key, of: mine) { try $0.with(expiresAt: end) }
            fixture.clock.advance(by: .seconds(60))
            let since = try await fixture.updates().lastModified
            #expect(try await store.delete(geofence.key, of: mine))
            #expect(try await fixture.updates(since: since).gone == [geofence.key])
            _ = try await store.deleteExpired(.geofences, before: end + .milliseconds(1))
            #expect(try await fixture.updates(since: since).gone.isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a deletion outlasts the end that devices know`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, mine) = (fixture.store, fixture.application.key)
            let geofence = try await fixture.fence([try await fixture.locate()], expiresIn: .seconds(60 * 86_400))
            let since = try await fixture.updates().lastModified
            fixture.clock.advance(by: .seconds(1))
            let end = fixture.clock.now + .seconds(60)
            _ = try await store.update(geofence.key, of: mine) { try $0.with(expiresAt: end) }
            // A further change forgets nothing.
            _ = try await store.update(geofence.key, of: mine) { try $0.with(expiresAt: end + .seconds(1)) }
            #expect(try await store.delete(geofence.key, of: mine))
            _ = try await store.deleteExpired(.geofences, before: geofence.plan.expiresAt)
            #expect(try await fixture.updates(since: since).gone == [geofence.key])
            // Until then, and no longer: they count for a limit.
            _ = try await store.deleteExpired(.geofences, before: geofence.plan.expiresAt + .milliseconds(1))
            #expect(try await fixture.updates(since: since).gone.isEmpty)
        }
    }
}

/// The geofences that the SDKs keep from the answers they get.
struct FencedDevice {
    private(set) var geofences: [Key<Geofence>: Geofence] = [:]
    private var lastModified = Instant.zero

    init() {}

    init(of platform: Platform, _ store: any Store) async throws {
        try await fetch(on: platform, store)
    }

    mutating func fetch(on platform: Platform, _ store: any Store) async throws {
        let updates = try await store.geofenceUpdates(since: lastModified, on: platform)
        if lastModified == .zero { geofences = [:] }
        for key in updates.gone { geofences[key] = nil }
        for geofence in updates.geofences { geofences[geofence.key] = geofence }
        lastModified = updates.lastModified
    }
}

import BelfryCore
import BelfryTesting
import Testing

@Suite struct GeofenceConformance {
    @Test(arguments: Engine.allCases)
    func `a geofence is found, listed, changed and deleted by its own application only`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let (store, mine) = (scene.store, scene.application.key)
            let stranger = try await store.create(.named("stranger"))
            let (a, b) = (try await scene.locate("a"), try await scene.locate("b"))
            let geofence = try await scene.fence([b, a])
            #expect(geofence.locations == [b, a] && geofence.phase == .active)
            #expect(try await store.geofence(geofence.key, of: mine) == geofence)
            #expect(try await store.geofence(geofence.key, of: stranger.key) == nil)
            #expect(try await store.geofences(of: mine, MapQuery()) == Listing([geofence], total: 1))
            #expect(try await store.geofences(of: stranger.key, MapQuery()).total == 0)
            scene.clock.advance(by: .seconds(1))
            let changed = try await store.update(geofence.key, of: mine) { try $0.with(locations: [a.key]) }
            #expect(changed?.locations == [a] && changed?.createdAt == geofence.createdAt)
            #expect(changed?.updatedAt == scene.clock.now)
            #expect(try await store.geofence(geofence.key, of: mine) == changed)
            let late = try await store.geofences(of: mine, MapQuery(changedSince: scene.clock.now))
            #expect(late.elements == [changed])
            let stolen = try await store.update(geofence.key, of: stranger.key) { $0 }
            #expect(stolen == nil)
            #expect(try await store.delete(geofence.key, of: stranger.key) == false)
            #expect(try await store.delete(geofence.key, of: mine))
            #expect(try await store.delete(geofence.key, of: mine) == false)
            #expect(try await scene.fence([a]).key > geofence.key)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a location of another application is refused by its place in the list`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let stranger = try await scene.store.create(.named("stranger"))
            let theirs = try await scene.store.create(.named("theirs"), of: stranger.key)
            let mine = try await scene.locate()
            let refusal = InvalidInput(
                field: "locations[1]", "is \(theirs.key), this application has no such location")
            await #expect(throws: refusal) { try await scene.fence([mine, theirs]) }
            #expect(try await scene.updates().lastModified == .zero)
        }
    }

    @Test(arguments: Engine.allCases)
    func `an application has so many geofences that are not over, and no more`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let shop = try await scene.locate()
            let first = try await scene.fence([shop], expiresIn: .seconds(10))
            for _ in 1..<GeofenceLimits.liveMax { _ = try await scene.fence([shop]) }
            await #expect(throws: InvalidInput.self) { try await scene.fence([shop]) }
            scene.clock.advance(by: .seconds(10))
            while try await scene.store.turnGeofences() {}
            _ = try await scene.fence([shop])
            await #expect(throws: InvalidInput.self) {
                try await scene.store.update(first.key, of: scene.application.key) { plan in
                    try plan.with(expiresAt: plan.expiresAt + .seconds(3_600))
                }
            }
        }
    }

    // MARK: What devices get

    @Test(arguments: Engine.allCases)
    func `a device gets all at first and then what changed`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let (store, mine) = (scene.store, scene.application.key)
            #expect(try await scene.updates() == GeofenceUpdates(lastModified: .zero, geofences: [], gone: []))
            let shop = try await scene.locate()
            let (a, b) = (try await scene.fence([shop]), try await scene.fence([shop]))
            let first = try await scene.updates()
            #expect(first.geofences == [a, b] && first.gone.isEmpty)
            let second = try await scene.updates(since: first.lastModified)
            #expect(second == GeofenceUpdates(lastModified: first.lastModified, geofences: [], gone: []))
            let changed = try await store.update(a.key, of: mine) { try $0.with(platform: .ios) }
            _ = try await store.delete(b.key, of: mine)
            let third = try await scene.updates(since: first.lastModified)
            #expect(third.geofences == [changed] && third.gone == [b.key])
            #expect(third.lastModified > first.lastModified)
            #expect(try await scene.updates().geofences == [changed])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a time that was never given out gets everything`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let geofence = try await scene.fence([try await scene.locate()])
            #expect(try await scene.updates(since: .distantFuture).geofences == [geofence])
            #expect(try await scene.updates(since: .distantPast).geofences == [geofence])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a geofence comes at its start, as a change, and goes at its end`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let shop = try await scene.locate()
            _ = try await scene.fence([shop])
            let before = try await scene.updates().lastModified
            let later = try await scene.fence([shop], startsIn: .seconds(60), expiresIn: .seconds(120))
            #expect(later.phase == .waiting)
            #expect(try await scene.updates(since: before).geofences.isEmpty)
            #expect(try await scene.updates(since: before).lastModified == before)
            scene.clock.advance(by: .seconds(60) - .milliseconds(1))
            #expect(try await scene.updates(since: before).geofences.isEmpty)
            scene.clock.advance(by: .milliseconds(1))
            let started = try await scene.updates(since: before)
            #expect(started.geofences.map(\.key) == [later.key] && started.geofences.first?.phase == .active)
            scene.clock.advance(by: .seconds(60))
            let ended = try await scene.updates(since: started.lastModified)
            #expect(ended.geofences.isEmpty && ended.gone == [later.key])
            #expect(try await scene.updates().geofences.count == 1)
            #expect(try await scene.store.geofence(later.key, of: scene.application.key)?.phase == .over)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a geofence that is put off is taken back from devices`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let geofence = try await scene.fence([try await scene.locate()])
            let since = try await scene.updates().lastModified
            _ = try await scene.store.update(geofence.key, of: scene.application.key) { plan in
                try plan.with(startsAt: scene.clock.now + .seconds(60))
            }
            let updates = try await scene.updates(since: since)
            #expect(updates.geofences.isEmpty && updates.gone == [geofence.key])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a location that moves changes the geofences around it, and a name that stays changes nothing`(
        engine: Engine
    ) async throws {
        try await Scene.play(on: engine) { scene in
            let (store, mine) = (scene.store, scene.application.key)
            let (a, b) = (try await scene.locate("a"), try await scene.locate("b"))
            let near = try await scene.fence([a, b])
            _ = try await scene.fence([b])
            let since = try await scene.updates().lastModified
            let moved = try #require(try await store.update(a.key, of: mine) { try $0.moved(to: 7) })
            let updates = try await scene.updates(since: since)
            #expect(updates.geofences.map(\.key) == [near.key])
            #expect(updates.geofences.first?.locations == [moved, b])
            _ = try await store.update(a.key, of: mine) { $0 }
            _ = try await store.update(near.key, of: mine) { $0 }
            #expect(try await scene.updates(since: updates.lastModified).geofences.isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `devices get the geofences of their platform`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let fcm = try await scene.store.create(.of(scene.application, kind: .androidFCM))
            let stranger = try await scene.store.create(.of(try await scene.store.create(.named("stranger"))))
            let shop = try await scene.locate()
            var keys: [GeofencePlatform: Key<Geofence>] = [:]
            for platform in GeofencePlatform.allCases {
                keys[platform] = try await scene.fence([shop], platform: platform).key
            }
            let ios = try await scene.updates()
            #expect(Set(ios.geofences.map(\.key)) == Set([keys[.all], keys[.ios]].compactMap(\.self)))
            let android = try await scene.updates(on: fcm)
            #expect(
                Set(android.geofences.map(\.key))
                    == Set([keys[.all], keys[.android], keys[.androidFCM]].compactMap(\.self)))
            #expect(try await scene.updates(on: stranger).geofences.isEmpty)
            let phones = try #require(keys[.all])
            _ = try await scene.store.update(phones, of: scene.application.key) { try $0.with(platform: .android) }
            #expect(try await scene.updates(since: ios.lastModified).gone == [phones])
            #expect(try await scene.updates(since: ios.lastModified, on: fcm).geofences.map(\.key) == [phones])
        }
    }

    @Test(arguments: Engine.allCases)
    func `changes of one millisecond are never lost between two fetches`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let shop = try await scene.locate()
            var since = Instant.zero
            for _ in 0..<20 {
                let geofence = try await scene.fence([shop])
                let updates = try await scene.updates(since: since)
                #expect(updates.geofences == [geofence])
                #expect(updates.lastModified > since)
                since = updates.lastModified
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `a device that fetches while others change geofences ends with all of them`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let shop = try await scene.locate()
            var device = FencedDevice()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<60 {
                    group.addTask {
                        let geofence = try await scene.fence([shop])
                        if number.isMultiple(of: 3) {
                            _ = try await scene.store.delete(geofence.key, of: scene.application.key)
                        }
                    }
                }
                for _ in 0..<30 { try await device.fetch(on: scene.platform, scene.store) }
                try await group.waitForAll()
            }
            try await device.fetch(on: scene.platform, scene.store)
            #expect(device.geofences.count == 40)
            let fresh = try await FencedDevice(of: scene.platform, scene.store)
            #expect(device.geofences == fresh.geofences)
        }
    }

    @Test(arguments: Engine.allCases, Array(1...12) as [UInt64])
    func `whoever fetches what changed ends with what a full fetch gives, under any changes and clocks`(
        engine: Engine, seed: UInt64
    ) async throws {
        let clock = WaywardClock()
        try await engine.withStore(clock: clock) { store in
            var tale = try await GeofenceTale(store: store, clock: clock, seed: seed)
            try await tale.run(steps: 120)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a deleted geofence is forgotten once devices have dropped it by themselves`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let geofence = try await scene.fence([try await scene.locate()], expiresIn: .seconds(60))
            let since = try await scene.updates().lastModified
            _ = try await scene.store.delete(geofence.key, of: scene.application.key)
            let end = geofence.plan.expiresAt
            #expect(try await scene.store.forgetDeletedGeofences(expiredBefore: end) == false)
            #expect(try await scene.updates(since: since).gone == [geofence.key])
            _ = try await scene.store.forgetDeletedGeofences(expiredBefore: end + .milliseconds(1))
            #expect(try await scene.updates(since: since).gone.isEmpty)
        }
    }
}

/// What the SDKs keep of the answers they get.
struct FencedDevice {
    private(set) var geofences: [Key<Geofence>: Geofence] = [:]
    private var lastModified = Instant.zero

    init() {}

    init(of platform: Platform, _ store: any GeofenceStore) async throws {
        try await fetch(on: platform, store)
    }

    mutating func fetch(on platform: Platform, _ store: any GeofenceStore) async throws {
        let updates = try await store.geofenceUpdates(since: lastModified, on: platform)
        if lastModified == .zero { geofences = [:] }
        for key in updates.gone { geofences[key] = nil }
        for geofence in updates.geofences { geofences[geofence.key] = geofence }
        lastModified = updates.lastModified
    }
}

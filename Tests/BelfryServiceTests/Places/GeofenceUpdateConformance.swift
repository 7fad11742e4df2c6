import BelfryTesting
import Testing

@testable import BelfryService

@Suite struct GeofenceUpdateConformance {
    @Test(arguments: Engine.allCases)
    func `successive changes leave one update, due when they end`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let shop = try await fixture.locate()
            _ = try await fixture.fence([shop])
            #expect(try await fixture.dueUpdates().isEmpty)
            fixture.clock.advance(by: .milliseconds(900))
            _ = try await fixture.fence([shop])
            fixture.clock.advance(by: .milliseconds(999))
            #expect(try await fixture.dueUpdates().isEmpty)
            fixture.clock.advance(by: .milliseconds(1))
            let updates = try await fixture.dueUpdates()
            #expect(updates.map(\.platformKey) == [fixture.platform.key])
            #expect(updates.map(\.applicationKey) == [fixture.application.key])
            try await fixture.store.settle(try #require(updates.first))
            #expect(try await fixture.dueUpdates().isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `endless changes do not delay the update for ever`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let shop = try await fixture.locate()
            for _ in 0..<20 {
                _ = try await fixture.fence([shop])
                fixture.clock.advance(by: .milliseconds(500))
            }
            #expect(try await fixture.dueUpdates().count == 1)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a change while the push is made leaves its update`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let shop = try await fixture.locate()
            _ = try await fixture.fence([shop])
            fixture.clock.advance(by: .seconds(1))
            let update = try #require(try await fixture.dueUpdates().first)
            _ = try await fixture.fence([shop])
            try await fixture.store.settle(update)
            fixture.clock.advance(by: .seconds(1))
            #expect(try await fixture.dueUpdates().count == 1)
        }
    }

    @Test(arguments: Engine.allCases)
    func `an update that another node took over stays`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            _ = try await fixture.fence([try await fixture.locate()])
            fixture.clock.advance(by: .seconds(1))
            let update = try #require(try await fixture.dueUpdates().first)
            try await fixture.store.write {
                try $0.prepared("UPDATE geofence_update SET holder = NULL, held_until_ms = NULL").send()
            }
            try await fixture.store.settle(update)
            try await fixture.store.postpone(update, for: .seconds(60))
            #expect(try await fixture.dueUpdates() == [update])
        }
    }

    @Test(arguments: Engine.allCases)
    func `an update that is put off comes up again`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            _ = try await fixture.fence([try await fixture.locate()])
            fixture.clock.advance(by: .seconds(1))
            let update = try #require(try await fixture.dueUpdates().first)
            try await fixture.store.postpone(update, for: .seconds(60))
            fixture.clock.advance(by: .seconds(59))
            #expect(try await fixture.dueUpdates().isEmpty)
            fixture.clock.advance(by: .seconds(1))
            #expect(try await fixture.dueUpdates() == [update])
        }
    }

    @Test(arguments: Engine.allCases)
    func `only the platforms concerned get an update`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let fcm = try await fixture.store.create(.of(fixture.application, kind: .androidFCM))
            _ = try await fixture.store.create(.of(fixture.application, kind: .windows8))
            _ = try await fixture.store.create(.of(try await fixture.store.create(.named("stranger"))))
            let shop = try await fixture.locate()
            let android = try await fixture.fence([shop], platform: .android)
            try await expectUpdates(fixture, [fcm])
            _ = try await fixture.store.update(android.key, of: fixture.application.key) { try $0.with(platform: .ios) }
            try await expectUpdates(fixture, [fixture.platform, fcm])
            let ios = try await fixture.fence([shop], platform: .ios)
            try await expectUpdates(fixture, [fixture.platform])
            _ = try await fixture.store.delete(ios.key, of: fixture.application.key)
            try await expectUpdates(fixture, [fixture.platform])
            _ = try await fixture.store.update(shop.key, of: fixture.application.key) { try $0.moved(to: 3) }
            try await expectUpdates(fixture, [fixture.platform])
        }
    }

    @Test(arguments: Engine.allCases)
    func `devices hear of visible starts only`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let shop = try await fixture.locate()
            let later = try await fixture.fence([shop], startsIn: .seconds(60), expiresIn: .seconds(120))
            let over = try await fixture.fence([shop], expiresIn: .milliseconds(-1))
            #expect(over.phase == .over)
            _ = try await fixture.store.delete(over.key, of: fixture.application.key)
            _ = try await fixture.store.update(later.key, of: fixture.application.key) { try $0.with(platform: .ios) }
            try await expectUpdates(fixture, [])
            fixture.clock.advance(by: .seconds(60))
            _ = try await fixture.store.startAndEndDueGeofences()
            try await expectUpdates(fixture, [fixture.platform])
            fixture.clock.advance(by: .seconds(60))
            _ = try await fixture.store.startAndEndDueGeofences()
            try await expectUpdates(fixture, [])
        }
    }

    /// Settles what is due a second from now.
    private func expectUpdates(_ fixture: TestStore, _ platforms: [Platform]) async throws {
        fixture.clock.advance(by: .seconds(1))
        let updates = try await fixture.dueUpdates()
        #expect(updates.map(\.platformKey).sorted() == platforms.map(\.key).sorted())
        for update in updates { try await fixture.store.settle(update) }
    }
}

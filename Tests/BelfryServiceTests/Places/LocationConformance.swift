import BelfryService
import BelfryTesting
import Testing

@Suite struct LocationConformance {
    @Test(arguments: Engine.allCases)
    func `a location is seen and changed by its application only`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let stranger = try await fixture.store.create(.named("stranger"))
            let shop = try await fixture.locate()
            let (store, mine) = (fixture.store, fixture.application.key)
            #expect(try await store.location(shop.key, of: mine) == shop)
            #expect(try await store.location(shop.key, of: stranger.key) == nil)
            let stolen = try await store.update(shop.key, of: stranger.key) { try $0.moved(to: 1) }
            #expect(stolen == nil)
            #expect(try await store.delete(shop.key, of: stranger.key) == false)
            fixture.clock.advance(by: .seconds(1))
            let moved = try #require(try await store.update(shop.key, of: mine) { try $0.moved(to: 1) })
            #expect(moved.place.latitude == 1 && moved.place.name == "shop")
            #expect(moved.createdAt == shop.createdAt && moved.updatedAt == fixture.clock.now)
            #expect(try await store.location(shop.key, of: mine) == moved)
            #expect(try await store.delete(shop.key, of: mine))
            #expect(try await store.delete(shop.key, of: mine) == false)
            #expect(try await store.location(shop.key, of: mine) == nil)
            #expect(try await fixture.locate().key > shop.key)
        }
    }

    @Test(arguments: Engine.allCases)
    func `locations are listed in pages, by keyword and time`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            var all: [Location] = []
            for number in 1...7 { all.append(try await fixture.locate("Café \(number)")) }
            fixture.clock.advance(by: .seconds(60))
            all.append(try await fixture.locate("ÄPFEL"))
            let (store, mine) = (fixture.store, fixture.application.key)
            let third = try await store.locations(of: mine, GeoListQuery(page: 3, size: 3))
            #expect(third == ListPage(Array(all[6...]), total: 8))
            let behind = try await store.locations(of: mine, GeoListQuery(size: 3, after: all[1].key.rawValue))
            #expect(behind.elements == Array(all[2..<5]) && behind.total == 8)
            let beyond = try await store.locations(of: mine, GeoListQuery(page: .max, size: 50))
            #expect(beyond == ListPage([], total: 8))
            let fruit = try await store.locations(of: mine, GeoListQuery(keyword: "äpf"))
            #expect(fruit == ListPage([all[7]], total: 1))
            let late = try await store.locations(of: mine, GeoListQuery(changedSince: fixture.clock.now))
            #expect(late == ListPage([all[7]], total: 1))
            let none = try await store.locations(of: mine, GeoListQuery(keyword: "%"))
            #expect(none == ListPage([], total: 0))
        }
    }

    @Test(arguments: Engine.allCases)
    func `a location in use is kept and its users named`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let shop = try await fixture.locate()
            let geofence = try await fixture.fence([shop])
            let (store, mine) = (fixture.store, fixture.application.key)
            let plan = try LocationGroupPlan(name: "shops", summary: "", locations: [shop.key])
            let group = try await store.create(plan, of: mine)
            let words = "location \(shop.key) is used by geofence \(geofence.key), location group \(group.key)"
            await #expect(throws: StoreError.conflict(words)) { try await store.delete(shop.key, of: mine) }
            #expect(try await store.delete(geofence.key, of: mine))
            await #expect(throws: StoreError.self) { try await store.delete(shop.key, of: mine) }
            #expect(try await store.delete(group.key, of: mine))
            #expect(try await store.delete(shop.key, of: mine))
        }
    }

    @Test(arguments: Engine.allCases)
    func `a group keeps its locations' order and current state`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, mine) = (fixture.store, fixture.application.key)
            let (a, b) = (try await fixture.locate("a"), try await fixture.locate("b"))
            let plan = try LocationGroupPlan(name: "Both", summary: "two shops", locations: [b.key, a.key, b.key])
            let group = try await store.create(plan, of: mine)
            #expect(group.locations == [b, a])
            let moved = try #require(try await store.update(a.key, of: mine) { try $0.moved(to: 2) })
            #expect(try await store.locationGroup(group.key, of: mine)?.locations == [b, moved])
            fixture.clock.advance(by: .seconds(1))
            let changed = try await store.update(group.key, of: mine) { old in
                try LocationGroupPlan(name: old.name, summary: "one shop", locations: [a.key])
            }
            #expect(changed?.locations == [moved] && changed?.summary == "one shop")
            #expect(changed?.createdAt == group.createdAt && changed?.updatedAt == fixture.clock.now)
            #expect(try await store.locationGroup(group.key, of: mine) == changed)
            let found = try await store.locationGroups(of: mine, GeoListQuery(keyword: "ONE"))
            #expect(found == ListPage([changed].compactMap(\.self), total: 1))
            #expect(try await store.locationGroups(of: mine, GeoListQuery(keyword: "two")).total == 0)
            let stranger = try await store.create(.named("stranger"))
            #expect(try await store.locationGroup(group.key, of: stranger.key) == nil)
            #expect(try await store.delete(group.key, of: stranger.key) == false)
            await #expect(throws: InvalidInput.self) { try await store.create(plan, of: stranger.key) }
        }
    }
}

import BelfryService
import BelfryTesting
import FoundationEssentials
import Testing

@Suite struct DeviceDeletionConformance {
    @Test(arguments: Engine.allCases)
    func `a deleted device is gone with its data`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, platform) = (fixture.store, fixture.platform)
            let device = try await fixture.register("a", topics: .replace(["t"]))
            let other = try await fixture.register("b", topics: .replace(["t"]))
            try await store.setDetail(of: device.key, on: platform.key, DeviceDetail.Change(badge: 3, language: "de"))
            try await store.delete(device, on: platform)
            #expect(try await store.device(device.uuid, on: platform.key) == nil)
            #expect(try await store.detail(of: device.key, on: platform.key) == nil)
            #expect(try await store.deviceCount(on: platform.key) == 1)
            #expect(try await store.device(other.uuid, on: platform.key)?.topics == ["t"])
            let found = try await store.devices(
                DeviceSearch(platforms: [platform.key], topic: "t"), after: nil, limit: 9)
            #expect(found.map(\.uuid) == [other.uuid])
            // Its app registers anew, as a device of its own.
            let again = try await fixture.register("a")
            #expect(again.uuid != device.uuid && again.topics.isEmpty)
            try await store.delete(device, on: platform)
            #expect(try await store.deviceCount(on: platform.key) == 2)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a device that registered after a verdict stays`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, platform) = (fixture.store, fixture.platform)
            let device = try await fixture.register("a")
            let verdictAt = device.registeredAt + .milliseconds(1)
            fixture.clock.advance(by: .seconds(1))
            _ = try await fixture.register("a", topics: .replace(["t"]))
            try await store.delete(device, on: platform, verdictAt: verdictAt)
            #expect(try await store.device(device.uuid, on: platform.key)?.isActive == true)
            try await store.delete(device, on: platform, verdictAt: verdictAt + .seconds(1))
            #expect(try await store.device(device.uuid, on: platform.key) == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `inactive and awaited devices can be deleted`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, platform) = (fixture.store, fixture.platform)
            let idle = try await fixture.register("a")
            try await store.unregister(idle.uuid, on: platform.key)
            try await store.delete(try #require(try await store.device(idle.uuid, on: platform.key)), on: platform)
            #expect(try await store.device(idle.uuid, on: platform.key) == nil)
            let device = try await fixture.register("b")
            let push = try await fixture.push()
            try await fixture.fanOut()
            try await store.delete(device, on: platform)
            let batch = try await fixture.claimOne()
            #expect(try await store.load(batch) != nil)
            #expect(try await store.receipt(push.receiptID)?.counts.values.reduce(0, +) == 1)
        }
    }
}

import BelfryCore
import BelfryTesting
import Foundation
import Testing

@Suite struct EnrolmentConformance {
    @Test(arguments: Engine.allCases)
    func `a new token makes a device that keeps what it was told`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let device = try await scene.register("a", topics: .replace(["b", "a"]), user: .set("Kim"), os: "17.1")
            #expect(device.isActive)
            #expect(device.topics == ["a", "b"])
            #expect(device.customUserID == "Kim")
            #expect(device.about.osVersion == "17.1")
            #expect(device.registeredAt == scene.clock.now)
            #expect(device.platformKey == scene.platform.key)
            #expect(try await scene.store.device(device.uuid, on: scene.platform.key) == device)
        }
    }

    @Test(arguments: Engine.allCases)
    func `the same token again is the same device, with or without its UUID`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let first = try await scene.register("a", user: .set("Kim"))
            scene.clock.advance(by: .seconds(5))
            let second = try await scene.register("a")
            let third = try await scene.register("a", as: first.uuid)
            #expect(first.key == second.key && second.key == third.key)
            #expect(second.customUserID == "Kim")
            #expect(second.registeredAt == first.registeredAt + .seconds(5))
            #expect(try await scene.store.deviceCount(on: scene.platform.key) == 1)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a known UUID with a new token changes the token`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let old = try await scene.register("a")
            let new = try await scene.register("b", as: old.uuid)
            #expect(new.key == old.key)
            #expect(new.token == DeviceToken(bytes: Array("b".utf8)))
            #expect(try await scene.register("a").key != old.key)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a UUID takes the token from the device that had it`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let named = try await scene.register("a", topics: .replace(["t"]))
            let holder = try await scene.register("b", topics: .replace(["t"]))
            #expect(try await scene.register("b", as: named.uuid).key == named.key)
            let evicted = try #require(try await scene.store.device(holder.uuid, on: scene.platform.key))
            #expect(evicted.token == nil)
            #expect(!evicted.isActive)
            #expect(try await scene.devices(.active) == [named.key])
            #expect(try await scene.devices(.topic("t")) == [named.key])
            #expect(try await scene.devices(.registered) == [named.key, holder.key].sorted())
            let back = try await scene.register("c", as: holder.uuid)
            #expect(back.key == holder.key && back.isActive)
            #expect(try await scene.devices(.topic("t")) == [named.key, holder.key].sorted())
        }
    }

    @Test(arguments: Engine.allCases)
    func `an unknown UUID, or one of another platform, is left to the token`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let other = try await scene.store.create(.of(scene.application))
            let stranger = try await scene.register("a", on: other)
            let device = try await scene.register("a", as: stranger.uuid)
            #expect(device.key != stranger.key)
            #expect(try await scene.register("a", as: UUID()).key == device.key)
            #expect(try await scene.store.device(stranger.uuid, on: scene.platform.key) == nil)
            #expect(try await scene.store.device(stranger.uuid, on: other.key) == stranger)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a device that unregisters keeps its UUID and comes back with its topics`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let device = try await scene.register("a", topics: .replace(["t"]), user: .set("Kim"))
            try await scene.store.unregister(device.uuid, on: scene.platform.key)
            try await scene.store.unregister(device.uuid, on: scene.platform.key)
            try await scene.store.unregister(UUID(), on: scene.platform.key)
            #expect(try await scene.store.device(device.uuid, on: scene.platform.key)?.isActive == false)
            for list in [PostingList.active, .topic("t"), .customUser("Kim")] {
                #expect(try await scene.devices(list).isEmpty)
            }
            let back = try await scene.register("a")
            #expect(back.key == device.key && back.isActive)
            for list in [PostingList.active, .topic("t"), .customUser("Kim")] {
                #expect(try await scene.devices(list) == [device.key])
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `what an update leaves out stays, and what it clears goes`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let device = try await scene.register("a", user: .set("Kim"), os: "7.0")
            #expect(try await scene.devices(.interactive).isEmpty)
            let kept = try await scene.register("a")
            #expect(kept.customUserID == "Kim" && kept.about.osVersion == "7.0")
            let changed = try await scene.register("a", user: .set("kim"), os: "8.0")
            #expect(changed.customUserID == "kim")
            #expect(try await scene.devices(.interactive) == [device.key])
            #expect(try await scene.devices(.customUser("Kim")).isEmpty)
            #expect(try await scene.devices(.customUser("kim")) == [device.key])
            #expect(try await scene.register("a", user: .clear).customUserID == nil)
            #expect(try await scene.devices(.customUser("kim")).isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `topics are replaced, added and taken away`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            try await scene.register("a", topics: .replace(["a", "b"]))
            let changed = try await scene.register(
                "a", topics: .change(subscribe: ["c", "d"], unsubscribe: ["a", "d", "x"]))
            #expect(changed.topics == ["b", "c", "d"])
            #expect(try await scene.devices(.topic("a")).isEmpty)
            #expect(try await scene.devices(.topic("d")) == [changed.key])
            #expect(try await scene.register("a", topics: .replace([])).topics.isEmpty)
            #expect(try await scene.devices(.topic("d")).isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `more than 1,024 topics in sum are refused and change nothing`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let all = Set((1...1_024).map { "t\($0)" })
            let device = try await scene.register("a", topics: .replace(all))
            await #expect(throws: InvalidInput.self) {
                try await scene.register("a", topics: .change(subscribe: ["more"], unsubscribe: []))
            }
            #expect(try await scene.store.device(device.uuid, on: scene.platform.key)?.topics.count == 1_024)
            #expect(try await scene.devices(.topic("more")).isEmpty)
            let swapped = try await scene.register("a", topics: .change(subscribe: ["more"], unsubscribe: ["t1"]))
            #expect(swapped.topics.count == 1_024)
        }
    }

    @Test(arguments: Engine.allCases)
    func `UUIDs lead to the devices of the platforms asked for`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let other = try await scene.store.create(.of(scene.application))
            let here = try await scene.register("a")
            let there = try await scene.register("a", on: other)
            let uuids = [here.uuid, UUID(), there.uuid]
            let store = scene.store
            #expect(try await store.deviceKeys(uuids, on: [scene.platform.key]) == [here.key])
            let both = try await store.deviceKeys(uuids, on: [scene.platform.key, other.key])
            #expect(Set(both) == [here.key, there.key])
            #expect(try await store.deviceKeys(uuids, on: []).isEmpty)
            #expect(try await store.deviceCount(on: other.key) == 1)
        }
    }

    @Test(arguments: Engine.allCases)
    func `nobody registers on a platform that is not there`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let nowhere = try await scene.store.create(.of(try await scene.store.create(.named("gone"))))
            try await scene.store.delete(nowhere.applicationKey, force: true)
            await #expect(throws: StoreError.self) { try await scene.register("a", on: nowhere) }
        }
    }
}

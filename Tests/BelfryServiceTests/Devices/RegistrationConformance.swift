import BelfryService
import BelfryTesting
import Foundation
import Testing

@Suite struct RegistrationConformance {
    @Test(arguments: Engine.allCases)
    func `inactive devices are counted for themselves`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, platform) = (fixture.store, fixture.platform.key)
            #expect(try await store.inactiveDeviceCount(on: platform) == 0)
            let first = try await fixture.register("a")
            _ = try await fixture.register("b")
            try await store.unregister(first.uuid, on: platform)
            #expect(try await store.inactiveDeviceCount(on: platform) == 1)
            #expect(try await store.deviceCount(on: platform) == 2)
            _ = try await fixture.register("a")
            #expect(try await store.inactiveDeviceCount(on: platform) == 0)
        }
    }

    @Test(arguments: Engine.withModel)
    func `a new token makes a device with its given values`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let device = try await fixture.register("a", topics: .replace(["b", "a"]), user: .set("Kim"), os: "17.1")
            #expect(device.isActive)
            #expect(device.topics == ["a", "b"])
            #expect(device.customUserID == "Kim")
            #expect(device.about.osVersion == "17.1")
            #expect(device.registeredAt == fixture.clock.now)
            #expect(device.platformKey == fixture.platform.key)
            #expect(try await fixture.ports.device(device.uuid, on: fixture.platform.key) == device)
        }
    }

    @Test(arguments: Engine.allCases)
    func `an operator's change is no registration`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, platform) = (fixture.store, fixture.platform)
            let old = try await fixture.register("a", topics: .replace(["t"]))
            // The app has another token since the operator looked.
            fixture.clock.advance(by: .seconds(7_200))
            let moved = try await fixture.register("b", as: old.uuid)
            fixture.clock.advance(by: .seconds(7_200))
            var change = try Registration(
                token: DeviceToken(bytes: Array("a".utf8)), about: .init(alias: "Emma"), customUserID: .set("Kim"),
                topics: .keep)
            change.isEdit = true
            let edited = try await store.register(change, as: old.uuid, on: platform)
            #expect(edited.about.alias == "Emma" && edited.customUserID == "Kim" && edited.topics == ["t"])
            #expect(edited.token == moved.token && edited.registeredAt == moved.registeredAt)
            #expect(try await store.device(old.uuid, on: platform.key) == edited)
            #expect(try await fixture.register("b").key == old.key, "it is found by its token")
            try await store.unregister(old.uuid, on: platform.key)
            let late = change
            await #expect(throws: StoreError.self) {
                _ = try await store.register(late, as: old.uuid, on: platform)
            }
            #expect(try await store.device(old.uuid, on: platform.key)?.isActive == false)
        }
    }

    @Test(arguments: Engine.allCases)
    func `devices are written with their details and calls`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, platform) = (fixture.store, fixture.platform)
            let devices = try await withThrowingTaskGroup(of: Device.self) { group in
                for number in 1...40 {
                    group.addTask {
                        var registration = try Registration(
                            token: DeviceToken(bytes: Array("\(number)".utf8)), about: Device.About(),
                            customUserID: .keep,
                            topics: .keep, detail: DeviceDetail.Change(badge: Int64(number), language: "sv"))
                        registration.mirrorCall = MirrorCall(.post, body: [UInt8(number)])
                        return try await store.register(registration, as: nil, on: platform)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let entries = try await store.mirrorEntries(limit: 99)
            #expect(entries.map(\.device).sorted() == devices.map(\.key).sorted())
            for entry in entries {
                let detail = try await store.detail(of: entry.device, on: platform.key)
                #expect(detail == DeviceDetail(badge: Int64(entry.call.body[0]), language: "sv"))
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `an equal token is one device, with or without UUID`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let first = try await fixture.register("a", user: .set("Kim"))
            fixture.clock.advance(by: .seconds(3_600))
            let second = try await fixture.register("a")
            let third = try await fixture.register("a", as: first.uuid)
            #expect(first.key == second.key && second.key == third.key)
            #expect(second.customUserID == "Kim")
            #expect(second.registeredAt == first.registeredAt + .seconds(3_600))
            #expect(try await fixture.store.deviceCount(on: fixture.platform.key) == 1)
        }
    }

    @Test(arguments: Engine.withModel)
    func `a known UUID with a new token changes the token`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let old = try await fixture.register("a")
            let new = try await fixture.register("b", as: old.uuid)
            #expect(new.key == old.key)
            #expect(new.token == DeviceToken(bytes: Array("b".utf8)))
            #expect(try await fixture.register("a").key != old.key)
        }
    }

    private static let installation = "fEk9VyTYRuq8_J-Pz3Hl0a"

    /// Source: pigeon#304: once a Firebase Installation ID is used, the token of that device no longer works.
    @Test(arguments: Engine.withModel)
    func `an installation registering its ID keeps its device, without token`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let token = "\(Self.installation):APA91bHun4MxP5egoKMwt2KZFBaFUH"
            let old = try await fixture.register(token, topics: .replace(["t"]), user: .set("Kim"))
            let other = try await fixture.register("\(Self.installation):else", topics: .replace(["t"]))
            let new = try await fixture.register(Self.installation)
            #expect(new.key == old.key && other.key != old.key)
            #expect(new.token == DeviceToken(bytes: Array(Self.installation.utf8)))
            #expect(new.customUserID == "Kim")
            #expect(try await fixture.devices(.active) == [old.key, other.key].sorted())
        }
    }

    @Test(arguments: Engine.withModel)
    func `another device's ID takes the token from its holder`(engine: Engine)
        async throws
    {
        try await TestStore.play(on: engine) { fixture in
            let named = try await fixture.register("a")
            let holder = try await fixture.register("\(Self.installation):APA91bHun4MxP5egoKMwt2KZFBaFUH")
            #expect(try await fixture.register(Self.installation, as: named.uuid).key == named.key)
            let evicted = try #require(try await fixture.ports.device(holder.uuid, on: fixture.platform.key))
            #expect(evicted.token == nil && !evicted.isActive)
        }
    }

    @Test(arguments: Engine.withModel)
    func `a UUID takes the token from its former device`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let named = try await fixture.register("a", topics: .replace(["t"]))
            let holder = try await fixture.register("b", topics: .replace(["t"]))
            #expect(try await fixture.register("b", as: named.uuid).key == named.key)
            let evicted = try #require(try await fixture.ports.device(holder.uuid, on: fixture.platform.key))
            #expect(evicted.token == nil)
            #expect(!evicted.isActive)
            #expect(try await fixture.devices(.active) == [named.key])
            #expect(try await fixture.devices(.topic("t")) == [named.key])
            #expect(try await fixture.devices(.registered) == [named.key, holder.key].sorted())
            let back = try await fixture.register("c", as: holder.uuid)
            #expect(back.key == holder.key && back.isActive)
            #expect(try await fixture.devices(.topic("t")) == [named.key, holder.key].sorted())
        }
    }

    @Test(arguments: Engine.withModel)
    func `an unknown or foreign UUID leaves the token decisive`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let other = try await fixture.ports.create(.of(fixture.application))
            let stranger = try await fixture.register("a", on: other)
            let device = try await fixture.register("a", as: stranger.uuid)
            #expect(device.key != stranger.key)
            #expect(try await fixture.register("a", as: UUID()).key == device.key)
            #expect(try await fixture.ports.device(stranger.uuid, on: fixture.platform.key) == nil)
            #expect(try await fixture.ports.device(stranger.uuid, on: other.key) == stranger)
        }
    }

    @Test(arguments: Engine.withModel)
    func `a device that unregisters keeps its UUID and later topics`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let device = try await fixture.register("a", topics: .replace(["t"]), user: .set("Kim"))
            try await fixture.ports.unregister(device.uuid, on: fixture.platform.key)
            try await fixture.ports.unregister(device.uuid, on: fixture.platform.key)
            try await fixture.ports.unregister(UUID(), on: fixture.platform.key)
            #expect(try await fixture.ports.device(device.uuid, on: fixture.platform.key)?.isActive == false)
            for list in [PostingList.active, .topic("t"), .customUser("Kim")] {
                #expect(try await fixture.devices(list).isEmpty)
            }
            let back = try await fixture.register("a")
            #expect(back.key == device.key && back.isActive)
            for list in [PostingList.active, .topic("t"), .customUser("Kim")] {
                #expect(try await fixture.devices(list) == [device.key])
            }
        }
    }

    @Test(arguments: Engine.withModel)
    func `an update keeps omitted fields and clears named ones`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let device = try await fixture.register("a", user: .set("Kim"), os: "7.0")
            #expect(try await fixture.devices(.interactive).isEmpty)
            let kept = try await fixture.register("a")
            #expect(kept.customUserID == "Kim" && kept.about.osVersion == "7.0")
            let changed = try await fixture.register("a", user: .set("kim"), os: "8.0")
            #expect(changed.customUserID == "kim")
            #expect(try await fixture.devices(.interactive) == [device.key])
            #expect(try await fixture.devices(.customUser("Kim")).isEmpty)
            #expect(try await fixture.devices(.customUser("kim")) == [device.key])
            #expect(try await fixture.register("a", user: .clear).customUserID == nil)
            #expect(try await fixture.devices(.customUser("kim")).isEmpty)
        }
    }

    @Test(arguments: Engine.withModel)
    func `topics are replaced, added and taken away`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            try await fixture.register("a", topics: .replace(["a", "b"]))
            let changed = try await fixture.register(
                "a", topics: .change(subscribe: ["c", "d"], unsubscribe: ["a", "d", "x"]))
            #expect(changed.topics == ["b", "c", "d"])
            #expect(try await fixture.devices(.topic("a")).isEmpty)
            #expect(try await fixture.devices(.topic("d")) == [changed.key])
            #expect(try await fixture.register("a", topics: .replace([])).topics.isEmpty)
            #expect(try await fixture.devices(.topic("d")).isEmpty)
        }
    }

    @Test(arguments: Engine.withModel)
    func `more than 1,024 topics in total change nothing`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let all = Set((1...1_024).map { "t\($0)" })
            let device = try await fixture.register("a", topics: .replace(all))
            await #expect(throws: InvalidInput.self) {
                try await fixture.register("a", topics: .change(subscribe: ["more"], unsubscribe: []))
            }
            #expect(try await fixture.ports.device(device.uuid, on: fixture.platform.key)?.topics.count == 1_024)
            #expect(try await fixture.devices(.topic("more")).isEmpty)
            let swapped = try await fixture.register("a", topics: .change(subscribe: ["more"], unsubscribe: ["t1"]))
            #expect(swapped.topics.count == 1_024)
        }
    }

    @Test(arguments: Engine.allCases)
    func `UUIDs lead to the devices of the platforms asked for`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let other = try await fixture.ports.create(.of(fixture.application))
            let here = try await fixture.register("a")
            let there = try await fixture.register("a", on: other)
            let uuids = [here.uuid, UUID(), there.uuid]
            let store = fixture.store
            #expect(
                try await store.devices(named: .devices(uuids), on: [fixture.platform.key]).found == [
                    fixture.platform.key: [here.key]
                ])
            let both = try await store.devices(named: .devices(uuids), on: [fixture.platform.key, other.key]).found
                .values.joined()
            #expect(Set(both) == [here.key, there.key])
            #expect(try await store.devices(named: .devices(uuids), on: []).found.isEmpty)
            #expect(try await store.deviceCount(on: other.key) == 1)
        }
    }

    @Test(arguments: Engine.allCases)
    func `no device registers on a platform that is not there`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let nowhere = try await fixture.ports.create(.of(try await fixture.ports.create(.named("gone"))))
            try await fixture.store.delete(nowhere.applicationKey, force: true)
            await #expect(throws: StoreError.self) { try await fixture.register("a", on: nowhere) }
        }
    }
}

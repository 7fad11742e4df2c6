import BelfryCore
import BelfryTesting
import Foundation
import Testing

@Suite struct RegistryConformance {
    @Test(arguments: Engine.allCases)
    func `what was created is found by key and by UUID`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let second = try await scene.store.create(.named("weather"))
            let android = try await scene.store.create(.of(scene.application, kind: .androidFCM))
            #expect(try await scene.store.applications() == [scene.application, second])
            #expect(try await scene.store.application(second.uuid) == second)
            #expect(try await scene.store.application(UUID()) == nil)
            #expect(try await scene.store.platforms(of: scene.application.key) == [scene.platform, android])
            #expect(try await scene.store.platforms(of: second.key).isEmpty)
            #expect(try await scene.store.platform(android.uuid) == android)
            #expect(try await scene.store.platform(android.key) == android)
            #expect(try await scene.store.platform(UUID()) == nil)
            #expect(scene.application.createdAt == scene.clock.now)
            #expect(android.credentialsVersion > 0 && android.parked == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a platform of an unknown application is refused`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let stranger = Application(
                key: Key(99), uuid: UUID(), name: "", apiKeyHash: [], sharedSecret: Sealed(bytes: []), createdAt: .zero)
            await #expect(throws: StoreError.self) { try await scene.store.create(.of(stranger)) }
        }
    }

    @Test(arguments: Engine.allCases)
    func `an application with platforms is deleted by force only, with all it has`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let store = scene.store
            let bare = try await store.create(.named("bare"))
            try await store.delete(bare.key, force: false)
            let device = try await scene.register("a", topics: .replace(["t"]))
            let push = try await scene.push()
            try await scene.spread()
            let page = try await scene.claimOne()
            await #expect {
                try await store.delete(scene.application.key, force: false)
            } throws: {
                if case .notEmpty = $0 as? StoreError { true } else { false }
            }
            #expect(try await store.application(scene.application.uuid) != nil)
            try await store.delete(scene.application.key, force: true)
            #expect(try await store.applications().isEmpty)
            #expect(try await store.platform(scene.platform.uuid) == nil)
            #expect(try await store.device(device.uuid, on: scene.platform.key) == nil)
            #expect(try await store.receipt(push.receiptID) == nil)
            #expect(try await store.load(page) == nil)
            #expect(try await store.settle(Settlement(page, all: .accepted)) == false)
            #expect(try await store.nextDue() == nil)
            await #expect(throws: StoreError.self) { try await store.delete(scene.application.key, force: true) }
        }
    }

    @Test(arguments: Engine.allCases)
    func `a deleted application's keys are not used again`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let device = try await scene.register("a")
            try await scene.store.delete(scene.application.key, force: true)
            let next = try await scene.store.create(.named("next"))
            let platform = try await scene.store.create(.of(next))
            #expect(next.key > scene.application.key)
            #expect(platform.key > scene.platform.key)
            #expect(try await scene.register("a", on: platform).key > device.key)
        }
    }

    @Test(arguments: Engine.allCases)
    func `new credentials have a new version, and end a parking for their sake`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let store = scene.store
            let key = scene.platform.key
            try await store.park(key, Parking(cause: .credentials, detail: "revoked", since: scene.clock.now))
            #expect(try await store.platform(key)?.parked?.detail == "revoked")
            try await store.replaceCredentials(of: key, with: Sealed(bytes: [1]))
            let mended = try #require(try await store.platform(key))
            #expect(mended.credentials == Sealed(bytes: [1]))
            #expect(mended.credentialsVersion > scene.platform.credentialsVersion)
            #expect(mended.parked == nil)
            try await store.park(key, Parking(cause: .deaths, detail: "many", since: scene.clock.now))
            try await store.replaceCredentials(of: key, with: Sealed(bytes: [2]))
            #expect(try await store.platform(key)?.parked?.cause == .deaths)
            try await store.resume(key)
            #expect(try await store.platform(key)?.parked == nil)
            await #expect(throws: StoreError.self) { try await store.resume(Key(99)) }
            await #expect(throws: StoreError.self) {
                try await store.replaceCredentials(of: Key(99), with: Sealed(bytes: []))
            }
        }
    }
}

import BelfryTesting
import Foundation
import Testing

@testable import BelfryService

@Suite struct RegistryConformance {
    @Test(arguments: Engine.allCases)
    func `a created object is found by key and UUID`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let second = try await fixture.store.create(.named("weather"))
            let android = try await fixture.store.create(.of(fixture.application, kind: .androidFCM))
            #expect(try await fixture.store.applications() == [fixture.application, second])
            for bounds in [AdminKey.Bounds.everything, .tenant(Tenant.first)] {
                let page = try await fixture.store.applications(in: bounds, limit: 1)
                #expect(page == [fixture.application])
                #expect(try await fixture.store.applications(in: bounds, after: page.last?.key, limit: 1) == [second])
            }
            let own = AdminKey.Bounds.application(second.key, of: Tenant.first)
            #expect(try await fixture.store.applications(in: own, limit: 2) == [second])
            #expect(try await fixture.store.applications(in: own, after: second.key, limit: 2).isEmpty)
            #expect(try await fixture.store.application(second.uuid) == second)
            #expect(try await fixture.store.application(UUID()) == nil)
            #expect(try await fixture.store.platforms(of: fixture.application.key) == [fixture.platform, android])
            #expect(try await fixture.store.platforms(of: second.key).isEmpty)
            #expect(try await fixture.store.platform(android.uuid) == android)
            #expect(try await fixture.store.platform(android.key) == android)
            #expect(try await fixture.store.platform(UUID()) == nil)
            #expect(fixture.application.createdAt == fixture.clock.now)
            #expect(android.credentialsVersion > 0 && android.parked == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a platform of an unknown application is refused`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let stranger = Application(
                key: Key(99), uuid: UUID(), name: "", apiKeyHash: [], sharedSecret: Sealed(bytes: []), createdAt: .zero)
            await #expect(throws: StoreError.self) { try await fixture.store.create(.of(stranger)) }
        }
    }

    @Test(arguments: Engine.allCases)
    func `an application with platforms needs force to go`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let bare = try await store.create(.named("bare"))
            try await store.delete(bare.key, force: false)
            let device = try await fixture.register("a", topics: .replace(["t"]))
            let push = try await fixture.push()
            try await fixture.fanOut()
            let batch = try await fixture.claimOne()
            await #expect {
                try await store.delete(fixture.application.key, force: false)
            } throws: {
                if case .conflict = $0 as? StoreError { true } else { false }
            }
            #expect(try await store.application(fixture.application.uuid) != nil)
            try await store.delete(fixture.application.key, force: true)
            #expect(try await store.applications().isEmpty)
            #expect(try await store.platform(fixture.platform.uuid) == nil)
            #expect(try await store.device(device.uuid, on: fixture.platform.key) == nil)
            #expect(try await store.receipt(push.receiptID) == nil)
            #expect(try await store.load(batch) == nil)
            #expect(try await store.settle(Settlement(batch, all: .accepted)) == false)
            #expect(try await store.nextDue() == nil)
            await #expect(throws: StoreError.self) { try await store.delete(fixture.application.key, force: true) }
        }
    }

    @Test(arguments: Engine.allCases)
    func `a deleted application's keys are not used again`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let device = try await fixture.register("a")
            try await fixture.store.delete(fixture.application.key, force: true)
            let next = try await fixture.store.create(.named("next"))
            let platform = try await fixture.store.create(.of(next))
            #expect(next.key > fixture.application.key)
            #expect(platform.key > fixture.platform.key)
            #expect(try await fixture.register("a", on: platform).key > device.key)
        }
    }

    @Test(arguments: Engine.allCases)
    func `web pages may register from activation until ended`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let (key, uuid) = (fixture.platform.key, fixture.platform.uuid)
            #expect(try await store.platform(key)?.webAccess == nil)
            for provesRegistrations in [true, false] {
                let access = try WebAccess(
                    key: RegistrationKey(for: uuid, random: UUID()),
                    origins: [try WebOrigin("https://shop.example"), try WebOrigin("http://localhost:8080")],
                    provesRegistrations: provesRegistrations)
                try await store.setWebAccess(of: key, to: access)
                #expect(try await store.platform(uuid)?.webAccess == access)
                #expect(try await store.platforms(of: fixture.application.key).first?.webAccess == access)
            }
            try await store.replaceCredentials(of: key, with: Sealed(bytes: [1]))
            try await store.edit(key, PlatformEdit(name: try Name("Shop")))
            try await store.park(key, Parking(cause: .operator, detail: "moving", since: fixture.clock.now))
            try await store.resume(key)
            #expect(try await store.platform(key)?.webAccess?.provesRegistrations == false)
            let known = try #require(try await store.platform(key)?.webAccess)
            let new = RegistrationKey(for: uuid, random: UUID())
            _ = try await store.setWebAccess(of: key, WebAccessEdit(replacesKey: true), new: new)
            let other = RegistrationKey(for: uuid, random: UUID())
            _ = try await store.setWebAccess(of: key, WebAccessEdit(provesRegistrations: true), new: other)
            let merged = try await store.platform(key)?.webAccess
            #expect(try merged == WebAccess(key: new, origins: known.origins))
            try await store.setWebAccess(of: key, to: nil)
            #expect(try await store.platform(key)?.webAccess == nil)
            await #expect(throws: StoreError.self) { try await store.setWebAccess(of: Key(99), to: nil) }
        }
    }

    @Test(arguments: Engine.allCases)
    func `credentials keep their shown part beside them`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, key) = (fixture.store, fixture.platform.key)
            let facts = CredentialFacts(
                expiresAt: fixture.clock.now + .seconds(60), published: ["topic": "com.example.app", "ü\"": "\\"])
            #expect(try await store.platform(key)?.facts == nil)
            try await store.note(facts, of: key, version: fixture.platform.credentialsVersion)
            #expect(try await store.platform(key)?.facts == facts)
            try await store.replaceCredentials(of: key, with: Sealed(bytes: [1]), facts: CredentialFacts.none)
            // Those of credentials that were replaced meanwhile.
            try await store.note(facts, of: key, version: fixture.platform.credentialsVersion)
            let replaced = try #require(try await store.platform(key))
            #expect(replaced.facts == CredentialFacts.none)
            try await store.edit(key, PlatformEdit(name: try Name("Shop")))
            #expect(try await store.platform(key)?.facts == CredentialFacts.none)
            let made = try await store.create(
                NewPlatform(
                    uuid: UUID(), applicationKey: fixture.application.key, kind: .ios, mode: .production, name: "x",
                    secretHash: [], credentials: Sealed(bytes: [2]), facts: facts))
            #expect(made.facts == facts)
            #expect(try await store.platform(made.uuid)?.facts == facts)
        }
    }

    @Test(arguments: Engine.allCases)
    func `new credentials get a version and end credential parking`(engine: Engine)
        async throws
    {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let key = fixture.platform.key
            try await store.park(key, Parking(cause: .credentials, detail: "revoked", since: fixture.clock.now))
            #expect(try await store.platform(key)?.parked?.detail == "revoked")
            try await store.replaceCredentials(of: key, with: Sealed(bytes: [1]))
            let mended = try #require(try await store.platform(key))
            #expect(mended.credentials == Sealed(bytes: [1]))
            #expect(mended.credentialsVersion > fixture.platform.credentialsVersion)
            #expect(mended.parked == nil)
            for cause in Parking.Cause.allCases {
                try await store.park(key, Parking(cause: cause, detail: "why", since: fixture.clock.now))
                #expect(try await store.platform(key)?.parked?.cause == cause)
                try await store.replaceCredentials(of: key, with: Sealed(bytes: [2]))
                let remains = cause == .deadTokens || cause == .operator
                #expect(try await store.platform(key)?.parked?.cause == (remains ? cause : nil))
            }
            try await store.park(key, Parking(cause: .operator, detail: "moving", since: fixture.clock.now))
            try await store.resume(key)
            #expect(try await store.platform(key)?.parked == nil)
            await #expect(throws: StoreError.self) { try await store.resume(Key(99)) }
            await #expect(throws: StoreError.self) {
                try await store.replaceCredentials(of: Key(99), with: Sealed(bytes: []))
            }
        }
    }
}

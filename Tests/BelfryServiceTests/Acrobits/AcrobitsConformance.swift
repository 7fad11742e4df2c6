import BelfryTesting
import Foundation
import Testing

@testable import BelfryService

@Suite struct AcrobitsConformance {
    @Test(arguments: Engine.allCases)
    func `an app id lasts until it or its platforms go`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, app) = (fixture.store, fixture.application.key)
            let payload = try AcrobitsPayloadTemplate(#"{"*":{"v":"%verb%"}}"#)
            let first = AcrobitsAppID(name: "b", applicationKey: app, platformKey: fixture.platform.key)
            try await store.set(first)
            let again = AcrobitsAppID(
                name: "b", applicationKey: app, platformKey: fixture.platform.key, payload: payload)
            try await store.set(again)
            let other = AcrobitsAppID(name: "a", applicationKey: app, platformKey: fixture.platform.key)
            try await store.set(other)
            #expect(try await store.acrobitsAppIDs(of: app) == [other, again])
            #expect(try await store.acrobitsAppIDs(named: "b", of: [app, Key(99)]) == [again])
            #expect(try await store.acrobitsAppIDs(named: "b", of: [Key(99)]) == [])
            #expect(try await store.acrobitsAppIDs(named: "c", of: [app]) == [])
            #expect(try await store.deleteAcrobitsAppID("a", of: Key(99)) == false)
            #expect(try await store.deleteAcrobitsAppID("a", of: app))
            #expect(try await store.acrobitsAppIDs(of: app) == [again])
        }
    }

    @Test(arguments: Engine.allCases)
    func `an account has one device per app id, bounded accounts`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let (first, second) = (UUID(), UUID())
            func registration(
                _ selector: String, _ appID: String, _ device: UUID, account: String? = "kim"
            ) -> AcrobitsRegistration {
                AcrobitsRegistration(
                    applicationKey: fixture.application.key, appID: appID, selector: selector, token: "T",
                    platformKey: fixture.platform.key, device: device, account: account)
            }
            try await store.note(registration("s", "b", first))
            try await store.note(registration("s", "a", first))
            try await store.note(registration("s", "b", second, account: nil))
            let found = try await store.acrobitsRegistrations(selector: "s", of: fixture.application.key)
            #expect(found.map(\.appID) == ["a", "b"] && found.map(\.device) == [first, second])
            #expect(found.allSatisfy { $0.account == "kim" && $0.token == "T" && $0.seenAt > .zero })
            #expect(try await store.acrobitsRegistrations(selector: "s", of: Key(99)).isEmpty)
            for number in 0..<AcrobitsRegistration.perDevice {
                try await store.note(registration("n\(number)", "b", first))
            }
            let ofDevice = try await store.acrobitsRegistrations(device: first, of: fixture.application.key)
            #expect(ofDevice.count == AcrobitsRegistration.perDevice)
            #expect(!ofDevice.contains { $0.selector == "s" })
            try await store.deleteAcrobitsRegistrations(selector: "s", of: fixture.application.key)
            #expect(try await store.acrobitsRegistrations(selector: "s", of: fixture.application.key).isEmpty)
            #expect(try await store.acrobitsRegistrations(device: second, of: fixture.application.key).isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `data of an app id on a platform go together`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, app) = (fixture.store, fixture.application.key)
            try await store.set(AcrobitsAppID(name: "a", applicationKey: app, platformKey: fixture.platform.key))
            try await store.note(
                AcrobitsRegistration(
                    applicationKey: app, appID: "a", selector: "s", token: "T", platformKey: fixture.platform.key,
                    device: UUID(), account: nil))
            try await store.delete(fixture.platform.key, force: true)
            #expect(try await store.acrobitsAppIDs(of: app).isEmpty)
            #expect(try await store.acrobitsRegistrations(selector: "s", of: app).isEmpty)
        }
    }
}

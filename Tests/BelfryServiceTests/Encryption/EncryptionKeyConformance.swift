import BelfryTesting
import Foundation
import Testing

@testable import BelfryService

/// The keys of devices in both databases.
@Suite struct EncryptionKeyConformance {
    private static func register(
        _ token: String, _ keys: EncryptionKeys?, in fixture: TestStore, on platform: Platform? = nil
    ) async throws -> Device {
        try await fixture.store.register(
            try Registration(
                token: DeviceToken(bytes: Array(token.utf8)), about: .init(), customUserID: .keep, topics: .keep,
                detail: DeviceDetail.Change(encryptionKeys: keys)),
            as: nil, on: platform ?? fixture.platform)
    }

    private static func draft(_ fixture: TestStore, _ platforms: [Platform]? = nil) -> AudienceDraft {
        AudienceDraft(platforms: platforms ?? [fixture.platform], audience: .list(.active))
    }

    @Test(arguments: Engine.allCases)
    func `keys last until their app takes them back`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (first, second) = (try EncryptedSample.keys(), try EncryptedSample.keys())
            func kept(_ device: Device) async throws -> EncryptionKeys? {
                try await fixture.store.detail(of: device.key, on: fixture.platform.key)?.encryptionKeys
            }
            let device = try await Self.register("a", first, in: fixture)
            #expect(try await kept(device) == first)
            _ = try await Self.register("a", nil, in: fixture)
            #expect(try await kept(device) == first)
            _ = try await Self.register("a", second, in: fixture)
            #expect(try await kept(device) == second)
            _ = try await Self.register("a", .withdrawn, in: fixture)
            #expect(try await kept(device) == nil)
            let page = try await fixture.store.encryptionKeys(of: Self.draft(fixture), after: nil, limit: 10)
            #expect(page.devices.isEmpty && page.end == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `pages list each device with keys once`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let web = try await fixture.store.create(.of(fixture.application, kind: .web))
            let windows = try await fixture.store.create(.of(fixture.application, kind: .windows8))
            var keyed: Set<UUID> = []
            for number in 0..<9 {
                let platform = number < 6 ? fixture.platform : web
                let keys = number == 2 ? nil : try EncryptedSample.keys()
                let device = try await Self.register("\(number)", keys, in: fixture, on: platform)
                if keys != nil { keyed.insert(device.uuid) }
            }
            let gone = try await Self.register("gone", try EncryptedSample.keys(), in: fixture)
            try await fixture.store.unregister(gone.uuid, on: fixture.platform.key)
            for limit in [1, 2, 5, 100] {
                var (found, place): ([UUID], KeyedDevice.Place?) = ([], nil)
                repeat {
                    let page = try await fixture.store.encryptionKeys(
                        of: Self.draft(fixture, [windows, web, fixture.platform]), after: place, limit: limit)
                    #expect(page.devices.count <= limit)
                    found += page.devices.map(\.uuid)
                    place = page.end
                } while place != nil
                #expect(found.count == keyed.count && Set(found) == keyed, "by \(limit)")
            }
        }
    }

    @Test(arguments: DamageableEngine.allCases)
    func `damaged keys are none, and no other device suffers`(engine: DamageableEngine) async throws {
        try await engine.damageable { damageable in
            let fixture = damageable.fixture
            let sound = try await Self.register("a", try EncryptedSample.keys(), in: fixture)
            let other = try await Self.register("b", try EncryptedSample.keys(), in: fixture)
            try await damageable.damage(
                "device_detail", "encryption_keys", "0405", where: "device_id = \(other.key)")
            let page = try await fixture.store.encryptionKeys(of: Self.draft(fixture), after: nil, limit: 10)
            #expect(page.devices.map(\.uuid) == [sound.uuid])
            #expect(try await fixture.store.detail(of: other.key, on: fixture.platform.key)?.encryptionKeys == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `each device gets its own message, also after a retry`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            var messages: [UUID: String] = [:]
            var devices: [Key<Device>: UUID] = [:]
            for number in 1...3 {
                let device = try await fixture.register("\(number)")
                messages[device.uuid] = EncryptedSample.message(357 + number)
                devices[device.key] = device.uuid
            }
            let content = try EncryptedSample.content(messages)
            let builder = PushBuilder(store: fixture.store, clock: fixture.clock)
            let new = try await builder.build(
                PushRequest(content: content, target: try Target(devices: Array(messages.keys))),
                for: fixture.application.key)
            let push = try await fixture.store.accept(new)
            #expect(push.content == content)
            for _ in 0..<2 {
                let batch = try await fixture.claimOne()
                let request = FillingRequest(
                    batch: batch, applicationKey: fixture.application.key, devices: batch.devices, badge: nil,
                    needs: PersonalizationNeeds(try content.placeholders()))
                let filled = try #require(try await fixture.store.fill([request]).first ?? nil)
                for device in batch.devices {
                    let values = try #require(filled[device])
                    let own = try content.filled(with: PersonalizedValues(values))
                    let payload = try JSONValue(json: try IOSPayload(own, receiptID: nil, sentAt: .zero).bytes)
                    let uuid = try #require(devices[device])
                    #expect(payload["encrypted"]?.stringValue == messages[uuid])
                }
                // The lease lapses, and another worker sends it again.
                fixture.clock.advance(by: .seconds(61))
            }
        }
    }
}

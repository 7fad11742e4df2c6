import BelfryTesting
import Foundation
import Testing

@testable import BelfryService

@Suite struct ImportConformance {
    private static let old = UUID(words: 0x1111_2222_3333_4444, 0x8555_6666_7777_8888)
    private static let other = UUID(words: 0x9999_2222_3333_4444, 0x8555_6666_7777_8888)

    private static func device(
        _ token: String, _ uuid: UUID?, topics: Set<String> = [], user: String? = nil, isActive: Bool = true,
        lastSeenAt: Instant = .zero
    ) throws -> DeviceImport {
        DeviceImport(
            registration: try Registration(
                token: DeviceToken(bytes: Array(token.utf8)), about: Device.About(alias: "alias of \(token)"),
                customUserID: user.map { .set($0) } ?? .clear, topics: .replace(topics)),
            uuid: uuid, isActive: isActive, lastSeenAt: lastSeenAt)
    }

    @Test(arguments: Engine.allCases)
    func `an imported device is found by its old UUID everywhere`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, platform) = (fixture.store, fixture.platform)
            #expect(try await store.device(Self.old, on: platform.key) == nil)
            let verdicts = try await store.importDevices(
                [try Self.device("a", Self.old, topics: ["t"], user: "ada")], on: platform)
            #expect(verdicts == [.new])
            let device = try #require(try await store.device(Self.old, on: platform.key))
            #expect(device.uuid == Self.old && device.isActive && device.topics == ["t"])
            #expect(device.customUserID == "ada" && device.importMark?.stage == .unseen)
            #expect(
                try await store.devices(named: .devices([Self.other, Self.old]), on: [platform.key]).found == [
                    platform.key: [device.key]
                ])
            for text in [Self.old.lowercased, String(Self.old.lowercased.prefix(10)), "alias of a"] {
                let found = try await store.devices(
                    DeviceSearch(platforms: [platform.key], text: text), skip: 0, limit: 9)
                #expect(found.elements.map(\.key) == [device.key], "\(text)")
            }
            let subscription = Subscription(device: .uuid(Self.old), topics: ["u"])
            #expect(try await store.subscribe([subscription], of: fixture.application.key) == [nil])
            #expect(try await store.device(Self.old, on: platform.key)?.topics == ["t", "u"])
            try await store.unregister(Self.old, on: platform.key)
            #expect(try await store.device(Self.old, on: platform.key)?.isActive == false)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a device that was seen after now was seen now`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, platform) = (fixture.store, fixture.platform)
            for (uuid, ahead) in [(Self.old, Duration.seconds(86_400)), (Self.other, .seconds(-60))] {
                let time = fixture.clock.now + ahead
                _ = try await store.importDevices(
                    [try Self.device(uuid.lowercased, uuid, lastSeenAt: time)], on: platform)
                let device = try #require(try await store.device(uuid, on: platform.key))
                #expect(device.registeredAt == min(time, fixture.clock.now))
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `an import brings badge and language, keeping those present`(
        engine: Engine
    ) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, platform) = (fixture.store, fixture.platform)
            let service = ImportService(store: store, platforms: [platform])
            func tokens(_ byte: UInt8) -> DeviceToken { DeviceToken(bytes: [UInt8](repeating: byte, count: 32)) }
            func run(_ badges: [UInt8: Int]) async throws -> [String] {
                var reader = ImportReader(.jsonl)
                let lines = badges.sorted { $0.key < $1.key }.map { byte, badge in
                    #"{"registration_token":"\#(tokens(byte).bytes.hex)","type":"ios","language":"sv","badge":\#(badge)}"#
                }
                let rows = try reader.read(Array(lines.joined(separator: "\n").utf8)) + reader.finish()
                return try await service.run(rows).map(\.outcome.name)
            }
            func kept(_ byte: UInt8) async throws -> DeviceDetail? {
                let holder = try await store.holders(of: [tokens(byte)], on: platform.key)[tokens(byte)]
                return try await store.detail(of: try #require(holder).device, on: platform.key)
            }
            let known = try await store.register(
                try Registration(token: tokens(1), about: Device.About(), customUserID: .keep, topics: .keep), as: nil,
                on: platform)
            try await store.setDetail(of: known.key, on: platform.key, DeviceDetail.Change(badge: 9))
            #expect(try await run([1: 3, 2: 4]) == ["duplicate", "new"])
            #expect(try await kept(1) == DeviceDetail(badge: 9))
            #expect(try await kept(2) == DeviceDetail(badge: 4, language: "sv"))
            try await store.setDetail(
                of: try #require(try await store.holders(of: [tokens(2)], on: platform.key)[tokens(2)]).device,
                on: platform.key, DeviceDetail.Change(badge: 6))
            #expect(try await run([2: 1]) == ["duplicate"])
            #expect(try await kept(2) == DeviceDetail(badge: 6, language: "sv"))
        }
    }

    @Test(arguments: Engine.allCases)
    func `another server's UUID names only its own platform's device`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let strange = try await store.create(.of(fixture.application))
            _ = try await store.importDevices([try Self.device("a", Self.old)], on: fixture.platform)
            #expect(try await store.importDevices([try Self.device("b", Self.old)], on: strange) == [.new])
            #expect(try await store.device(Self.old, on: strange.key)?.token == DeviceToken(bytes: Array("b".utf8)))
            let here = try #require(try await store.device(Self.old, on: fixture.platform.key))
            #expect(
                try await store.devices(named: .devices([Self.old]), on: [fixture.platform.key]).found == [
                    fixture.platform.key: [here.key]
                ])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a push names a device by either UUID, or neither`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            _ = try await store.importDevices([try Self.device("a", Self.old)], on: fixture.platform)
            let imported = try #require(try await store.device(Self.old, on: fixture.platform.key))
            let own = try await fixture.register("b")
            let stranger = UUID()
            let push = try await store.accept(
                NewPush(
                    receiptID: UUID(), applicationKey: fixture.application.key, content: .init(body: "hello"),
                    audience: .list(.devices([])), platformKeys: [fixture.platform.key], lane: .urgent,
                    named: [Self.old, own.uuid, stranger]))
            #expect(try await fixture.claimOne().devices == [imported.key, own.key].sorted())
            #expect(try await store.unmatchedNames(of: push.key).devices == UnknownDevices([stranger]))
        }
    }

    @Test(arguments: Engine.allCases)
    func `a device keeps its old UUID until switching; both work`(
        engine: Engine
    ) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, platform) = (fixture.store, try await fixture.importing())
            _ = try await store.importDevices([try Self.device("a", Self.old, topics: ["t"])], on: platform)
            let before = try #require(try await store.device(Self.old, on: platform.key))
            let registration = try Self.device("a", nil, topics: ["t"]).registration
            let byToken = try await store.register(registration, as: nil, on: platform)
            #expect(byToken.key == before.key && byToken.uuid == Self.old && byToken.importMark?.stage == .seen)
            let change = try Registration(
                token: DeviceToken(bytes: Array("a2".utf8)), about: Device.About(), customUserID: .keep,
                topics: .change(subscribe: ["u"], unsubscribe: []))
            let byOld = try await store.register(change, as: Self.old, on: platform)
            #expect(byOld.key == before.key && byOld.uuid == Self.old && byOld.topics == ["t", "u"])
            let own = before.ownUUID
            #expect(own != Self.old)
            let byOwn = try await store.register(change, as: own, on: platform)
            #expect(byOwn.key == before.key && byOwn.uuid == own && byOwn.importMark?.stage == .renamed)
            for uuid in [own, Self.old] {
                #expect(try await store.device(uuid, on: platform.key)?.key == before.key)
            }
            #expect(try await store.device(Self.old, on: platform.key)?.uuid == own)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a second import updates unseen devices, not registered ones`(
        engine: Engine
    ) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, platform) = (fixture.store, try await fixture.importing())
            let rows = [
                try Self.device("a", Self.old, topics: ["t"]), try Self.device("b", Self.other, topics: ["t"]),
            ]
            #expect(try await store.importDevices(rows, on: platform) == [.new, .new])
            #expect(try await store.importDevices(rows, on: platform) == [.duplicate, .duplicate])
            let mine = try Self.device("b", nil, topics: ["mine"]).registration
            _ = try await store.register(mine, as: Self.other, on: platform)
            let again = [
                try Self.device("a", Self.old, topics: ["t", "u"], user: "ada"), try Self.device("b", Self.other),
            ]
            #expect(try await store.importDevices(again, on: platform) == [.updated, .duplicate])
            let (a, b) = (
                try await store.device(Self.old, on: platform.key), try await store.device(Self.other, on: platform.key)
            )
            #expect(a?.topics == ["t", "u"] && a?.customUserID == "ada")
            #expect(b?.topics == ["mine"] && b?.importMark?.stage == .seen)
            #expect(try await store.deviceCount(on: platform.key) == 2)
        }
    }

    @Test(arguments: Engine.allCases)
    func `an app registered before import is found by old UUID`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, platform) = (fixture.store, try await fixture.importing())
            func registration(_ topic: String, _ language: String) throws -> Registration {
                try Registration(
                    token: DeviceToken(bytes: Array("a".utf8)), about: Device.About(), customUserID: .clear,
                    topics: .replace([topic]), detail: DeviceDetail.Change(language: language))
            }
            let device = try await store.register(try registration("mine", "de"), as: nil, on: platform)
            let row = DeviceImport(
                registration: try registration("theirs", "en"), uuid: Self.old, isActive: true, lastSeenAt: .zero)
            #expect(try await store.importDevices([row], on: platform) == [.updated])
            #expect(try await store.importDevices([row], on: platform) == [.duplicate])
            #expect(try await store.detail(of: device.key, on: platform.key)?.language == "de")
            let found = try #require(try await store.device(Self.old, on: platform.key))
            #expect(found.key == device.key && found.topics == ["mine"] && found.importMark?.stage == .seen)
            #expect(try await store.device(device.uuid, on: platform.key)?.key == device.key)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a later list tells when a device was seen`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            for days in [9, 5, 7] {
                let time = fixture.clock.now + .seconds(days * -86_400)
                _ = try await fixture.store.importDevices(
                    [try Self.device("a", Self.old, lastSeenAt: time)], on: fixture.platform)
                let device = try #require(try await fixture.store.device(Self.old, on: fixture.platform.key))
                #expect(device.registeredAt == time)
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `inactive imports stay inactive and later verdicts count`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, platform) = (fixture.store, fixture.platform)
            let seen = Instant(milliseconds: 1_400_000_000_000)
            _ = try await store.importDevices(
                [
                    try Self.device("a", Self.old, topics: ["t"], isActive: false),
                    try Self.device("b", Self.other, lastSeenAt: seen),
                ], on: platform)
            #expect(try await store.device(Self.old, on: platform.key)?.isActive == false)
            #expect(try await store.device(Self.other, on: platform.key)?.registeredAt == seen)
            let push = try await fixture.push()
            try await fixture.fanOut()
            let batch = try await fixture.claimOne()
            #expect(batch.devices.count == 1)
            #expect(push.key == batch.pushKey)
        }
    }

    @Test(arguments: Engine.allCases)
    func `an import revives no device that became inactive here`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, platform) = (fixture.store, try await fixture.importing())
            let rows = [
                try Self.device("a", Self.old, topics: ["t"]), try Self.device("b", Self.other, isActive: false),
            ]
            _ = try await store.importDevices(rows, on: platform)
            try await store.unregister(Self.old, on: platform.key)
            let again = [try Self.device("a", Self.old, topics: ["u"]), try Self.device("b", Self.other)]
            #expect(try await store.importDevices(again, on: platform) == [.updated, .duplicate])
            let device = try #require(try await store.device(Self.old, on: platform.key))
            #expect(!device.isActive && device.topics == ["u"])
            #expect(try await store.device(Self.other, on: platform.key)?.isActive == false)
            let back = try await store.register(again[0].registration, as: Self.old, on: platform)
            #expect(back.isActive)
        }
    }

    @Test(arguments: Engine.allCases)
    func `devices of a list that trade tokens stay active`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, platform) = (fixture.store, try await fixture.importing())
            for (first, second) in [("a", "b"), ("b", "a")] {
                for device in [try Self.device(first, Self.old), try Self.device(second, Self.other)] {
                    _ = try await store.importDevices([device], on: platform)
                }
            }
            for uuid in [Self.old, Self.other] {
                #expect(try await store.device(uuid, on: platform.key)?.isActive == true)
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `a list without topics and users keeps both`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, platform) = (fixture.store, try await fixture.webhooks())
            let service = ImportService(store: store, platforms: [platform])
            func run(_ more: String) async throws -> Device? {
                var reader = ImportReader(.jsonl)
                let names = #""registration_token":"https://a.example","device_uuid":"\#(Self.old.lowercased)""#
                let line = "{\(names)\(more)}"
                let rows = try reader.read(Array(line.utf8)) + reader.finish()
                _ = try await service.run(rows)
                return try await store.device(Self.old, on: platform.key)
            }
            _ = try await run(#","tags":["t"],"custom_user_id":"ada""#)
            for (more, topics, user) in [
                ("", ["t"], "ada"), (#","added_tags":["u"]"#, ["t", "u"], "ada"), (#","tags":[]"#, [], "ada"),
                (#","custom_user_id":null"#, [], nil),
            ] as [(String, [String], String?)] {
                let device = try await run(more)
                #expect(device?.topics == topics && device?.customUserID == user, "\(more)")
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `imported unseen devices are counted until they register`(
        engine: Engine
    ) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, platform) = (fixture.store, try await fixture.importing())
            try await fixture.register("own")
            let rows = try (0..<5).map { try Self.device("d\($0)", UUID(words: UInt64($0), 7)) }
            _ = try await store.importDevices(rows, on: platform)
            #expect(try await store.unseenDeviceCount(on: platform.key) == 5)
            #expect(try await store.unseenDeviceCount(on: platform.key, limit: 3) == 3, "no more are counted")
            let first = try await store.unseenDevices(on: [platform.key], after: nil, limit: 3)
            #expect(first.count == 3 && first.map(\.key) == first.map(\.key).sorted())
            _ = try await store.register(rows[4].registration, as: nil, on: platform)
            let rest = try await store.unseenDevices(on: [platform.key], after: first.last?.key, limit: 3)
            let listed = Set((first + rest).map(\.uuid)).subtracting([UUID(words: 4, 7)])
            #expect(listed == Set((0..<4).map { UUID(words: UInt64($0), 7) }))
            #expect(try await store.unseenDeviceCount(on: platform.key) == 4)
        }
    }

    @Test(arguments: Engine.allCases)
    func `imported unseen devices may retire and come back`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, platform) = (fixture.store, try await fixture.importing())
            let rows = try (0..<70).map { try Self.device("d\($0)", UUID(words: UInt64($0), 7), topics: ["t"]) }
            for start in [0, 35] { _ = try await store.importDevices(Array(rows[start..<start + 35]), on: platform) }
            _ = try await store.register(rows[3].registration, as: nil, on: platform)
            fixture.clock.advance(by: .seconds(1_000))
            let late = try Self.device("late", UUID(words: 99, 7), topics: ["t"])
            _ = try await store.importDevices([late], on: platform)
            let before = fixture.clock.now + .seconds(-500)
            var count = 0
            while case let step = try await store.deleteExpired(.unseen, before: before), step.rows > 0 {
                count += step.rows
            }
            #expect(count == 69)
            #expect(try await store.unseenDeviceCount(on: platform.key) == 1)
            #expect(try await fixture.devices(.active).count == 2)
            let retired = try #require(try await store.device(UUID(words: 0, 7), on: platform.key))
            #expect(!retired.isActive && retired.importMark?.stage == .retired)
            let back = try await store.register(rows[0].registration, as: UUID(words: 0, 7), on: platform)
            #expect(back.key == retired.key && back.isActive && back.importMark?.stage == .seen)
        }
    }

    @Test(arguments: Engine.allCases)
    func `events of an imported device count by its old UUID`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, platform) = (fixture.store, try await fixture.importing())
            _ = try await store.importDevices([try Self.device("a", Self.old)], on: platform)
            let push = try await fixture.push()
            let events = [Self.old, Self.other].map {
                AnalyticsEvent(kind: .received, time: fixture.clock.now, device: $0, receiptID: push.receiptID)
            }
            let tally = try await store.record(events, on: platform, lateMax: .seconds(86_400))
            #expect(tally == AnalyticsTally(counted: 1, ignored: 1))
        }
    }

    @Test(arguments: Engine.allCases)
    func `devices continue from another server's geofences`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, application, platform) = (fixture.store, fixture.application, fixture.platform)
            let now = fixture.clock.now
            let location = try await store.create(
                try Place(name: "shop", latitude: 1, longitude: 2, radius: 50), of: application.key)
            let plan = try GeofencePlan(
                locations: [location.key], trigger: .enter, data: try GeofenceData([:]),
                expiresAt: now + .seconds(9_999))
            let seen = now + .seconds(3_600)
            let imports = [7, 41].map {
                GeofenceImport(key: Key($0), plan: plan, changedAt: now + .seconds(-100 + Int64($0)))
            }
            let keys = try await store.importGeofences(imports, lastModified: seen, of: application.key)
            #expect(keys == [Key(7), Key(41)])
            #expect(try await store.importGeofences(imports, lastModified: seen, of: application.key) == keys)
            let upToDate = try await store.geofenceUpdates(since: seen, on: platform)
            #expect(upToDate == GeofenceChanges(lastModified: seen, geofences: [], gone: []))
            let behind = try await store.geofenceUpdates(since: now + .seconds(-80), on: platform)
            #expect(behind.geofences.map(\.key) == [Key(41)] && behind.gone.isEmpty)
            #expect(try await store.geofenceUpdates(since: .zero, on: platform).geofences.map(\.key) == keys)
            #expect(try await store.dueGeofenceUpdates(atMost: 9).isEmpty)
            let next = try await store.create(plan, of: application.key)
            #expect(next.key.rawValue > 41)
            let changes = try await store.geofenceUpdates(since: seen, on: platform)
            #expect(changes.geofences.map(\.key) == [next.key] && changes.lastModified > seen)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a geofence with a taken id gets another, replacing it`(
        engine: Engine
    ) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, now) = (fixture.store, fixture.clock.now)
            func plan(of application: Application) async throws -> GeofencePlan {
                let location = try await store.create(
                    try Place(name: "shop", latitude: 1, longitude: 2, radius: 50), of: application.key)
                return try GeofencePlan(
                    locations: [location.key], trigger: .enter, data: try GeofenceData([:]),
                    expiresAt: now + .seconds(9_999))
            }
            let other = try await store.create(.named("other"))
            let theirs = GeofenceImport(key: Key(7), plan: try await plan(of: other), changedAt: now)
            _ = try await store.importGeofences([theirs], lastModified: now, of: other.key)
            let mine = GeofenceImport(key: Key(7), plan: try await plan(of: fixture.application), changedAt: now)
            let keys = try await store.importGeofences([mine], lastModified: now, of: fixture.application.key)
            #expect(keys.count == 1 && keys != [Key(7)])
            let changes = try await store.geofenceUpdates(since: now, on: fixture.platform)
            #expect(changes.geofences.map(\.key) == keys && changes.gone == [Key(7)])
        }
    }

    @Test(arguments: Engine.allCases)
    func `an old server's pending changes are kept in order`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, platform) = (fixture.store, fixture.platform)
            let calls = [
                MirrorCall(.post, body: [1]), MirrorCall(.put, body: [2]), MirrorCall(.delete),
            ]
            for (number, call) in calls.enumerated() {
                try await store.mirror(call, of: Key(Int64(number % 2 + 1)), on: platform.key)
            }
            let entries = try await store.mirrorEntries(limit: 9)
            #expect(entries.map(\.call) == calls && entries.map(\.device) == [Key(1), Key(2), Key(1)])
            #expect(entries.allSatisfy { $0.platformKey == platform.key })
            #expect(try await store.mirrorEntries(limit: 1) == [entries[0]])
            try await store.settle([entries[0].key, entries[2].key])
            #expect(try await store.mirrorEntries(limit: 9) == [entries[1]])
            #expect(try await store.mirrorBacklog() == 1)
        }
    }

    @Test(arguments: Engine.allCases)
    func `one node mirrors, and another after its time`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let (a, b) = (UUID(), UUID())
            var held: [Bool] = []
            for node in [a, b, a] { held.append(try await store.holdMirror(as: node, for: .seconds(60))) }
            fixture.clock.advance(by: .seconds(61))
            for node in [b, a] { held.append(try await store.holdMirror(as: node, for: .seconds(60))) }
            #expect(held == [true, false, true, true, false])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a mirrored device keeps its UUID and is found`(
        engine: Engine
    ) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, platform) = (fixture.store, fixture.platform)
            let device = try await fixture.register("a")
            #expect(try await store.importedUUID(of: device.key, on: platform.key) == nil)
            try await store.noteImportedUUID(Self.old, of: device.key, on: platform)
            #expect(try await store.importedUUID(of: device.key, on: platform.key) == Self.old)
            try await store.noteImportedUUID(Self.other, of: device.key, on: platform)
            let found = try #require(try await store.device(Self.old, on: platform.key))
            #expect(found.key == device.key && found.uuid == device.uuid && found.importMark?.stage == .renamed)
            #expect(try await store.device(Self.other, on: platform.key) == nil)
            #expect(try await store.unseenDeviceCount(on: platform.key) == 0)
        }
    }
}

extension TestStore {
    /// Its platform as it is once it has imports.
    fileprivate func importing() async throws -> Platform {
        _ = try await store.importDevices([], on: platform)
        return try #require(try await store.platform(platform.uuid))
    }
}

import BelfryTesting
import Foundation
import Testing

@testable import BelfryService

/// Values that differ by device in one push: every engine counts and reads them alike.
@Suite struct FillingConformance {
    private static func request(
        _ batch: Batch, _ badge: BadgeChange? = nil, of fixture: TestStore, _ placeholders: [Placeholder] = [],
        devices: [Key<Device>]? = nil
    ) -> FillingRequest {
        FillingRequest(
            batch: batch, applicationKey: fixture.application.key, devices: devices ?? batch.devices, badge: badge,
            needs: PersonalizationNeeds(placeholders))
    }

    private static func badges(
        _ requests: [FillingRequest], in store: any Store
    ) async throws -> [[Int64]?] {
        try await store.fill(requests).enumerated().map { index, values in
            values.map { values in requests[index].devices.map { values[$0]?.badge ?? -1 } }
        }
    }

    private static func kept(_ devices: [Key<Device>], in fixture: TestStore) async throws -> [Int64] {
        var numbers: [Int64] = []
        for device in devices {
            numbers.append(try await fixture.store.detail(of: device, on: fixture.platform.key)?.badge ?? 0)
        }
        return numbers
    }

    @Test(arguments: Engine.allCases)
    func `a resent batch shows its first numbers again`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let devices = try await fixture.registerMany(3)
            try await fixture.store.setDetail(
                of: devices[1], on: fixture.platform.key, .init(badge: 40, spelling: "as it was"))
            let first = try await fixture.claimBatch()
            #expect(
                try await Self.badges([Self.request(first, .add(2), of: fixture)], in: fixture.store) == [[2, 42, 2]])
            fixture.clock.advance(by: .seconds(60))
            let again = try await fixture.claimOne()
            #expect(again.key == first.key && again.isLapsed)
            // Another push counts meanwhile.
            let second = try await fixture.claimBatch()
            #expect(
                try await Self.badges([Self.request(second, .add(1), of: fixture)], in: fixture.store) == [[3, 43, 3]])
            #expect(
                try await Self.badges([Self.request(again, .add(2), of: fixture)], in: fixture.store) == [[2, 42, 2]])
            // Of a part of its devices, when the others have their answers.
            let part = Self.request(again, .add(2), of: fixture, devices: [devices[1]])
            #expect(try await Self.badges([part], in: fixture.store) == [[42]])
            #expect(try await Self.kept(devices, in: fixture) == [3, 43, 3])
            #expect(
                try await fixture.store.detail(of: devices[1], on: fixture.platform.key)?.spelling == "as it was")
            // The worker whose lease lapsed must not show numbers any more.
            #expect(try await Self.badges([Self.request(first, .add(2), of: fixture)], in: fixture.store) == [nil])
            #expect(try await Self.badges([Self.request(first, .set(9), of: fixture)], in: fixture.store) == [nil])
            #expect(try await Self.kept(devices, in: fixture) == [3, 43, 3])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a device that waited counts when it is sent to`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let devices = try await fixture.registerMany(2)
            let first = try await fixture.claimBatch()
            let part = Self.request(first, .add(1), of: fixture, devices: [devices[0]])
            #expect(try await Self.badges([part], in: fixture.store) == [[1]])
            let second = try await fixture.claimBatch()
            #expect(
                try await Self.badges([Self.request(second, .add(1), of: fixture)], in: fixture.store) == [[2, 1]])
            for _ in 0..<2 {
                #expect(
                    try await Self.badges([Self.request(first, .add(1), of: fixture)], in: fixture.store) == [[1, 2]])
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `burst batches count in turn; a set number is kept`(
        engine: Engine
    ) async throws {
        try await TestStore.play(on: engine) { fixture in
            let devices = try await fixture.registerMany(2)
            for _ in 0..<5 { _ = try await fixture.push() }
            try await fixture.fanOut()
            let batches = try await fixture.claim(5)
            let changes: [BadgeChange?] = [.add(1), .add(3), .set(10), nil, .add(1)]
            let requests = zip(batches, changes).map { batch, change in
                Self.request(
                    batch, change, of: fixture, [Placeholder(source: .badge)])
            }
            let shown = try await Self.badges(requests, in: fixture.store)
            #expect(shown[0] == [1, 1] && shown[1] == [4, 4] && shown[2] == [10, 10] && shown[4] == [11, 11])
            #expect(try await Self.kept(devices, in: fixture) == [11, 11])
        }
    }

    @Test(arguments: Engine.allCases)
    func `workers that count the same devices at once miss none`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let devices = try await fixture.registerMany(20)
            for _ in 0..<8 { _ = try await fixture.push() }
            try await fixture.fanOut()
            let requests = try await fixture.claim(8).map { Self.request($0, .add(1), of: fixture) }
            let shown = try await withThrowingTaskGroup(of: [Int64].self) { group in
                for request in requests {
                    group.addTask { try await Self.badges([request], in: fixture.store)[0] ?? [] }
                }
                return try await group.reduce(into: [[Int64]]()) { $0.append($1) }
            }
            #expect(try await Self.kept(devices, in: fixture) == devices.map { _ in 8 })
            for place in devices.indices { #expect(shown.map { $0[place] }.sorted() == Array(1...8)) }
        }
    }

    @Test(arguments: Engine.allCases)
    func `a number grows to its limit and not beyond`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let devices = try await fixture.registerMany(1)
            try await fixture.store.setDetail(
                of: devices[0], on: fixture.platform.key, .init(badge: BadgeChange.keptMax))
            let batch = try await fixture.claimBatch()
            let shown = try await Self.badges([Self.request(batch, .add(1_000_000), of: fixture)], in: fixture.store)
            #expect(shown == [[BadgeChange.keptMax]])
        }
    }

    @Test(arguments: Engine.allCases)
    func `values belong to the device and its application's user`(
        engine: Engine
    ) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let profile = UserProfile(
                stored: "de", timeZone: "Europe/Vienna",
                attributes: ["name": .text("Anna \"Ö\""), "visits": .number(2), "other": .flag(true)])
            _ = try await store.setUser("anna", of: fixture.application.key) { _ in profile }
            let other = try await store.create(.named("other")).key
            _ = try await store.setUser("ben", of: other) { _ in profile }
            let anna = try await fixture.register("1", user: .set("anna"))
            let ben = try await fixture.register("2", user: .set("ben"))
            let nobody = try await fixture.register("3")
            let batch = try await fixture.claimBatch()
            let placeholders = [
                Placeholder(source: .attribute("name")),
                Placeholder(source: .attribute("visits")),
                Placeholder(source: .deviceID),
            ]
            let values = try #require(
                try await store.fill([Self.request(batch, of: fixture, placeholders)])[0])
            let own = try #require(values[anna.key])
            #expect(own.deviceUUID == anna.uuid && own.userID == "anna")
            #expect(own.language == "de" && own.timeZone == "Europe/Vienna")
            #expect(own.attributes == ["name": .text("Anna \"Ö\""), "visits": .number(2)])
            #expect(values[ben.key]?.userID == "ben" && values[ben.key]?.attributes == [:])
            #expect(values[ben.key]?.language == nil)
            #expect(values[nobody.key]?.deviceUUID == nobody.uuid && values[nobody.key]?.userID == nil)
            // What a profile does not say, the device may.
            for device in [anna, ben] {
                try await store.setDetail(of: device.key, on: fixture.platform.key, .init(language: "fr"))
            }
            let later = try #require(try await store.fill([Self.request(batch, of: fixture, placeholders)])[0])
            #expect(later[anna.key]?.language == "de" && later[ben.key]?.language == "fr")
        }
    }
}

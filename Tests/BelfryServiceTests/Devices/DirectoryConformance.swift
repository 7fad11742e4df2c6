import BelfryTesting
import Foundation
import Testing

@testable import BelfryService

@Suite struct DirectoryConformance {
    private func keys(_ listing: ListPage<Device>) -> [Key<Device>] { listing.elements.map(\.key) }

    @Test(arguments: Engine.allCases)
    func `all devices of the chosen platforms are listed in slices`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let other = try await fixture.store.create(.of(fixture.application))
            let stranger = try await fixture.store.create(.of(try await fixture.store.create(.named("weather"))))
            var all: [Device] = []
            for number in 0..<30 {
                let platform = number.isMultiple(of: 3) ? other : fixture.platform
                all.append(try await fixture.register("\(number)", on: platform))
                try await fixture.register("\(number)", on: stranger)
            }
            try await fixture.store.unregister(all[4].uuid, on: fixture.platform.key)
            let both = DeviceSearch(platforms: [fixture.platform.key, other.key])
            let store = fixture.store
            let slice = try await store.devices(both, skip: 10, limit: 7)
            #expect(slice.total == 30 && keys(slice) == all[10..<17].map(\.key))
            let end = try await store.devices(both, skip: 28, limit: 7)
            #expect(keys(end) == all[28...].map(\.key))
            let beyond = try await store.devices(both, skip: 30, limit: 7)
            #expect(beyond.total == 30 && beyond.elements.isEmpty)
            let none = try await store.devices(both, skip: 0, limit: 0)
            #expect(none.total == 30 && none.elements.isEmpty)
            #expect(try await store.deviceCount(DeviceSearch(platforms: [other.key])) == 10)
            #expect(try await store.deviceCount(DeviceSearch(platforms: [])) == 0)
            let behind = try await store.devices(both, after: all[3].key, limit: 3)
            #expect(behind.map(\.key) == all[4...6].map(\.key))
            #expect(behind.first?.isActive == false)
            #expect(try await store.devices(both, after: all[29].key, limit: 3).isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a listed device is whole`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let device = try await fixture.register("a", topics: .replace(["u", "t"]), user: .set("Kim"), os: "17.1")
            let search = DeviceSearch(platforms: [fixture.platform.key])
            #expect(try await fixture.store.devices(search, skip: 0, limit: 5) == ListPage([device], total: 1))
            let found = DeviceSearch(platforms: [fixture.platform.key], text: device.uuid.uuidString)
            #expect(try await fixture.store.devices(found, skip: 0, limit: 5) == ListPage([device], total: 1))
        }
    }

    @Test(arguments: Engine.allCases)
    func `a topic's list is of active devices`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            var all: [Device] = []
            for number in 0..<12 {
                let topics: Set<String> = number.isMultiple(of: 2) ? ["t"] : ["u"]
                all.append(
                    try await fixture.register("\(number)", topics: .replace(topics), user: .set("user-\(number)")))
            }
            try await fixture.store.unregister(all[2].uuid, on: fixture.platform.key)
            let search = DeviceSearch(platforms: [fixture.platform.key], topic: "t")
            let found = try await fixture.store.devices(search, skip: 1, limit: 2)
            #expect(found.total == 5 && keys(found) == [all[4].key, all[6].key])
            #expect(try await fixture.store.deviceCount(search) == 5)
            let both = DeviceSearch(platforms: [fixture.platform.key], text: "user-1", topic: "t")
            #expect(keys(try await fixture.store.devices(both, skip: 0, limit: 9)) == [all[10].key])
            let nobody = DeviceSearch(platforms: [fixture.platform.key], text: "user-1", topic: "nobody's")
            #expect(try await fixture.store.devices(nobody, skip: 0, limit: 9).total == 0)
        }
    }

    @Test(arguments: Engine.allCases)
    func `devices are found by their columns, text and topic combined`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let start = fixture.clock.now
            var all: [Device] = []
            for (number, version) in ["17", "17.2", "170", "18.1"].enumerated() {
                all.append(
                    try await fixture.register(
                        "\(number)", topics: .replace([number < 2 ? "low" : "high"]),
                        user: number == 3 ? .keep : .set(number == 0 ? "kim" : "kimberly"), os: version))
                fixture.clock.advance(by: .seconds(100))
            }
            let imported = DeviceImport(
                registration: try Registration(
                    token: DeviceToken(bytes: Array("imported".utf8)), about: .init(), customUserID: .keep,
                    topics: .keep),
                uuid: UUID())
            _ = try await store.importDevices([imported], on: fixture.platform)
            let unseen = try #require(
                try await store.unseenDevices(on: [fixture.platform.key], after: nil, limit: 1).first)
            try await store.unregister(all[1].uuid, on: fixture.platform.key)
            func found(
                text: String? = nil, topic: String? = nil, _ set: (inout DeviceFilter) -> Void
            ) async throws -> [Key<Device>] {
                var filter = DeviceFilter()
                set(&filter)
                let search = DeviceSearch(
                    platforms: [fixture.platform.key], text: text, topic: topic, filter: filter)
                let found = try await store.devices(search, after: nil, limit: 9).map(\.key)
                let page = try await store.devicePage(search, after: nil, limit: 9, within: .seconds(60))
                #expect(page.devices.map(\.key) == found && page.next == nil && !page.isCut)
                #expect(page.count == DeviceCount(devices: found.count))
                #expect(
                    try await store.devices(search, after: found.first, limit: 1).map(\.key)
                        == Array(found.dropFirst().prefix(1)))
                return found
            }
            func keys(_ numbers: Int...) -> [Key<Device>] { numbers.map { all[$0].key } }
            #expect(try await found { $0.isActive = false } == keys(1))
            #expect(try await found { $0.isActive = true } == keys(0, 2, 3) + [unseen.key])
            #expect(try await found { $0.customUserID = "kim" } == keys(0))
            #expect(try await found { $0.customUserID = "kimberly" } == keys(2))
            #expect(try await found { ($0.customUserID, $0.isActive) = ("kimberly", false) } == keys(1))
            #expect(try await found { $0.osVersion = "17" } == keys(0, 1))
            #expect(try await found { $0.isUnseen = true } == [unseen.key])
            #expect(try await found { ($0.isUnseen, $0.isActive) = (true, false) }.isEmpty)
            #expect(
                try await found {
                    ($0.seenFrom, $0.seenBefore) = (start + .seconds(100), start + .seconds(300))
                } == keys(1, 2))
            #expect(try await found(text: "kimb") { $0.isActive = true } == keys(2))
            #expect(try await found(topic: "high") { $0.osVersion = "18" } == keys(3))
        }
    }

    @Test(arguments: Engine.allCases)
    func `a search page is bounded in time and continues later`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let batch = try (0..<2_600).map { number in
                DeviceImport(
                    registration: try Registration(
                        token: DeviceToken(bytes: Array("token \(number)".utf8)),
                        about: .init(
                            osVersion: number == 2_501 ? "9" : "1", alias: number == 2_500 ? "needle" : "straw"),
                        customUserID: .keep, topics: .keep),
                    uuid: nil)
            }
            for start in stride(from: 0, to: batch.count, by: 500) {
                _ = try await store.importDevices(
                    Array(batch[start..<min(start + 500, batch.count)]), on: fixture.platform)
            }
            var version = DeviceFilter()
            version.osVersion = "9"
            let platforms = [fixture.platform.key]
            for search in [
                // Too short for the index; and a condition that no index knows.
                DeviceSearch(platforms: platforms, text: "need"), DeviceSearch(platforms: platforms, filter: version),
                DeviceSearch(platforms: platforms, text: "straw", filter: version),
            ] {
                let whole = try await store.devicePage(search, after: nil, limit: 5, within: .seconds(60))
                #expect(whole.devices.count == 1 && whole.count == DeviceCount(devices: 1) && whole.next == nil)
                var (after, found, pages): (Key<Device>?, [Device], Int) = (nil, [], 0)
                repeat {
                    let page = try await store.devicePage(search, after: after, limit: 5, within: .zero)
                    #expect(page.isCut == (page.next != nil), "it is cut, or the end")
                    if let next = page.next, let after { #expect((after < next) == (search.text == nil), "it gets on") }
                    found += page.devices
                    (after, pages) = (page.next, pages + 1)
                } while after != nil && pages < 100
                #expect(found == whole.devices, "\(search)")
                // The newest are looked at in whole where the index has the others.
                let range = search.text == "straw" ? 1...1 : 2...10
                #expect(range.contains(pages), "\(search): \(pages) pages")
            }
            let straws = try await store.devices(
                DeviceSearch(platforms: platforms, text: "stra"), after: nil, limit: 3_000
            ).map(\.key)
            #expect(straws.count == 2_599 && straws == straws.sorted(by: >))
            // A numbered page without time has what the newest rows have; the needle is behind them.
            let part = try await store.devices(
                DeviceSearch(platforms: platforms, text: "stra"), skip: 3, limit: 5, within: .zero)
            #expect(part.isPartial && part.total < 2_599 && keys(part) == Array(straws[3..<8]))
            let needle = try await store.devices(
                DeviceSearch(platforms: platforms, text: "need"), skip: 0, limit: 5, within: .patient)
            #expect(!needle.isPartial && needle.total == 1)
            // Where the index knows them all, time does not matter.
            let first = try await store.devicePage(
                DeviceSearch(platforms: platforms), after: nil, limit: 50, within: .zero)
            #expect(first.devices.count == 50 && first.count == DeviceCount(devices: 2_600) && !first.isCut)
            #expect(first.next == first.devices.last?.key)
            let all = try await store.devicePage(
                DeviceSearch(platforms: platforms, text: "straw"), after: nil, limit: 50, within: .seconds(60))
            #expect(all.devices.count == 50 && all.count == DeviceCount(devices: 2_599))
            let uncounted = try await store.devicePage(
                DeviceSearch(platforms: platforms, text: "straw"), after: nil, limit: 50, within: .seconds(60),
                isCounted: false)
            #expect(uncounted == DevicePage(all.devices, count: nil, next: all.next))
            let second = try await store.devicePage(
                DeviceSearch(platforms: platforms, text: "straw"), after: all.next, limit: 50, within: .seconds(60))
            #expect(second.devices.count == 50 && second.count == nil)
            #expect(Set(second.devices.map(\.key)).isDisjoint(with: all.devices.map(\.key)))
        }
    }

    @Test(arguments: Engine.allCases)
    func `any part of an identifier finds a device, ignoring case`(
        engine: Engine
    ) async throws {
        try await TestStore.play(on: engine) { fixture in
            let fcm = try await fixture.store.create(.of(fixture.application, kind: .androidFCM))
            let device = try await fixture.store.register(
                try Registration(
                    token: DeviceToken("APA91b-Token", for: .androidFCM), about: .init(alias: "Kim's Phöne"),
                    customUserID: .set("Bond007"), topics: .keep),
                as: nil, on: fcm)
            try await fixture.register("x", user: .set("somebody else"))
            let uuid = device.uuid.uuidString
            for text in [
                uuid, uuid.lowercased(), String(uuid.prefix(9)), String(uuid.dropFirst(7).prefix(6)), "APA91b-Token",
                "1b-to", "bond007", "BOND", "'s phö", "KIM'S PHÖNE", "ö",
            ] {
                let search = DeviceSearch(platforms: [fixture.platform.key, fcm.key], text: text)
                #expect(keys(try await fixture.store.devices(search, skip: 0, limit: 9)) == [device.key], "\(text)")
                #expect(try await fixture.store.devices(search, after: device.key, limit: 9).isEmpty, "\(text)")
                #expect(try await fixture.store.devices(search, after: nil, limit: 9).count == 1, "\(text)")
                #expect(try await fixture.store.deviceCount(search) == 1, "\(text)")
            }
            for text in ["bond008", "tokenbond", "_", "%"] {
                let search = DeviceSearch(platforms: [fcm.key], text: text)
                #expect(try await fixture.store.deviceCount(search) == 0, "\(text)")
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `custom user ids of active devices are listed once, sorted`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let other = try await fixture.store.create(.of(fixture.application))
            for (number, id) in ["kim", "Kim", "lee", "kim", "alex-1"].enumerated() {
                try await fixture.register("\(number)", user: .set(id), on: number.isMultiple(of: 2) ? other : nil)
            }
            let gone = try await fixture.register("9", user: .set("gone"))
            try await fixture.store.unregister(gone.uuid, on: fixture.platform.key)
            try await fixture.register("10")
            let store = fixture.store
            let platforms = [fixture.platform.key, other.key]
            func ids(_ text: String? = nil, after id: String? = nil, limit: Int = 9) async throws -> [String] {
                try await store.customUserIDs(on: platforms, containing: text, after: id, limit: limit)
            }
            #expect(try await ids() == ["Kim", "alex-1", "kim", "lee"])
            #expect(try await ids(limit: 2) == ["Kim", "alex-1"])
            #expect(try await ids(after: "alex-1") == ["kim", "lee"])
            #expect(try await ids("im") == ["Kim", "kim"])
            #expect(try await ids("im", after: "Kim") == ["kim"])
            #expect(try await ids("IM").isEmpty)
            #expect(try await store.customUserIDs(on: [], containing: nil, after: nil, limit: 9).isEmpty)
        }
    }
}

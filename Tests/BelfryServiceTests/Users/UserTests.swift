import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

/// Users in the admin API: those with a profile, and those whom only devices name.
@Suite struct UserTests {
    private struct Place {
        let server: TestAdminServer
        let resources: TestAdminServer.TestResources
        let users: String

        init() async throws {
            server = try await TestAdminServer()
            resources = try await server.resources("shop")
            users = "apps/\(resources.application.uuid.lowercased)/users"
            // Made with the other things.
            #expect(try await server.send(.delete, "\(users)/\(resources.user.id)").status == 204)
        }

        @discardableResult
        func set(_ id: String, _ body: String) async throws -> TestAnswer {
            try await server.send(.patch, "\(users)/\(id)", body)
        }

        func register(_ number: UInt8, of user: String) async throws -> Device {
            let registration = try Registration(
                token: DeviceToken(bytes: [UInt8](repeating: number, count: 32)), about: Device.About(),
                customUserID: .set(user), topics: .keep)
            return try await server.store.register(registration, as: nil, on: resources.platform)
        }

        func ids(_ query: String) async throws -> [String] {
            let answer = try await server.send(.get, "\(users)\(query)")
            #expect(answer.status == 200, "\(answer.text)")
            guard case .array(let users)? = answer["users"] else { return [] }
            return users.compactMap { $0["user_id"]?.stringValue }
        }
    }

    private static let attributes =
        #"{"plan":"gold","visits":3,"vip":true,"since":{"time":"2026-01-01T00:00:00.000Z"}}"#

    @Test func `a user is created with typed attributes and shows devices`() async throws {
        let place = try await Place()
        let made = try await place.set(
            "emma", #"{"language":"de-AT","time_zone":"Europe/Vienna","attributes":\#(Self.attributes)}"#)
        let attributes = try JSONValue(json: Self.attributes.utf8)
        #expect(made.status == 200 && made["attributes"] == attributes, "\(made)")
        let device = try await place.register(7, of: "emma")
        let changed = try await place.set("emma", #"{"language":null,"attributes":{"visits":4,"vip":null}}"#)
        #expect(changed["language"] == .null && changed["time_zone"] == .string("Europe/Vienna"))
        #expect(
            try await place.set("emma", #"{"time_zone":""}"#)["time_zone"] == .null, "as the command line clears it")
        let shown = try await place.server.send(.get, "\(place.users)/emma")
        #expect(shown["attributes"]?["visits"] == .integer(4) && shown["attributes"]?["vip"] == nil)
        #expect(shown["attributes"]?["plan"] == .string("gold"))
        guard case .array(let devices)? = shown["devices"] else {
            Issue.record("no devices: \(shown.text)")
            return
        }
        #expect(devices.map { $0["device_uuid"]?.stringValue } == [device.uuid.lowercased])
        #expect(devices.first?["type"] == .string("ios"))
        #expect(try await place.server.audited().prefix(2) == ["user.set", "user.set"])
    }

    @Test(arguments: [
        (#"{"attributes":{"a":{"b":1}}}"#, "attributes.a"), (#"{"attributes":{"a":[1]}}"#, "attributes.a"),
        (#"{"attributes":{"a":{"time":"soon"}}}"#, "attributes.a"), (#"{"language":"ä"}"#, "language"),
        (#"{"name":"x"}"#, "name"),
    ])
    func `an impossible attribute is refused by field, nothing is stored`(
        body: String, field: String
    ) async throws {
        let place = try await Place()
        let answer = try await place.set("emma", body)
        #expect(answer.status == 400 && answer.text.contains(field), "\(answer.text)")
        #expect(try await place.server.send(.get, "\(place.users)/emma").status == 404)
    }

    @Test func `users are listed in pages, by id part or attribute`() async throws {
        let place = try await Place()
        for id in ["b", "c", "aa"] { try await place.set(id, #"{"attributes":{"plan":"gold","visits":3}}"#) }
        try await place.set("d", #"{"attributes":{"plan":"3"}}"#)
        // Without a profile.
        _ = try await place.register(8, of: "ab")
        #expect(try await place.ids("") == ["aa", "ab", "b", "c", "d"])
        #expect(try await place.ids("?q=a") == ["aa", "ab"])
        let first = try await place.server.send(.get, "\(place.users)?limit=2")
        let cursor = try #require(first["next_cursor"]?.stringValue)
        #expect(try await place.ids("?limit=9&cursor=\(cursor)") == ["b", "c", "d"])
        #expect(Set(try await place.ids("?attribute=plan&value=%22gold%22")) == ["aa", "b", "c"])
        #expect(try await place.ids("?attribute=plan&value=%223%22") == ["d"])
        #expect(try await place.ids("?attribute=plan&value=3").isEmpty)
        for query in ["?value=3", "?attribute=plan", "?attribute=plan&value=3&q=a"] {
            #expect(try await place.server.send(.get, place.users + query).status == 400, "\(query)")
        }
    }

    @Test(arguments: [
        ("users?q=%00", "q has the character U+0000"), ("users/%00", "user_id has the character U+0000"),
        ("users?attribute=%00&value=1", "attribute has the character U+0000"),
        ("devices?custom_user_id=%00", "custom_user_id has the character U+0000"),
        ("users?attribute=plan&value=1e999", "value is a number beyond 1.8e308"),
        ("users?attribute=plan&value=gold", "value is not valid JSON: expected a value at byte 0; texts need quotes"),
    ])
    func `an impossible text in an address is refused by name`(path: String, words: String) async throws {
        let place = try await Place()
        let app = place.resources.application.uuid.lowercased
        let answer = try await place.server.send(.get, "apps/\(app)/\(path)")
        #expect(answer.status == 400 && answer.text.contains(words), "\(answer.text)")
    }

    @Test func `merging users joins devices and fills missing attributes`() async throws {
        let place = try await Place()
        try await place.set("old", #"{"language":"fr","attributes":{"plan":"tin","city":"Lyon"}}"#)
        try await place.set("new", #"{"attributes":{"plan":"gold"}}"#)
        var moved: [Device] = []
        for (number, user) in [(UInt8(11), "old"), (12, "old"), (13, "new")] {
            moved.append(try await place.register(number, of: user))
        }
        place.server.clock.advance(by: .seconds(3_600))
        let merged = try await place.server.send(.post, "\(place.users)/old/merge", #"{"into":"new"}"#)
        #expect(merged.status == 200 && merged["language"] == .string("fr"), "\(merged.text)")
        #expect(merged["attributes"] == .object(["plan": .string("gold"), "city": .string("Lyon")]))
        guard case .array(let devices)? = try await place.server.send(.get, "\(place.users)/new")["devices"] else {
            Issue.record("no devices")
            return
        }
        #expect(devices.count == 3)
        for old in moved {
            let device = try #require(try await place.server.store.allDevices().first { $0.key == old.key })
            #expect(device.registeredAt == old.registeredAt, "nobody has seen it")
        }
        #expect(try await place.server.send(.get, "\(place.users)/old").status == 404)
        #expect(try await place.server.audited().first == "user.merge")
        for (into, words) in [("new", "is the user itself"), (" ", "is blank")] {
            let refused = try await place.server.send(.post, "\(place.users)/new/merge", #"{"into":"\#(into)"}"#)
            #expect(refused.status == 400 && refused.message == "into \(words)", "\(refused.text)")
        }
        #expect(try await place.server.send(.post, "\(place.users)/old/merge", #"{"into":"new"}"#).status == 404)
    }

    @Test func `erasing a user removes all its data and nobody else's`() async throws {
        let place = try await Place()
        try await place.set("emma", #"{"attributes":{"plan":"gold"}}"#)
        let (hers, other) = (try await place.register(21, of: "emma"), try await place.register(22, of: "kim"))
        let gone = try await place.register(23, of: "emma")
        try await place.server.store.unregister(gone.uuid, on: place.resources.platform.key)
        #expect(try await place.server.send(.delete, "\(place.users)/emma").status == 204)
        #expect(try await place.server.send(.get, "\(place.users)/emma").status == 404)
        let devices = try await place.server.store.allDevices()
        for device in [hers, gone] {
            let row = try #require(devices.first { $0.key == device.key })
            #expect(!row.isActive && row.customUserID == nil)
        }
        let kims = try #require(devices.first { $0.key == other.key })
        #expect(kims.customUserID == "kim" && kims.isActive)
        let line = try #require(
            try await place.server.store.auditLog(AuditQuery(bounds: .everything, limit: 1)).first)
        #expect(line.change.action == "user.erase" && !"\(line)".contains("emma"), "the log does not name her")
        #expect(try await place.server.send(.delete, "\(place.users)/emma").status == 404)
    }
}

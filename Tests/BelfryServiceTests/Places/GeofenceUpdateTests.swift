import BelfryTesting
import FoundationEssentials
import HTTPTypes
import HummingbirdTesting
import Testing

@testable import BelfryService

/// Answers to devices at `/v1/geofences`, read as strictly as by the strictest of their SDKs.
@Suite struct GeofenceUpdateTests {
    private func fetch(
        _ server: TestMapServer, since: Int64? = nil, as user: TestMapServer.User = .iPhone
    ) async throws -> StrictSDK.Answer {
        let query = since.map { "?timestamp=\($0)&device_uuid=\(UUID())&platform=ios" } ?? ""
        let reply = try await server.send(.get, "/v1/geofences\(query)", as: user)
        #expect(reply.status == 200, "\(reply)")
        return try StrictSDK.read(reply.json)
    }

    @Test func `an application without geofences answers empty, with a time`() async throws {
        let answer = try await fetch(try await TestMapServer())
        #expect(answer.geofences.isEmpty && answer.deleted.isEmpty && answer.lastModified == 0)
    }

    @Test func `a device is brought from one answer to the next`() async throws {
        let server = try await TestMapServer()
        let location = try await server.locate()
        let (a, b) = (try await server.fence([location]), try await server.fence([location]))
        let first = try await fetch(server, since: 0)
        #expect(first.geofences == [a, b] && first.deleted == [])
        #expect(first.lastModified >= server.clock.now.milliseconds)
        #expect(try await server.send(.delete, "/v1/geofence/\(a)").status == 204)
        #expect(try await server.send(.put, "/v1/locations/\(location)", #"{"rad":50}"#).status == 200)
        let second = try await fetch(server, since: first.lastModified)
        #expect(second.geofences == [b] && second.deleted == [a])
        let third = try await fetch(server, since: second.lastModified)
        #expect(third.geofences == [] && third.deleted == [] && third.lastModified == second.lastModified)
    }

    @Test(arguments: ["", "?timestamp=", "?timestamp=now", "?timestamp=-5", "?timestamp=0&x=y"])
    func `a time that is none gets everything`(query: String) async throws {
        let server = try await TestMapServer()
        let geofence = try await server.fence([try await server.locate()])
        let reply = try await server.send(.get, "/v1/geofences\(query)", as: .iPhone)
        #expect(try StrictSDK.read(reply.json).geofences == [geofence])
    }

    @Test func `an FCM device finds its part under its SDK's key`() async throws {
        let server = try await TestMapServer()
        let location = try await server.locate()
        _ = try await server.fence([location])
        _ = try await server.fence(
            [location], #","data":{"android":{"a":"1"},"androidFcm":{"b":true,"c":null,"d":1.5}}"#)
        let reply = try await server.send(.get, "/v1/geofences", as: .android)
        let parts = try reply.list("geofences").map { $0["data"]?["androidFcm"] }
        #expect(
            parts == [
                .object(["message": .string("Welcome"), "count": .string("3")]),
                .object(["b": .string("true"), "d": .string("1.5")]),
            ])
        let ios = try await server.send(.get, "/v1/geofences", as: .iPhone)
        #expect(try ios.list("geofences").first?["data"]?["androidFcm"] == nil)
    }

    @Test func `devices fetch with the platform's credentials`() async throws {
        let server = try await TestMapServer()
        for user in [TestMapServer.User.nobody, .backEnd] {
            #expect(try await server.send(.get, "/v1/geofences", as: user).status == 401)
            #expect(try await server.send(.post, "/v1/analytics", as: user, #"{"events":[]}"#).status == 401)
        }
    }

    @Test func `an Android SDK's fetch, byte by byte`() async throws {
        let server = try await TestMapServer()
        let geofence = try await server.fence([try await server.locate()])
        let credentials = try #require(server.authorization(.android)).dropFirst("Basic ".count)
        let request = [
            "GET //v1/geofences?timestamp=0&device_uuid=8f2a\(geofence)&platform=android-fcm HTTP/1.1",
            "Authorization: Basic  \(credentials)", "User-Agent: Dalvik/2.1.0 (Linux; U; Android 7.1.2)", "Host: x",
            "Connection: close", "Accept-Encoding: gzip", "", "",
        ].joined(separator: "\r\n")
        let answer = try await server.app().test(.live) { client in
            try await RawClient.exchange(request, port: try #require(client.port))
        }
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"), "\(answer)")
        let start = try #require(answer.firstRange(of: "\r\n\r\n")).upperBound
        let json = try JSONValue(json: answer[start...].utf8)
        #expect(try StrictSDK.read(json).geofences == [geofence])
    }
}

/// Reads an answer as the Android SDKs do, of whom one value of a wrong type spoils all, and as picky as the iOS SDK is
/// about what it shows.
enum StrictSDK {
    struct Answer {
        let lastModified: Int64
        let geofences: [Int64]
        let deleted: [Int64]
    }

    struct Spoilt: Error { let what: String }

    static func read(_ json: JSONValue) throws -> Answer {
        let geofences = try array(json, "geofences").map(geofence)
        guard try integer(json, "num") == Int64(geofences.count) else { throw Spoilt(what: "num") }
        let deleted = try array(json, "deleted_geofence_ids").map { value in
            guard case .integer(let id) = value else { throw Spoilt(what: "deleted_geofence_ids") }
            return id
        }
        return Answer(lastModified: try integer(json, "last_modified"), geofences: geofences, deleted: deleted)
    }

    private static func geofence(_ json: JSONValue) throws -> Int64 {
        guard try integer(json, "expiry_time") > 0 else { throw Spoilt(what: "expiry_time") }
        for tag in try array(json, "tags") {
            guard let tag = tag.stringValue, tag == tag.lowercased() else { throw Spoilt(what: "tags") }
        }
        guard ["enter", "exit"].contains(json["trigger_type"]?.stringValue) else { throw Spoilt(what: "trigger_type") }
        let locations = try array(json, "locations")
        guard !locations.isEmpty else { throw Spoilt(what: "locations") }
        for location in locations { try check(location) }
        guard case .object(let data) = json["data"] else { throw Spoilt(what: "data") }
        for key in ["android", "androidFcm"] {
            guard let part = data[key] else { continue }
            guard case .object(let members) = part, members.values.allSatisfy({ $0.stringValue != nil }) else {
                throw Spoilt(what: "data.\(key)")
            }
        }
        return try integer(json, "id")
    }

    private static func check(_ location: JSONValue) throws {
        _ = try integer(location, "id")
        guard location["name"]?.stringValue != nil else { throw Spoilt(what: "location name") }
        for (key, limit) in [("lat", 90.0), ("long", 180.0)] {
            guard let text = location[key]?.stringValue, let degrees = Double(text), abs(degrees) <= limit else {
                throw Spoilt(what: key)
            }
        }
        switch location["rad"] {
        case .integer(let radius)? where radius >= 10: return
        case .number(let radius)? where radius.double >= 10: return
        default: throw Spoilt(what: "rad")
        }
    }

    private static func integer(_ json: JSONValue, _ key: String) throws -> Int64 {
        guard case .integer(let integer) = json[key] else { throw Spoilt(what: key) }
        return integer
    }

    private static func array(_ json: JSONValue, _ key: String) throws -> [JSONValue] {
        guard case .array(let elements) = json[key] else { throw Spoilt(what: key) }
        return elements
    }
}

import BelfryTesting
import HTTPTypes
import Testing

@testable import BelfryService

@Suite struct LocationTests {
    static let example = #"{"name":"sample","lat":"0.0","long":"0.0","rad":100}"#

    @Test func `a location is made, shown, changed and deleted as documented`() async throws {
        let server = try await TestMapServer()
        let created = try await server.send(.post, "/v1/locations", Self.example)
        #expect(created.status == 200, "\(created)")
        let id = try created.id
        let expected = JSONValue.object([
            "id": .integer(id), "name": .string("sample"), "lat": .string("0.0"), "long": .string("0.0"),
            "rad": .integer(100), "created_at": .integer(1_400_000_000_000), "updated_at": .integer(1_400_000_000_000),
        ])
        #expect(created.json == expected)
        #expect(try await server.send(.get, "/v1/locations/\(id)/").json == expected)
        server.clock.advance(by: .seconds(1))
        let changed = try await server.send(.put, "/v1/locations/\(id)", #"{"rad":"12.5","lat":49.2827}"#)
        #expect(changed.status == 200)
        #expect(changed["rad"] == .number(12.5) && changed["lat"] == .string("49.2827"))
        #expect(changed["name"] == .string("sample"))
        #expect(changed["updated_at"] == .integer(1_400_000_001_000))
        #expect(try await server.send(.delete, "/v1/locations/\(id)").status == 204)
        #expect(try await server.send(.get, "/v1/locations/\(id)").status == 404)
        #expect(try await server.send(.delete, "/v1/locations/\(id)").status == 404)
    }

    @Test(arguments: ["topics", "locations"])
    func `a list goes on behind the last item shown`(path: String) async throws {
        let server = try await TestAdminServer()
        let application = try await server.admin.createApplication(name: try Name("shop"), by: TestAdminServer.author)
        let list = "apps/\(application.application.uuid.lowercased)/\(path)"
        let place = path == "topics" ? "" : #","latitude":1,"longitude":2,"radius":100"#
        var ids: [String] = []
        for name in ["a", "b", "c", "d"] {
            let made = try await server.send(.post, list, #"{"name":"\#(name)"\#(place)}"#)
            ids.append(made["location_id"]?.flat ?? name)
        }
        let first = try await server.send(.get, "\(list)?limit=2")
        let cursor = try #require(first["next_cursor"]?.stringValue, "\(first)")
        for id in ids.prefix(2) { #expect(try await server.send(.delete, "\(list)/\(id)").status == 204) }
        let second = try await server.send(.get, "\(list)?limit=2&cursor=\(cursor)")
        #expect(second[path]?.elements.compactMap { $0["name"]?.stringValue } == ["c", "d"], "\(second)")
        #expect(second["next_cursor"] == .null && second["total"] == .integer(2), "\(second)")
        for cursor in ["zz", "00", Admin.Cursor(2, 2).text] {
            #expect(try await server.send(.get, "\(list)?cursor=\(cursor)").status == 400, "\(cursor)")
        }
    }

    @Test(arguments: [
        (#"{"lat":"0.0","long":"0.0","rad":100}"#, "name is missing"),
        (#"{"name":"","lat":"0.0","long":"0.0","rad":100}"#, "name is empty"),
        (#"{"name":"a","long":"0.0","rad":100}"#, "lat is missing"),
        (#"{"name":"a","lat":"90.1","long":"0","rad":100}"#, "lat is 90.1, it has to be in -90...90 degrees"),
        (#"{"name":"a","lat":0,"long":-180.5,"rad":100}"#, "long is -180.5, it has to be in -180...180 degrees"),
        (#"{"name":"a","lat":0,"long":0,"rad":9.9}"#, "rad is 9.9, it has to be 10 metres or more"),
        (#"{"name":"a","lat":"","long":0,"rad":10}"#, "lat has to be a number, it is a string of something else"),
        (#"{"name":"a","lat":"0x10","long":0,"rad":10}"#, "lat has to be a number, it is a string of something else"),
        (#"{"name":"a","lat":"nan","long":0,"rad":10}"#, "lat has to be a number, it is a string of something else"),
        (#"{"name":"a","lat":"1e999","long":0,"rad":10}"#, "lat has to be a number, it is a string of something else"),
        (#"{"name":"a","lat":[1],"long":0,"rad":10}"#, "lat has to be a number, it is an array"),
        (#"{"name":7,"lat":0,"long":0,"rad":10}"#, "name has to be a string, it is a number"),
    ])
    func `a location that devices would reject is refused`(body: String, message: String) async throws {
        let reply = try await TestMapServer().send(.post, "/v1/locations", body)
        #expect(reply.status == 400 && reply.message == message, "\(reply)")
    }

    @Test func `locations are listed page by page`() async throws {
        let server = try await TestMapServer()
        for number in 1...3 { _ = try await server.locate("shop \(number)") }
        let all = try await server.send(.get, "/v1/locations")
        #expect(all["size"] == .integer(25) && all["page"] == .integer(1))
        #expect(all["totalLocations"] == .integer(3) && all["totalPages"] == .integer(1))
        #expect(try all.list("locations").count == 3)
        let second = try await server.send(.get, "/v1/locations?page=2&size=2&timestamp=0")
        #expect(second["totalPages"] == .integer(2) && second["size"] == .integer(2))
        #expect(try second.list("locations").compactMap { $0["name"]?.stringValue } == ["shop 3"])
        let found = try await server.send(.get, "/v1/locations?q=SHOP%202")
        #expect(try found.list("locations").compactMap { $0["name"]?.stringValue } == ["shop 2"])
        #expect(try await server.send(.get, "/v1/locations?q=SHOP+2")["totalLocations"] == .integer(1))
        #expect(try await server.send(.get, "/v1/locations?size=1000")["size"] == .integer(50))
        #expect(try await server.send(.get, "/v1/locations?timestamp=1500000000000").list("locations").isEmpty)
        for query in ["page=0", "page=x", "size=0", "size=-1", "timestamp=yesterday"] {
            #expect(try await server.send(.get, "/v1/locations?\(query)").status == 400, "\(query)")
        }
        #expect(try await server.send(.get, "/v1/locations?page=&q=").status == 200)
    }

    @Test func `a location in use conflicts and names its geofence`() async throws {
        let server = try await TestMapServer()
        let location = try await server.locate()
        let geofence = try await server.fence([location])
        let reply = try await server.send(.delete, "/v1/locations/\(location)")
        #expect(reply.status == 409, "\(reply)")
        #expect(reply.message == "location \(location) is used by geofence \(geofence)")
    }

    @Test func `a group shows its locations under names of its own`() async throws {
        let server = try await TestMapServer()
        let location = try await server.locate()
        let body = #"{"name":"sample group","location_ids":[\#(location)],"description":"a sample location group"}"#
        let created = try await server.send(.post, "/v1/location_groups", body)
        #expect(created.status == 200, "\(created)")
        let time = JSONValue.integer(1_400_000_000_000)
        let shown = JSONValue.object([
            "id": .integer(location), "name": .string("sample"), "lat": .string("0.0"), "long": .string("0.0"),
            "rad": .integer(100), "createdAt": time, "updatedAt": time,
        ])
        let id = try created.id
        let group = JSONValue.object([
            "id": .integer(id), "name": .string("sample group"), "description": .string("a sample location group"),
            "locations": .array([shown]), "created_at": time, "updated_at": time,
        ])
        #expect(created.json == group)
        #expect(try await server.send(.get, "/v1/location_groups/\(id)").json == group)
        let list = try await server.send(.get, "/v1/location_groups?q=sample")
        #expect(try list.list("location_groups") == [group])
        #expect(list["totalLocationGroups"] == .integer(1) && list["totalPages"] == .integer(1))
        let changed = try await server.send(.put, "/v1/location_groups/\(id)", #"{"location_ids":["\#(location)"]}"#)
        #expect(changed.json == group)
        let unknown = try await server.send(.put, "/v1/location_groups/\(id)", #"{"location_ids":[999]}"#)
        #expect(unknown.status == 400)
        #expect(unknown.message == "location_ids[0] is 999, this application has no such location")
        #expect(try await server.send(.delete, "/v1/location_groups/\(id)").status == 204)
        #expect(try await server.send(.get, "/v1/location_groups/\(id)").status == 404)
        #expect(try await server.send(.get, "/v1/location_groups/all").status == 404)
    }

    @Test(arguments: ["locations", "locations/1", "location_groups", "location_groups/1", "geofence", "geofence/1"])
    func `the map is open to its application alone`(path: String) async throws {
        let server = try await TestMapServer()
        for user in [TestMapServer.User.nobody, .stranger, .iPhone] {
            #expect(try await server.send(.get, "/v1/\(path)", as: user).status == 401)
        }
        #expect(try await server.send(.patch, "/v1/\(path)").status == 405)
    }
}

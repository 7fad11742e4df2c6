import BelfryTesting
import HTTPTypes
import Testing

@testable import BelfryService

@Suite struct GeofenceTests {
    @Test func `a geofence works as documented, always with all fields`() async throws {
        let server = try await TestMapServer()
        let location = try await server.locate()
        let created = try await server.send(
            .post, "/v1/geofence", TestMapServer.geofence([location], #","tags":["Tag1","tag2"]"#))
        #expect(created.status == 200, "\(created)")
        let id = try created.id
        let time = JSONValue.integer(1_400_000_000_000)
        let expected = JSONValue.object([
            "id": .integer(id), "tags": .array([.string("tag1"), .string("tag2")]),
            "expiry_time": .integer(1_424_443_201_000), "trigger_type": .string("enter"), "platform": .string("all"),
            "locations": .array([try await server.send(.get, "/v1/locations/\(location)").json]),
            "created_at": time, "updated_at": time, "start_time": .integer(0),
            "data": .object([
                "ios": .object([
                    "alertBody": .string("Welcome"), "applicationBadgeNumber": .integer(2),
                    "applicationIconBadgeNumber": .integer(2),
                ]),
                "android": .object(["message": .string("Welcome"), "count": .string("3")]),
            ]),
        ])
        #expect(created.json == expected)
        #expect(try await server.send(.get, "/v1/geofence/\(id)").json == expected)
        let list = try await server.send(.get, "/v1/geofence?page=1&size=25&timestamp=0")
        #expect(try list.list("geofences") == [expected])
        #expect(list["size"] == .integer(25) && list["totalGeofences"] == .integer(1))
        #expect(list["totalPages"] == .integer(1) && list["page"] == .integer(1))
        server.clock.advance(by: .seconds(1))
        let changed = try await server.send(.put, "/v1/geofence/\(id)", #"{"trigger_type":"EXIT","tags":[]}"#)
        #expect(changed["trigger_type"] == .string("exit") && changed["tags"] == .array([]))
        #expect(changed["data"] == expected["data"] && changed["updated_at"] == .integer(1_400_000_001_000))
        let again = try await server.send(.put, "/v1/geofence/\(id)", changed.text)
        #expect(again.status == 200 && again["locations"] == changed["locations"], "\(again)")
        #expect(try await server.send(.delete, "/v1/geofence/\(id)").status == 204)
        #expect(try await server.send(.get, "/v1/geofence/\(id)").status == 404)
        #expect(try await server.send(.put, "/v1/geofence/\(id)", "{}").status == 404)
        #expect(try await server.send(.delete, "/v1/geofence/\(id)").status == 404)
    }

    @Test(arguments: ["all of it", "its locations", "another group"])
    func `a group's location that is sent back stays the group's`(part: String) async throws {
        let server = try await TestMapServer()
        let (own, other) = (try await server.locate("own"), try await server.locate("other"))
        let group = try await server.send(
            .post, "/v1/location_groups", #"{"name":"g","description":"d","location_ids":[\#(other)]}"#
        ).id
        let id = try await server.fence([own], #","location_groups":[\#(group)]"#)
        let shown = try await server.send(.get, "/v1/geofence/\(id)")
        let locations = try #require(shown["locations"])
        let another = try await server.send(
            .post, "/v1/location_groups", #"{"name":"h","description":"d","location_ids":[\#(own)]}"#
        ).id
        let more = part == "another group" ? #","location_groups":[\#(another),\#(group)]"# : ""
        let changed = try await server.send(
            .put, "/v1/geofence/\(id)",
            part == "all of it" ? shown.text : #"{"locations":\#(locations.flat)\#(more)}"#)
        #expect(changed.status == 200 && changed["locations"] == locations, "\(changed)")
        _ = try await server.send(.put, "/v1/location_groups/\(group)", #"{"location_ids":[\#(own)]}"#)
        #expect(try await server.send(.get, "/v1/geofence/\(id)")["locations"]?.elements.count == 1)
    }

    @Test(arguments: [
        (#""location_ids":[99]"#, "location_ids[0] is 99, this application has no such location"),
        (#""location_group_ids":[7]"#, "location_group_ids[0] is 7, this application has no such location group"),
        (#""location_ids":[]"#, "location_ids is empty, it needs a location or a group"),
        (#""location_ids":[99],"starts_at":"2100-01-01T00:00:00Z""#, "expires_at has to be after the start"),
    ])
    func `the admin API names its own fields`(fields: String, words: String) async throws {
        let server = try await TestAdminServer()
        let app = "apps/\(try await server.resources("shop").application.uuid.lowercased)"
        let reply = try await server.send(
            .post, "\(app)/geofences", #"{"trigger":"enter","expires_at":"2099-01-01T00:00:00Z",\#(fields)}"#)
        #expect(reply.status == 400 && reply.message?.hasPrefix(words) == true, "\(reply)")
    }

    @Test(arguments: [
        (#"{}"#, "locations is missing"),
        (#"{"locations":[]}"#, "trigger_type is missing"),
        (
            #"{"locations":[],"trigger_type":"enter","expiry_time":100000000001,"data":{}}"#,
            "locations is empty, it needs a location or a group"
        ),
        (#"{"locations":[1],"trigger_type":"enter","data":{}}"#, "expiry_time is missing"),
        (#"{"locations":[1],"trigger_type":"enter","expiry_time":100000000005}"#, "data is missing"),
        (
            #"{"locations":[99],"trigger_type":"enter","expiry_time":100000000005,"data":{}}"#,
            "locations[0] is 99, this application has no such location"
        ),
        (#"{"locations":[null]}"#, "locations[0] has to be a whole number, it is null"),
        (#"{"locations":[{}]}"#, "locations[0].id has to be a whole number, it is null"),
        (#"{"trigger_type":"stay"}"#, "trigger_type is 'stay', it has to be one of enter, exit"),
        (#"{"platform":"windows8"}"#, "platform is 'windows8', it has to be one of all, ios, android, android-fcm"),
        (#"{"data":"object"}"#, "data has to be an object, it is a string"),
        (#"{"data":{"android":"object"}}"#, "data.android has to be an object, it is a string"),
        (#"{"data":{"ios":[]}}"#, "data.ios has to be an object, it is an array"),
        (#"{"data":{"ios":{"alertBody":1}}}"#, "data.ios.alertBody has to be a string, it is a number"),
        (#"{"data":{"ios":{"hasAction":"yes"}}}"#, "data.ios.hasAction has to be true or false, it is a string"),
        (#"{"data":{"ios":{"userInfo":"object"}}}"#, "data.ios.userInfo has to be an object, it is a string"),
        (
            #"{"data":{"ios":{"applicationBadgeNumber":1.5}}}"#,
            "data.ios.applicationBadgeNumber has to be a whole number, it is a number"
        ),
        (
            #"{"locations":[1],"trigger_type":"enter","start_time":100000000009,"expiry_time":100000000009,"data":{}}"#,
            "expiry_time has to be after the start, 1973-03-03T09:46:40.009Z"
        ),
    ])
    func `a value that devices would reject is refused`(body: String, message: String) async throws {
        let reply = try await TestMapServer().send(.post, "/v1/geofence", body)
        #expect(reply.status == 400 && reply.message == message, "\(reply)")
    }

    @Test func `another application's objects are unknown`() async throws {
        let server = try await TestMapServer()
        let stranger = try await server.store.create(.numbered(9))
        let shop = try await server.store.create(
            Place(name: "shop", latitude: 0, longitude: 0, radius: 10), of: stranger.key)
        let fence = try await server.store.create(
            GeofencePlan(
                locations: [shop.key], trigger: .exit, data: GeofenceData([:]),
                expiresAt: Instant(milliseconds: 1_500_000_000_000)), of: stranger.key)
        #expect(try await server.send(.get, "/v1/locations/\(shop.key)").status == 404)
        #expect(try await server.send(.put, "/v1/locations/\(shop.key)", "{}").status == 404)
        #expect(try await server.send(.delete, "/v1/geofence/\(fence.key)").status == 404)
        #expect(try await server.send(.get, "/v1/geofences", as: .iPhone).list("geofences").isEmpty)
        #expect(try await server.send(.get, "/v1/geofence").list("geofences").isEmpty)
    }

    // MARK: What the documentation shows

    /// The example of "Create a Geofence". Where the page writes the name of a type, `"object"`, stands one such value.
    static let example = """
        {"tags":["tag1","tag2"],"locations":["LOCATION1","LOCATION2"],"trigger_type":"enter","start_time":0,
        "expiry_time":1424443201000,"platform":"","data":{"ios":{"alertBody":"","category":"","alertAction":"",
        "alertTitle":"","alertLaunchImage":"","hasAction":false,"applicationBadgeNumber":0,"soundName":"",
        "userInfo":{}},"android":{}}}
        """

    @Test(arguments: [1_400_000_000_000, 1_700_000_000_000] as [Int64])
    func `the documented examples are accepted at any time`(now: Int64) async throws {
        let server = try await TestMapServer()
        server.clock.advance(to: Instant(milliseconds: now))
        let locations = [try await server.locate("1"), try await server.locate("2")]
        let body = Self.example.replacing("LOCATION1", with: "\(locations[0])")
            .replacing("LOCATION2", with: "\(locations[1])")
        let created = try await server.send(.post, "/v1/geofence", body)
        #expect(created.status == 200, "\(created)")
        #expect(created["platform"] == .string("all"))
        let put =
            #"{"trigger_type":"enter","expiry_time":1424443201000,"data":{"object":{"key":"value"}},"#
            + #""tags":["tag1"],"locations":[\#(locations[0])]}"#
        let changed = try await server.send(.put, "/v1/geofence/\(try created.id)", put)
        #expect(changed.status == 200, "\(changed)")
        #expect(changed["data"] == .object(["object": .object(["key": .string("value")])]))
        #expect(changed["tags"] == .array([.string("tag1")]))
        let isOver = now > 1_424_443_201_000
        #expect(try await server.send(.get, "/v1/geofences", as: .iPhone).list("geofences").isEmpty == isOver)
    }

    // MARK: What no device shows

    @Test(arguments: [
        (#"{}"#, "all", "data has nothing that devices of platform all show"),
        (#"{"ios":{}}"#, "all", "data has nothing"),
        (#"{"ios":{"alertBody":"a"}}"#, "android-fcm", "data has nothing that devices of platform android-fcm show"),
        (#"{"own":{"a":1}}"#, "all", "data.own was ignored"),
        (#"{"ios":{"alertBody":"a","colour":"red"}}"#, "all", "data.ios.colour was ignored"),
    ])
    func `a geofence that nobody sees is taken with a warning`(data: String, platform: String, words: String)
        async throws
    {
        let server = try await TestMapServer()
        let location = try await server.locate()
        func body(_ data: String) -> String {
            #"{"locations":[\#(location)],"trigger_type":"enter","expiry_time":1424443201000,"platform":"\#(platform)","data":\#(data)}"#
        }
        let made = try await server.send(.post, "/v1/geofence", body(data))
        #expect(made.status == 200 && made.headers[.warning]?.contains(words) == true, "\(made)")
        let path = "/v1/geofence/\(try made.id)"
        let good = try await server.send(.put, path, body(#"{"ios":{"alertBody":"a"},"android":{"message":"a"}}"#))
        #expect(good.status == 200 && good.headers[.warning] == nil, "\(good)")
        let worse = try await server.send(.put, path, body(data))
        #expect(worse.headers[.warning]?.contains(words) == true, "\(worse)")
        let over = try await server.send(.put, path, #"{"expiry_time":1300000000000}"#)
        #expect(over.status == 200 && over.headers[.warning]?.contains("expiry_time is over") == true, "\(over)")
    }

    @Test(arguments: [
        (#"{"iOS":{"alertBody":"a"}}"#, "data.iOS", "ios"),
        (#"{"ios":{"alertbody":"a"}}"#, "data.ios.alertbody", "alertBody"),
        (#"{"ios":{"alertBody":"a","badge":"x"}}"#, "data.ios.badge", "applicationBadgeNumber"),
        (#"{"ios":{"title":"a"}}"#, "data.ios.title", "alertTitle"),
        (#"{"android-fcm":{"a":"b"}}"#, "data.android-fcm", "androidFcm"),
    ])
    func `a misspelt data key is refused with the right one`(data: String, path: String, meant: String)
        async throws
    {
        let server = try await TestMapServer()
        let body = TestMapServer.geofence([try await server.locate()], #","data":\#(data)"#)
        let reply = try await server.send(.post, "/v1/geofence", body)
        #expect(reply.status == 400 && reply.message?.hasPrefix("\(path) is not") == true, "\(reply)")
        #expect(reply.message?.contains("(is \(meant) meant?)") == true, "\(reply)")
        #expect(reply.message?.contains("nothing was sent") == false, "\(reply)")
    }
}

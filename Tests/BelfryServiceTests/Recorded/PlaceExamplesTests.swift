import BelfryService
import Testing

/// The examples of "Geofences", "Locations" and "Location Groups", posted as they stand there, do what the pages say.
@Suite struct PlaceExamplesTests {
    @Test func `a location is created, changed, listed and deleted as shown`() async throws {
        let post = try Example("location-post").posted()
        let put = try Example("location-put").posted()
        try await RecordedServer.open(at: ExampleRequest.then) { server in
            let created = try #require(
                try await server.exchange(
                    ExampleRequest.sent("POST /v1/locations", server.sender, post), 200, .location))
            #expect(created.lacks(try Example("location-post-answer").answer()) == [])
            let id = try #require(created["id"]?.integer)
            let changed = try #require(
                try await server.exchange(
                    ExampleRequest.sent("PUT /v1/locations/\(id)", server.sender, put), 200, .location))
            #expect(changed.lacks(try Example("location-put-answer").answer()) == [])
            let shown = try #require(
                try await server.exchange(
                    ExampleRequest.asked("GET /v1/locations/\(id)", server.sender), 200, .location))
            #expect(shown.lacks(try Example("location-answer").answer()) == [])
            let list = try #require(
                try await server.exchange(
                    ExampleRequest.asked("GET /v1/locations?q=sam", server.sender), 200, .locations))
            #expect(list.lacks(try Example("locations-answer").answer()) == [])
            #expect(list["totalLocations"] == .integer(1))
            #expect(list["size"] == .integer(25))
            try await server.exchange(ExampleRequest.asked("DELETE /v1/locations/\(id)", server.sender), 204, nil)
            try await server.exchange(ExampleRequest.asked("GET /v1/locations/\(id)", server.sender), 404, .error)
        }
    }

    @Test func `a location group works as documented`() async throws {
        let location = try Example("location-post").posted()
        let post = try Example("location-group-post").posted()
        let put = try Example("location-group-put").posted()
        try await RecordedServer.open(at: ExampleRequest.then) { server in
            try await server.exchange(
                ExampleRequest.sent("POST /v1/locations", server.sender, location), 200, .location)
            let created = try #require(
                try await server.exchange(
                    ExampleRequest.sent("POST /v1/location_groups", server.sender, post), 200, .group))
            #expect(created.lacks(try Example("location-group-post-answer").answer()) == [])
            let id = try #require(created["id"]?.integer)
            let changed = try #require(
                try await server.exchange(
                    ExampleRequest.sent("PUT /v1/location_groups/\(id)", server.sender, put), 200, .group))
            #expect(changed.lacks(try Example("location-group-put-answer").answer()) == [])
            let shown = try #require(
                try await server.exchange(
                    ExampleRequest.asked("GET /v1/location_groups/\(id)", server.sender), 200, .group))
            #expect(shown.lacks(try Example("location-group-answer").answer()) == [])
            let list = try #require(
                try await server.exchange(ExampleRequest.asked("GET /v1/location_groups", server.sender), 200, .groups))
            #expect(list.lacks(try Example("location-groups-answer").answer()) == [])
            try await server.exchange(ExampleRequest.asked("DELETE /v1/location_groups/\(id)", server.sender), 204, nil)
        }
    }

    @Test func `a geofence is created, changed, listed and deleted as shown`() async throws {
        let location = try Example("location-post").posted()
        // Empty strings stand where words belong.
        let post = try Example("geofence-post").posted().replacing(#""platform": """#, with: #""platform": "all""#)
        let put = try Example("geofence-put").posted()
        // A key `object` stands in the data of most answers.
        let besides: Set = ["data"]
        try await RecordedServer.open(at: ExampleRequest.then) { server in
            for _ in 1...2 {
                try await server.exchange(
                    ExampleRequest.sent("POST /v1/locations", server.sender, location), 200, .location)
            }
            let created = try #require(
                try await server.exchange(ExampleRequest.sent("POST /v1/geofence", server.sender, post), 200, .geofence)
            )
            #expect(created.lacks(try Example("geofence-post-answer").answer(), besides: besides) == [])
            #expect(created["data"]?["ios"]?["applicationIconBadgeNumber"] == .integer(0))
            let id = try #require(created["id"]?.integer)
            let update = try await server.exchange(
                ExampleRequest.asked("GET /v1/geofences?timestamp=0", try server.device(.ios)), 200, .geofenceUpdate)
            #expect(update?["num"] == .integer(1))
            let changed = try #require(
                try await server.exchange(
                    ExampleRequest.sent("PUT /v1/geofence/\(id)", server.sender, put), 200, .anything))
            #expect(changed.lacks(try Example("geofence-put-answer").answer(), besides: besides) == [])
            let shown = try #require(
                try await server.exchange(ExampleRequest.asked("GET /v1/geofence/\(id)", server.sender), 200, .anything)
            )
            #expect(shown.lacks(try Example("geofence-answer").answer(), besides: besides) == [])
            let list = try #require(
                try await server.exchange(ExampleRequest.asked("GET /v1/geofence", server.sender), 200, .anything))
            #expect(list.lacks(try Example("geofences-answer").answer(), besides: besides) == [])
            try await server.exchange(ExampleRequest.asked("DELETE /v1/geofence/\(id)", server.sender), 204, nil)
            let after = try await server.exchange(
                ExampleRequest.asked("GET /v1/geofences?timestamp=1", try server.device(.ios)), 200, .geofenceUpdate)
            #expect(after?["deleted_geofence_ids"] == .array([.integer(id)]))
        }
    }
}

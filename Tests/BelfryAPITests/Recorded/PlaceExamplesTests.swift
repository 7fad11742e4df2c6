import BelfryCore
import Testing

/// The examples of "Geofences", "Locations" and "Location Groups", posted as they stand there, do what the pages say.
@Suite struct PlaceExamplesTests {
    @Test func `a location is created, changed, listed and deleted as shown`() async throws {
        let post = try Example("location-post").posted()
        let put = try Example("location-put").posted()
        try await Stage.open(at: Page.then) { stage in
            let created = try #require(
                try await stage.exchange(Page.sent("POST /v1/locations", stage.sender, post), 200, .location))
            #expect(created.lacks(try Example("location-post-answer").answer()) == [])
            let id = try #require(created["id"]?.integer)
            let changed = try #require(
                try await stage.exchange(Page.sent("PUT /v1/locations/\(id)", stage.sender, put), 200, .location))
            #expect(changed.lacks(try Example("location-put-answer").answer()) == [])
            let shown = try #require(
                try await stage.exchange(Page.asked("GET /v1/locations/\(id)", stage.sender), 200, .location))
            #expect(shown.lacks(try Example("location-answer").answer()) == [])
            let list = try #require(
                try await stage.exchange(Page.asked("GET /v1/locations?q=sam", stage.sender), 200, .locations))
            #expect(list.lacks(try Example("locations-answer").answer()) == [])
            #expect(list["totalLocations"] == .integer(1))
            #expect(list["size"] == .integer(25))
            try await stage.exchange(Page.asked("DELETE /v1/locations/\(id)", stage.sender), 204, nil)
            try await stage.exchange(Page.asked("GET /v1/locations/\(id)", stage.sender), 404, .error)
        }
    }

    @Test func `a location group is created, changed, listed and deleted as shown`() async throws {
        let location = try Example("location-post").posted()
        let post = try Example("location-group-post").posted()
        let put = try Example("location-group-put").posted()
        try await Stage.open(at: Page.then) { stage in
            try await stage.exchange(Page.sent("POST /v1/locations", stage.sender, location), 200, .location)
            let created = try #require(
                try await stage.exchange(Page.sent("POST /v1/location_groups", stage.sender, post), 200, .group))
            #expect(created.lacks(try Example("location-group-post-answer").answer()) == [])
            let id = try #require(created["id"]?.integer)
            let changed = try #require(
                try await stage.exchange(Page.sent("PUT /v1/location_groups/\(id)", stage.sender, put), 200, .group))
            #expect(changed.lacks(try Example("location-group-put-answer").answer()) == [])
            let shown = try #require(
                try await stage.exchange(Page.asked("GET /v1/location_groups/\(id)", stage.sender), 200, .group))
            #expect(shown.lacks(try Example("location-group-answer").answer()) == [])
            let list = try #require(
                try await stage.exchange(Page.asked("GET /v1/location_groups", stage.sender), 200, .groups))
            #expect(list.lacks(try Example("location-groups-answer").answer()) == [])
            try await stage.exchange(Page.asked("DELETE /v1/location_groups/\(id)", stage.sender), 204, nil)
        }
    }

    @Test func `a geofence is created, changed, listed and deleted as shown`() async throws {
        let location = try Example("location-post").posted()
        // Empty strings stand where words belong.
        let post = try Example("geofence-post").posted().replacing(#""platform": """#, with: #""platform": "all""#)
        let put = try Example("geofence-put").posted()
        // A key `object` stands in the data of most answers.
        let besides: Set = ["data"]
        try await Stage.open(at: Page.then) { stage in
            for _ in 1...2 {
                try await stage.exchange(Page.sent("POST /v1/locations", stage.sender, location), 200, .location)
            }
            let created = try #require(
                try await stage.exchange(Page.sent("POST /v1/geofence", stage.sender, post), 200, .geofence))
            #expect(created.lacks(try Example("geofence-post-answer").answer(), besides: besides) == [])
            #expect(created["data"]?["ios"]?["applicationIconBadgeNumber"] == .integer(0))
            let id = try #require(created["id"]?.integer)
            let update = try await stage.exchange(
                Page.asked("GET /v1/geofences?timestamp=0", try stage.device(.ios)), 200, .geofenceUpdate)
            #expect(update?["num"] == .integer(1))
            let changed = try #require(
                try await stage.exchange(Page.sent("PUT /v1/geofence/\(id)", stage.sender, put), 200, .anything))
            #expect(changed.lacks(try Example("geofence-put-answer").answer(), besides: besides) == [])
            let shown = try #require(
                try await stage.exchange(Page.asked("GET /v1/geofence/\(id)", stage.sender), 200, .anything))
            #expect(shown.lacks(try Example("geofence-answer").answer(), besides: besides) == [])
            let list = try #require(
                try await stage.exchange(Page.asked("GET /v1/geofence", stage.sender), 200, .anything))
            #expect(list.lacks(try Example("geofences-answer").answer(), besides: besides) == [])
            try await stage.exchange(Page.asked("DELETE /v1/geofence/\(id)", stage.sender), 204, nil)
            let after = try await stage.exchange(
                Page.asked("GET /v1/geofences?timestamp=1", try stage.device(.ios)), 200, .geofenceUpdate)
            #expect(after?["deleted_geofence_ids"] == .array([.integer(id)]))
        }
    }
}

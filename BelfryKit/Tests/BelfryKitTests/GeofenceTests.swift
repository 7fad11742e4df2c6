import BelfryKit
import Foundation
import Testing

@Suite struct GeofenceTests {
    private static let end = 1_800_000_000_000

    private static func geofence(
        _ id: Int, at latitude: Double, trigger: String = "enter", tags: String = "", end: Int = end
    ) -> String {
        #"{"id":\#(id),"expiry_time":\#(end),"trigger_type":"\#(trigger)","tags":[\#(tags)],"#
            + #""data":{"ios":{"alertBody":"Here"}},"locations":[{"id":\#(id * 10),"name":"n","lat":\#(latitude),"#
            + #""long":"0.5","rad":100}]}"#
    }

    private static func answer(_ stamp: Int, _ geofences: [String], deleted: String = "") -> ScriptedServer.Answer {
        ScriptedServer.Answer(
            body: #"{"last_modified":\#(stamp),"geofences":[\#(geofences.joined(separator: ","))],"#
                + #""deleted_geofence_ids":[\#(deleted)]}"#)
    }

    @Test func `only changes are asked for, over restarts`() async throws {
        let phone = ScriptedPhone(
            ScriptedServer([
                .init(body: #"{"device_uuid":"d-1"}"#),
                Self.answer(11, [Self.geofence(1, at: 1), Self.geofence(2, at: 2)]),
                Self.answer(12, [Self.geofence(3, at: 3)], deleted: "1"), Self.answer(12, []),
            ]))
        defer { phone.wipe() }
        let first = try phone.start()
        try await first.register(phone.wish())
        try await first.updateGeofences()
        let app = try phone.start()
        try await app.updateGeofences()
        let changes = await app.changes()
        try await app.updateGeofences()
        #expect(
            phone.server.asked.dropFirst().map(\.query)
                == [0, 11, 12].map { "timestamp=\($0)&platform=ios&device_uuid=d-1" })
        let places = await app.nearestPlaces(latitude: 0, longitude: 0)
        #expect(places.map(\.geofence.id) == [2, 3])
        // Without a change nothing is told: the first that is heard is the push.
        try await app.received(PushMessage(receiptID: "r", receivedAt: phone.now))
        for await change in changes {
            #expect(change == .received(PushMessage(receiptID: "r", receivedAt: phone.now)))
            break
        }
    }

    @Test func `the nearest twenty places of the device are watched`() async throws {
        let far = (1...30).map { Self.geofence($0, at: Double($0)) }
        let others = [
            Self.geofence(50, at: 0, end: 1), Self.geofence(51, at: 0, tags: #""sport""#),
            Self.geofence(52, at: 0, tags: #""sport","NEWS""#), Self.geofence(53, at: 0, trigger: "never"),
        ]
        let phone = ScriptedPhone(
            ScriptedServer([.init(body: #"{"device_uuid":"d-1"}"#), Self.answer(1, far.shuffled() + others)]))
        defer { phone.wipe() }
        let app = try phone.start()
        try await app.register(phone.wish(topics: ["news"]))
        try await app.updateGeofences()
        #expect(phone.server.asked[1].query.hasSuffix("&device_uuid=d-1"))
        let near = await app.nearestPlaces(latitude: 0, longitude: 0)
        #expect(near.map(\.geofence.id) == [52] + Array(1...19))
        let south = await app.nearestPlaces(latitude: 40, longitude: 0, count: 3)
        #expect(south.map(\.geofence.id) == [30, 29, 28])
    }

    @Test func `a place is shown once by its own trigger, counted`() async throws {
        let phone = ScriptedPhone(
            ScriptedServer([
                .init(body: #"{"device_uuid":"d-1"}"#),
                Self.answer(1, [Self.geofence(1, at: 1), Self.geofence(2, at: 2, trigger: "exit")]),
            ]))
        defer { phone.wipe() }
        let app = try phone.start()
        try await app.register(phone.wish())
        try await app.updateGeofences()
        #expect(try await app.triggered(geofence: 1, location: 10, by: .exit) == nil)
        #expect(try await app.triggered(geofence: 9, location: 10, by: .enter) == nil)
        #expect(try await app.triggered(geofence: 1, location: 10, by: .enter)?.alertBody == "Here")
        let next = try phone.start()
        #expect(try await next.triggered(geofence: 1, location: 10, by: .enter) == nil)
        #expect(await next.nearestPlaces(latitude: 0, longitude: 0).map(\.geofence.id) == [2])
        try await next.resume()
        let events = phone.server.asked.last?.member("events") as? [[String: String]] ?? []
        #expect(events.map { $0["eventType"] } == ["pcf_push_event_type_geofence_location_triggered"])
        #expect(events.first?["geofenceId"] == "1" && events.first?["locationId"] == "10")
    }

    @Test func `geofences end with their topics and the registration`() async throws {
        let own = Self.geofence(1, at: 1, tags: #""news""#)
        let phone = ScriptedPhone(
            ScriptedServer([.init(body: #"{"device_uuid":"d-1"}"#), Self.answer(1, [own, Self.geofence(2, at: 2)])]))
        defer { phone.wipe() }
        let app = try phone.start()
        try await app.register(phone.wish(topics: ["news"]))
        try await app.updateGeofences()
        try await app.changeTopics(removing: ["news"])
        #expect(try await app.triggered(geofence: 1, location: 10, by: .enter) == nil)
        #expect(await app.nearestPlaces(latitude: 0, longitude: 0).map(\.geofence.id) == [2])
        try await app.unregister()
        #expect(try await app.triggered(geofence: 2, location: 20, by: .enter) == nil)
        #expect(await app.nearestPlaces(latitude: 0, longitude: 0).isEmpty)
        #expect(await app.waitingEvents == 0)
        // Nothing was used up.
        try await app.register(phone.wish(topics: ["news"]))
        #expect(try await app.triggered(geofence: 1, location: 10, by: .enter) != nil)
    }

    @Test func `another server is asked for all geofences`() async throws {
        var phone = ScriptedPhone(ScriptedServer([Self.answer(11, [Self.geofence(1, at: 1)])]))
        defer { phone.wipe() }
        try await phone.start().updateGeofences()
        phone.address = "http://other.example/"
        try await phone.start().updateGeofences()
        #expect(phone.server.asked.map(\.query) == Array(repeating: "timestamp=0&platform=ios", count: 2))
    }
}

import BelfryService
import BelfrySimulators
import Foundation
import Testing

/// Geofences from a back end to a device, through the whole server.
extension ServerTests {
    @Suite struct GeofenceTests {}
}

extension ServerTests.GeofenceTests {
    private static let expiry = 4_102_444_800_000

    /// Makes a location and a geofence around it, as a back end does; returns the geofence's id.
    private func fence(_ sender: Caller) async throws -> Int {
        struct Made: Decodable { let id: Int }
        let made = { (path: String, body: String) in
            let reply = try await sender.send("POST", path, body)
            guard reply.status == 200 else { throw Caller.Refused(reply: reply) }
            return try JSONDecoder().decode(Made.self, from: Data(reply.body.utf8)).id
        }
        let location = try await made("/v1/locations", #"{"name":"shop","lat":"49.25","long":"-123.1","rad":100}"#)
        return try await made(
            "/v1/geofence",
            #"{"locations":[\#(location)],"trigger_type":"enter","start_time":0,"expiry_time":\#(Self.expiry),"#
                + #""platform":"ios","data":{"ios":{"alertBody":"Fresh bread"}}}"#)
    }

    private func fetched(_ app: Caller, since: Int) async throws -> (lastModified: Int, ids: [Int]) {
        struct Answer: Decodable {
            let last_modified: Int
            let geofences: [Fence]
            struct Fence: Decodable { let id: Int }
        }
        let reply = try await app.send("GET", "/v1/geofences?timestamp=\(since)&platform=ios")
        let answer = try JSONDecoder().decode(Answer.self, from: Data(reply.body.utf8))
        return (answer.last_modified, answer.geofences.map(\.id))
    }

    @Test func `a change reaches every device as one silent push`() async throws {
        try await TestServer.open(simulate: { $0.listening.ledgerDetail = .payloads }) { server in
            let crowd = try await server.crowd(3)
            let before = try await fetched(server.app, since: 0)
            #expect(before.ids == [])
            // One, since others count to it for a second at most: see `GeofenceNotifierTests`.
            let geofence = try await fence(server.sender)
            let tokens = crowd.devices.compactMap { $0.token?.bytes }
            try await eventually("every device is told") {
                tokens.allSatisfy { server.simulator.ledger.token($0)?.lastRequest != nil }
            }
            let told = try #require(server.simulator.ledger.token(tokens[0])?.lastRequest)
            #expect(told.header("apns-push-type") == "background" && told.header("apns-priority") == "5")
            let payload = try JSONValue(json: told.payload.utf8)
            #expect(payload["pivotal.push.geofence_update_available"] == .bool(true))
            #expect(payload["aps"] == .object(["content-available": .integer(1)]))
            #expect(tokens.allSatisfy { server.simulator.ledger.token($0)?.told == 1 })
            let after = try await fetched(server.app, since: before.lastModified)
            #expect(after.ids == [geofence])
            #expect(try await fetched(server.app, since: after.lastModified).ids == [])
        }
    }

    @Test func `a server killed after a change notifies devices on return`() async throws {
        try await TestInstallation.with { installation in
            let first = try await installation.serve()
            defer { first.endAtOnce() }
            let base = try await first.addresses().http
            let token = String(repeating: "ab", count: 32)
            let registered = try await installation.app(at: base).send(
                "POST", "/v1/registration", #"{"registration_token":"\#(token)"}"#)
            #expect(registered.status == 200)
            let geofence = try await fence(installation.sender(at: base))
            try await first.end(SIGKILL)

            let second = try await installation.serve()
            defer { second.endAtOnce() }
            let again = try await second.addresses().http
            let bytes = [UInt8](repeating: 0xAB, count: 32)
            try await eventually("the device is told") { (installation.simulator.ledger.token(bytes)?.told ?? 0) > 0 }
            #expect(try await fetched(installation.app(at: again), since: 0).ids == [geofence])
            try await second.end(SIGTERM)
            #expect(second.ending == 0)
        }
    }
}

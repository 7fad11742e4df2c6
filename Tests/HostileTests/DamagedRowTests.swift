import Testing

/// Rows 6 and 7: a row that cannot be read is set aside alone, whatever its kind and its owner.
extension HostileTests {
    @Suite struct DamagedRowTests {
        @Test(arguments: Engine.allCases)
        func `a damaged geofence is missing alone`(engine: Engine) async throws {
            try await TestServer.with(engine) { server in
                let (application, platform) = try Self.applicationWithGeofences(server)
                let (other, otherPlatform) = try Self.applicationWithGeofences(server)
                try server.runInDatabase("UPDATE geofence SET data = '[[' WHERE id = (SELECT min(id) FROM geofence)")
                #expect(try Self.geofences(of: application, platform, server) == [1, 1])
                #expect(try Self.geofences(of: other, otherPlatform, server) == [2, 2])
            }
        }

        private static func applicationWithGeofences(
            _ server: TestServer
        ) throws -> (TestApplication, TestPlatform) {
            let application = try server.application()
            let place = #"{"name":"shop","lat":1,"long":2,"rad":100}"#
            let location = try server.send("POST", "/v1/locations", place, as: application.backEnd)["id"] as? Int ?? 0
            let body = #"{"locations":[\#(location)],"trigger_type":"enter","data":{},"expiry_time":4000000000000}"#
            for _ in 0..<2 {
                #expect(try server.send("POST", "/v1/geofence", body, as: application.backEnd).status == 200)
            }
            return (application, try server.platform(of: application))
        }

        /// How many a back end and a device see; 0 when they see an error.
        private static func geofences(
            of application: TestApplication, _ platform: TestPlatform, _ server: TestServer
        ) throws -> [Int] {
            let list = try server.send("GET", "/v1/geofence", as: application.backEnd)
            let feed = try server.send("GET", "/v1/geofences?timestamp=0", as: platform.device)
            return [(list["geofences"] as? [Any])?.count ?? 0, (feed["geofences"] as? [Any])?.count ?? 0]
        }

        @Test(arguments: Engine.allCases)
        func `a damaged schedule stops no other`(engine: Engine) async throws {
            try await TestServer.with(engine) { server in
                let application = try server.application()
                let other = try server.application("Butcher")
                for application in [application, other] { _ = try server.platform(of: application) }
                let ids = try [application, application, other].map { application in
                    let body = #"{"message":{"body":"x"},"target":{"platform":"all"},"scheduleIn":2}"#
                    return try server.send("POST", "/v1/push", body, as: application.backEnd).string("schedule_id")
                }
                try server.runInDatabase("UPDATE schedule SET content = '[[' WHERE id = (SELECT min(id) FROM schedule)")
                // Those that are sound are sent, and so wait no more.
                try waitUntil("the others are sent") {
                    let waiting = try server.send("GET", "/v1/schedules/\(ids[1])", as: application.backEnd).status
                    let others = try server.send("GET", "/v1/schedules/\(ids[2])", as: other.backEnd).status
                    return waiting == 404 && others == 404 ? true : nil
                }
                #expect(try server.send("GET", "/v1/schedules", as: application.backEnd).status == 200)
                #expect(try server.send("DELETE", "/v1/schedules/\(ids[0])", as: application.backEnd).status < 500)
            }
        }

        @Test(arguments: Engine.allCases)
        func `audit lines, locations and groups read beside damaged ones`(engine: Engine) async throws {
            try await TestServer.with(engine) { server in
                let application = try server.application()
                let (other, _) = try Self.applicationWithGeofences(server)
                try server.runInDatabase("UPDATE geofence SET tags = '{' WHERE id = (SELECT min(id) FROM geofence)")
                for path in ["/v1/locations", "/v1/location_groups", "/v1/geofence", "/v2/topics"] {
                    #expect(try server.send("GET", path, as: other.backEnd).status == 200, "\(path)")
                    #expect(try server.send("GET", path, as: application.backEnd).status == 200, "\(path)")
                }
                #expect(try server.send("GET", "/admin/v1/audit", as: server.asOperator).status == 200)
            }
        }
    }
}

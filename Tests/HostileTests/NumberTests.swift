import Foundation
import Testing

/// Rows 3 and 7: numbers from outside at the ends of what a number can be.
extension HostileTests {
    @Suite struct NumberTests {
        private static let ends = [
            "9223372036854775807", "-9223372036854775807", "-9223372036854775808", "9223372036854775806",
            "9223372036854775808", "-1", "0",
        ]

        /// Row 3.
        @Test(arguments: Engine.allCases)
        func `no Last-Event-ID ends the process`(engine: Engine) async throws {
            try await TestServer.with(engine) { server in
                let application = try server.application()
                _ = try server.platform(of: application)
                let key = try server.readOnlyKey(of: application)
                let epoch = try Self.epoch(of: application, key, server)
                for number in Self.ends {
                    let stream = try server.connect()
                    let header = "Last-Event-ID: \(epoch)-\(number)"
                    let path = "/admin/v1/apps/\(application.uuid)/events"
                    try stream.send(HTTPText.request("GET", path, as: key, [header]))
                    #expect(stream.answer(hasBody: false)?.status == 200, "\(header)")
                    // It is read from its place before anything is written.
                    #expect(stream.receives("retry: "), "\(header)")
                    try Self.push(application, server)
                    #expect(stream.receives("event: "), "\(header)")
                    #expect(server.process.endedWith == nil, "\(header)")
                }
            }
        }

        /// The prefix of the ids of events in this process.
        private static func epoch(
            of application: TestApplication, _ key: String, _ server: TestServer
        ) throws -> String {
            let stream = try server.connect()
            try stream.send(HTTPText.request("GET", "/admin/v1/apps/\(application.uuid)/events", as: key))
            #expect(stream.answer(hasBody: false)?.status == 200)
            #expect(stream.receives("retry: "))
            try push(application, server)
            #expect(stream.receives("id: "))
            return stream.text(upTo: "-") ?? ""
        }

        private static func push(_ application: TestApplication, _ server: TestServer) throws {
            let body = #"{"message":{"body":"x"},"target":{"platform":"all"}}"#
            #expect(try server.send("POST", "/v1/push", body, as: application.backEnd).status == 200)
        }

        @Test(arguments: Engine.allCases)
        func `no time, id, page or cursor crashes the server`(engine: Engine) async throws {
            try await TestServer.with(engine) { server in
                let application = try server.application()
                let platform = try server.platform(of: application)
                let location = try Self.location(of: application, server)
                for number in Self.ends {
                    for (method, path, body) in Self.requests(number, application, platform, location) {
                        let authorization =
                            path.hasPrefix("/admin")
                            ? server.asOperator
                            : path.hasPrefix("/v1/geofences") || path.hasPrefix("/v1/analytics")
                                ? platform.device : application.backEnd
                        let answer = try server.send(method, path, body, as: authorization)
                        #expect(answer.status < 500, "\(method) \(path) \(body ?? ""): \(answer.status)")
                    }
                }
                #expect(server.process.endedWith == nil)
            }
        }

        private static func location(of application: TestApplication, _ server: TestServer) throws -> Int {
            let body = #"{"name":"shop","lat":1,"long":2,"rad":100}"#
            return try #require(try server.send("POST", "/v1/locations", body, as: application.backEnd)["id"] as? Int)
        }

        private static func requests(
            _ number: String, _ application: TestApplication, _ platform: TestPlatform, _ location: Int
        ) -> [(method: String, path: String, body: String?)] {
            let push = #""message":{"body":"x"},"target":{"platform":"all"}"#
            let geofence = #""locations":[\#(location)],"trigger_type":"enter","data":{}"#
            let cursor = Data(number.utf8).base64EncodedString().replacing("=", with: "")
            let app = "/admin/v1/apps/\(application.uuid)"
            let bodies = [
                ("POST", "/v1/push", #"{\#(push),"scheduleAt":\#(number)}"#),
                ("POST", "/v1/push", #"{\#(push),"scheduleIn":\#(number)}"#),
                ("POST", "/v1/push", #"{\#(push),"expiryTime":\#(number)}"#),
                ("POST", "/v1/push", #"{\#(push),"scheduleIn":9000,"expiryTime":\#(number)}"#),
                ("POST", "/v2/topics", #"{"name":"a\#(number)","expireAt":\#(number)}"#),
                ("POST", "/v2/topics", #"{"name":"b\#(number)","timeToLive":\#(number)}"#),
                ("DELETE", "/v2/topics/batch", #"{"topicIds":[\#(number)]}"#),
                ("POST", "/v1/geofence", #"{\#(geofence),"expiry_time":\#(number)}"#),
                ("POST", "/v1/geofence", #"{\#(geofence),"start_time":\#(number),"expiry_time":9223372036854775807}"#),
                ("POST", "/v1/geofence", #"{"locations":[\#(number)],"trigger_type":"enter","data":{}}"#),
                ("POST", "/v1/analytics", #"{"events":[{"eventTime":"\#(number)","eventType":"x","data":{}}]}"#),
            ].map { ($0.0, $0.1, Optional($0.2)) }
            let lists = ["pushes", "devices", "topics", "schedules", "locations", "location-groups", "geofences"]
            let reads =
                lists.flatMap { ["\(app)/\($0)?cursor=\(number)", "\(app)/\($0)?cursor=\(cursor)"] } + [
                    "\(app)/pushes?limit=\(number)", "/admin/v1/audit?cursor=\(number)",
                    "/admin/v1/platforms/\(platform.uuid)/analytics?from=0001-01-01T00:00:00Z&until=9999-12-31T23:59:59Z&by=hour",
                    "/v1/geofences?timestamp=\(number)", "/v2/registrations?page=\(number)&size=\(number)",
                    "/v2/topics?page=\(number)", "/v2/custom_user_ids?page=\(number)&size=50",
                    "/v1/locations?page=\(number)", "/v1/geofence?page=\(number)", "/v1/geofence/\(number)",
                    "/v1/locations/\(number)", "/v1/location_groups/\(number)", "/v1/schedules/\(number)",
                ]
            return bodies + reads.map { ("GET", $0, nil) }
        }

        /// Row 7.
        @Test(arguments: Engine.allCases)
        func `a long-spelt geofence reads back or is refused`(engine: Engine) async throws {
            try await TestServer.with(engine) { server in
                let application = try server.application()
                let platform = try server.platform(of: application)
                let other = try server.platform(of: try server.application("Butcher"))
                let location = try Self.location(of: application, server)
                var made = 0
                for spelling in ["1e18", "1E+18", "0.1e19", "-0", "1.7976931348623157e308", "5e-324"] {
                    let count = 6_000 / (spelling.utf8.count + 1)
                    let numbers = Array(repeating: spelling, count: count).joined(separator: ",")
                    let body =
                        #"{"locations":[\#(location)],"trigger_type":"enter","data":{"mine":[\#(numbers)]},"expiry_time":4000000000000}"#
                    let answer = try server.send("POST", "/v1/geofence", body, as: application.backEnd)
                    #expect(answer.status == 200 || answer.status == 400, "\(spelling): \(answer.status)")
                    if answer.status == 200 { made += 1 }
                    let list = try server.send("GET", "/v1/geofence", as: application.backEnd)
                    #expect(list["totalGeofences"] as? Int == made, "\(spelling): \(list.status)")
                    for (device, count) in [(platform.device, made), (other.device, 0)] {
                        let feed = try server.send("GET", "/v1/geofences?timestamp=0", as: device)
                        #expect(feed["num"] as? Int == count, "\(spelling): \(feed.status)")
                    }
                }
            }
        }
    }
}

extension RawConnection {
    /// The text before `mark`.
    func text(upTo mark: String) -> String? {
        take(through: Array(mark.utf8)).map { String(decoding: $0.dropLast(mark.utf8.count), as: UTF8.self) }
    }
}

import Testing

/// Row 13: how much one application can have the server keep.
extension HostileTests {
    @Suite struct QuotaTests {
        private static let limit = 10

        /// Each of them is asked for one by one, past the limit of the first application; the second is not concerned.
        @Test(arguments: Engine.allCases, Kind.allCases)
        func `no application exceeds its quota or takes from others`(engine: Engine, kind: Kind) async throws {
            let settings = [kind.setting: "\(Self.limit)", "pcf.verify.custom.user.id": "false"]
            try await TestServer.with(engine, settings) { server in
                let application = try server.application()
                let owner = try kind.prepare(application, server)
                var refusal: HTTPAnswer?
                var taken = 0
                for number in 0..<(2 * Self.limit) where refusal == nil {
                    let answer = try kind.add(number, owner, server)
                    if 200..<300 ~= answer.status { taken += 1 } else { refusal = answer }
                }
                #expect(refusal?.status == 409 || refusal?.status == 429, "\(refusal?.status ?? 0)")
                #expect(refusal?.text.contains(kind.setting) == true, "\(refusal?.text ?? "")")
                #expect(refusal?.status != 429 || refusal?.headers["retry-after"] != nil)
                #expect(taken > 0 && taken <= Self.limit, "\(taken)")
                let other = try kind.prepare(try server.application("Butcher"), server)
                #expect(200..<300 ~= (try kind.add(0, other, server).status))
            }
        }

        /// One request that asks for more than is left gets nothing.
        @Test(arguments: Engine.allCases)
        func `a batch beyond the quota leaves nothing behind`(engine: Engine) async throws {
            try await TestServer.with(engine, ["quota.topics": "\(Self.limit)"]) { server in
                let application = try server.application()
                let platform = try server.platform(of: application, .android)
                let topics = (0..<50).map { #"{"name":"t\#($0)"}"# }.joined(separator: ",")
                let batch = try server.send(
                    "POST", "/v2/topics/batch", #"{"topics":[\#(topics)]}"#, as: application.backEnd)
                #expect(batch.status == 409 || batch.status == 429, "\(batch.status)")
                let tags = (0..<50).map { #""t\#($0)""# }.joined(separator: ",")
                let registration = try server.send(
                    "POST", "/v1/registration", #"{"registration_token":"a-token","tags":[\#(tags)]}"#,
                    as: platform.device)
                #expect(registration.status == 409 || registration.status == 429, "\(registration.status)")
                let left = try server.send("GET", "/v2/topics", as: application.backEnd)
                #expect(left["totalTopics"] as? Int == 0, "\(left.text)")
            }
        }

        /// Content for a key that no platform has counts too: nothing else limits it.
        @Test(arguments: Engine.allCases)
        func `no application stores more content than its quota`(engine: Engine) async throws {
            try await TestServer.with(engine, ["quota.content.mib": "1"]) { server in
                let application = try server.application()
                _ = try server.platform(of: application)
                let content = String(repeating: "x", count: 60_000)
                for scheduled in ["", #","scheduleIn":86400"#] {
                    let body =
                        #"{"message":{"custom":{"mine":"\#(content)"}},"target":{"platform":"all"}\#(scheduled)}"#
                    let statuses = try (0..<20).map { _ in
                        try server.send("POST", "/v1/push", body, as: application.backEnd).status
                    }
                    #expect(statuses.last == 409 || statuses.last == 429, "\(statuses)")
                }
                let other = try server.application("Butcher")
                _ = try server.platform(of: other)
                let push = #"{"message":{"body":"x"},"target":{"platform":"all"}}"#
                #expect(try server.send("POST", "/v1/push", push, as: other.backEnd).status == 200)
            }
        }
    }
}

/// Kinds of things that an application may have many of.
enum Kind: String, CaseIterable, Sendable {
    case devices, topics, userDevices = "user.devices", locations, locationGroups = "location.groups", geofences,
        schedules, idempotencyKeys = "idempotency.keys"

    var setting: String { "quota.\(rawValue)" }

    struct Owner {
        let application: TestApplication
        let platform: TestPlatform
        let location: Int
    }

    func prepare(_ application: TestApplication, _ server: TestServer) throws -> Owner {
        var location = 0
        if self == .geofences || self == .locationGroups {
            let body = #"{"name":"shop","lat":1,"long":2,"rad":100}"#
            location = try server.send("POST", "/v1/locations", body, as: application.backEnd)["id"] as? Int ?? 0
        }
        return Owner(
            application: application, platform: try server.platform(of: application, .android), location: location)
    }

    func add(_ number: Int, _ owner: Owner, _ server: TestServer) throws -> HTTPAnswer {
        let backEnd = owner.application.backEnd
        switch self {
        case .devices, .userDevices:
            let user = self == .userDevices ? #","custom_user_id":"emma""# : ""
            return try server.send(
                "POST", "/v1/registration", #"{"registration_token":"token\#(number)"\#(user)}"#,
                as: owner.platform.device)
        case .topics: return try server.send("POST", "/v2/topics", #"{"name":"t\#(number)"}"#, as: backEnd)
        case .locations:
            let body = #"{"name":"shop \#(number)","lat":1,"long":2,"rad":100}"#
            return try server.send("POST", "/v1/locations", body, as: backEnd)
        case .locationGroups:
            let body = #"{"name":"shops \#(number)","description":"","locations":[\#(owner.location)]}"#
            return try server.send("POST", "/v1/location_groups", body, as: backEnd)
        case .geofences:
            let body =
                #"{"locations":[\#(owner.location)],"trigger_type":"enter","data":{},"expiry_time":4000000000000}"#
            return try server.send("POST", "/v1/geofence", body, as: backEnd)
        case .schedules:
            let body = #"{"message":{"body":"x"},"target":{"platform":"all"},"scheduleIn":86400}"#
            return try server.send("POST", "/v1/push", body, as: backEnd)
        case .idempotencyKeys:
            let body = #"{"message":{"body":"x"},"target":{"platform":"all"}}"#
            return try server.send("POST", "/v1/push", body, as: backEnd, ["Idempotency-Key: key\(number)"])
        }
    }
}

import BelfryService
import Testing

/// Requests of the SDKs besides registrations: geofences and analytics. Source: their own request classes.
@Suite struct DeviceFeedTests {
    private static let locations = [
        #"{"name":"Bakery","lat":48.2,"long":"16.37","rad":"100"}"#, #"{"name":"Mill","lat":"-0.5","long":0,"rad":10}"#,
    ]

    private static func geofence(_ platform: String, _ data: String) -> String {
        #"{"tags":["Bread"],"locations":["1",2],"trigger_type":"enter","start_time":0,"#
            + #""expiry_time":"1600000000000","platform":"\#(platform)","data":\#(data)}"#
    }

    private func open(
        _ geofence: String, _ play: @escaping @Sendable (RecordedServer) async throws -> Void
    ) async throws {
        try await RecordedServer.open { server in
            for location in Self.locations {
                try await server.exchange(
                    ExampleRequest.sent("POST /v1/locations", server.sender, location), 200, .location)
            }
            try await server.exchange(ExampleRequest.sent("POST /v1/geofence", server.sender, geofence), 200, .geofence)
            try await play(server)
        }
    }

    @Test func `an FCM SDK finds its data under androidFcm, as strings`() async throws {
        let data = #"{"android":{"message":"Fresh bread","count":3,"hot":true}}"#
        try await open(Self.geofence("all", data)) { server in
            let update = try await server.exchange(
                AndroidSDKTests.asked(
                    "GET /v1/geofences?timestamp=0&device_uuid=3b0f2e3c-9d3b-4f3e-8a7e-0f4b8a3f2d10&platform=android-fcm",
                    try server.device(.androidFCM)), 200, .geofenceUpdate)
            #expect(update?["num"] == .integer(1))
            let geofence = update?["geofences"]?[0]
            let flat = StrictJSON.object([
                "message": .string("Fresh bread"), "count": .string("3"), "hot": .string("true"),
            ])
            #expect(geofence?["data"]?["androidFcm"] == flat)
            #expect(geofence?["locations"]?[0]?["lat"] == .string("48.2"))
            #expect(geofence?["tags"] == .array([.string("bread")]))
            let since = try #require(update?["last_modified"]?.integer)
            #expect(since > 0)
            let later = try await server.exchange(
                AndroidSDKTests.asked("GET /v1/geofences?timestamp=\(since)", try server.device(.androidFCM)), 200,
                .geofenceUpdate)
            #expect(later?["num"] == .integer(0))
            #expect(later?["last_modified"] != nil, "without it the next fetch is a full one")
        }
    }

    @Test func `an iOS SDK finds both names of the badge`() async throws {
        let data = #"{"ios":{"alertBody":"Fresh bread","applicationBadgeNumber":3,"userInfo":{"deep":{"er":1}}}}"#
        try await open(Self.geofence("ios", data)) { server in
            let update = try await server.exchange(
                IOSSDKTests.asked(
                    "GET /v1/geofences?timestamp=0&device_uuid=3b0f2e3c-9d3b-4f3e-8a7e-0f4b8a3f2d10&platform=ios",
                    try server.device(.ios)), 200, .geofenceUpdate)
            let ios = update?["geofences"]?[0]?["data"]?["ios"]
            #expect(ios?["applicationBadgeNumber"] == .integer(3))
            #expect(ios?["applicationIconBadgeNumber"] == .integer(3))
            #expect(ios?["userInfo"]?["deep"]?["er"] == .integer(1))
        }
    }

    @Test func `a list without geofences still says when it was made`() async throws {
        try await RecordedServer.open { server in
            for user in [try server.device(.ios), try server.device(.androidFCM)] {
                let update = try await server.exchange(
                    AndroidSDKTests.asked("GET //v1/geofences?timestamp=0", user), 200, .geofenceUpdate)
                #expect(update?["geofences"] == .array([]))
            }
            try await server.exchange(AndroidSDKTests.asked("GET /v1/geofences", server.sender), 401, .error)
        }
    }

    /// Devices drop the first four without a word; the last two spoil the whole list for an Android SDK.
    @Test(arguments: [
        ("/v1/locations", #"{"name":"x","lat":"90.1","long":"0","rad":100}"#),
        ("/v1/locations", #"{"name":"x","lat":"0","long":"-180.5","rad":100}"#),
        ("/v1/locations", #"{"name":"x","lat":"0","long":"0","rad":9.9}"#),
        ("/v1/geofence", geofence("all", "{}").replacing("enter", with: "ENTERED")),
        ("/v1/locations", #"{"name":"x","lat":"","long":"0","rad":100}"#),
        ("/v1/geofence", geofence("android", #"{"android":"text"}"#)),
    ])
    func `a value that devices cannot use is a 400`(path: String, body: String) async throws {
        try await RecordedServer.open { server in
            for location in Self.locations {
                try await server.exchange(
                    ExampleRequest.sent("POST /v1/locations", server.sender, location), 200, .location)
            }
            try await server.exchange(ExampleRequest.sent("POST \(path)", server.sender, body), 400, .error)
        }
    }

    @Test func `a location in use is kept and names its geofence`() async throws {
        try await open(Self.geofence("all", #"{"android":{"message":"x"}}"#)) { server in
            let answer = try await server.exchange(
                ExampleRequest.asked("DELETE /v1/locations/1", server.sender), 409, .error)
            #expect(answer?["message"]?.string?.contains("1") == true)
        }
    }

    // MARK: Analytics

    @Test(arguments: [
        (PlatformKind.androidFCM, "android", "1500000000"), (.ios, "ios", "1500000000123"),
        (.ios, "ios", "1500000000.123456"),
    ])
    func `events are taken in seconds and in milliseconds`(
        kind: PlatformKind, type: String, time: String
    ) async throws {
        try await RecordedServer.open { server in
            let body =
                #"{"events":[{"receiptId":"r-1","eventType":"pcf_push_event_type_push_notification_received","#
                + #""eventTime":"\#(time)","deviceUuid":"dev-uuid","sdkVersion":"2.0.0","platformType":"\#(type)","#
                + #""platformUuid":"plat-uuid"},{"eventType":"pcf_push_event_type_geofence_location_triggered","#
                + #""eventTime":"\#(time)","deviceUuid":"dev-uuid","geofenceId":"7","locationId":"9"}]}"#
            let answer = try await server.wire.exchange(
                AndroidSDKTests.sent("POST /v1/analytics", try server.device(kind), body))
            #expect((200...299).contains(answer.status), "\(answer)")
        }
    }

    /// The device sends a batch that failed again and again.
    @Test(arguments: [
        #"{"events":[]}"#, #"{"events":[{}]}"#, #"{"events":[null,7,"x",[]]}"#,
        #"{"events":[{"eventType":"of_the_future","eventTime":"soon","receiptId":7}]}"#,
    ])
    func `an event that cannot be used never fails its batch`(body: String) async throws {
        try await RecordedServer.open { server in
            let answer = try await server.wire.exchange(
                IOSSDKTests.sent("POST /v1/analytics", try server.device(.ios), body))
            #expect((200...299).contains(answer.status), "\(answer)")
        }
    }
}

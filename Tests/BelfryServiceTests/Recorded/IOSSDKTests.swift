import BelfryService
import Testing

/// Bytes that the iOS SDK writes to the socket. Source: PCFPushURLConnection.m of push-ios.
@Suite struct IOSSDKTests {
    static let token = "B50EDAC575BFBA07DD019B28B2AF7189A3DDDA17C806EF14A9ABBFD00533F67E"

    static func sent(_ line: String, _ credentials: String, _ body: String) -> String {
        request(
            "\(line) HTTP/1.1", "Host: push.example.com", "Content-Type: application/json",
            "Authorization: Basic  \(credentials)", "Accept: */*", "Accept-Language: en-us",
            "Accept-Encoding: gzip, deflate", "Content-Length: \(body.utf8.count)",
            "User-Agent: PCFPushSample/1 CFNetwork/808.1.4 Darwin/16.1.0", "Connection: keep-alive", body: body)
    }

    static func asked(_ line: String, _ credentials: String?) -> String {
        request(
            "\(line) HTTP/1.1", "Host: push.example.com",
            credentials.map { "Authorization: Basic  \($0)" } ?? "X-App-Header: one that apps may add", "Accept: */*",
            "Accept-Language: en-us", "Accept-Encoding: gzip, deflate",
            "User-Agent: PCFPushSample/1 CFNetwork/808.1.4 Darwin/16.1.0", "Connection: keep-alive")
    }

    static func post(_ token: String = token, _ more: String = "") -> String {
        #"{"registration_token":"\#(token)","os":"ios","device_manufacturer":"Apple","device_model":"iPhone 7","#
            + #""os_version":"10.1.1"\#(more)}"#
    }

    @Test func `an SDK registers bare, then with everything it may say`() async throws {
        try await RecordedServer.open { server in
            let me = try server.device(.ios)
            let bare = try await server.exchange(Self.sent("POST /v1/registration", me, Self.post()), 200, .device)
            #expect(bare?["registration_token"]?.string?.lowercased() == Self.token.lowercased())
            #expect(bare?["device_alias"] == .null)
            #expect(bare?["custom_user_id"] == .null)
            #expect(bare?["tags"] == .array([]))
            let signed =
                "eyJhbGciOiJIUzI1NiJ9.eyJjdXN0b21fdXNlcl9pZCI6ImJvbmQwMDcifQ."
                + "I_ebQ-2NZjzTRWE-nuwgZfGNtz_4m6Bh9TlLFs06GU4"
            let full = try await server.exchange(
                Self.sent(
                    "POST /v1/registration", me,
                    Self.post(
                        Self.token.lowercased(),
                        #","device_alias":"John's iPhone","custom_user_id":"\#(signed)","tags":["a","b"]"#)), 200,
                .device)
            #expect(full?["device_uuid"] == bare?["device_uuid"], "one token in two cases is one device")
            #expect(full?["custom_user_id"] == .string("bond007"))
            #expect(full?["device_alias"] == .string("John's iPhone"))
        }
    }

    /// `custom_user_id` is always there and `""` clears it; `tags` and each of its arrays only when something changed.
    @Test(arguments: ["", #","tags":{"subscribe":["new"]}"#, #","tags":{"unsubscribe":["old"]}"#])
    func `an update says only what changes`(tags: String) async throws {
        try await RecordedServer.open { server in
            let me = try server.device(.ios)
            let created = try await server.exchange(
                Self.sent("POST /v1/registration", me, Self.post(Self.token, #","tags":["old"]"#)), 200, .device)
            let uuid = try #require(created?["device_uuid"]?.string)
            let updated = try await server.exchange(
                Self.sent(
                    "PUT /v1/registration/\(uuid)", me, Self.post(Self.token, #","custom_user_id":""\#(tags)"#)), 200,
                .device)
            let expected = tags.isEmpty ? ["old"] : tags.contains("unsubscribe") ? [] : ["new", "old"]
            #expect(updated?["tags"] == .array(expected.map { .object(["text": .string($0)]) }))
            #expect(updated?["device_uuid"] == .string(uuid))
        }
    }

    /// The SDK repeats a PUT that failed at every launch, for ever, and never registers anew.
    @Test func `an update never fails for what the SDK cannot change`() async throws {
        try await RecordedServer.open { server in
            let me = try server.device(.ios)
            let put = Self.post(Self.token, #","custom_user_id":"""#)
            let unknown = try await server.exchange(
                Self.sent("PUT /v1/registration/9f0e6a4a-0000-4000-8000-000000000000", me, put), 200, .device)
            let uuid = try #require(unknown?["device_uuid"]?.string)
            try await server.exchange(Self.asked("DELETE /v1/registration/\(uuid)", me), 204, nil)
            let back = try await server.exchange(Self.sent("PUT /v1/registration/\(uuid)", me, put), 200, .device)
            #expect(back?["active"] == .bool(true))
            #expect(back?["device_uuid"] == .string(uuid))
            let foreign = try await server.exchange(
                Self.sent("PUT /v1/registration/\(uuid)", try server.device(.android), put), 200, .device)
            #expect(foreign?["device_uuid"] != .string(uuid), "the platform changed at the same time")
        }
    }

    @Test func `an unknown device is unregistered without complaint`() async throws {
        try await RecordedServer.open { server in
            try await server.exchange(
                Self.asked("DELETE /v1/registration/9f0e6a4a-0000-4000-8000-000000000000", try server.device(.ios)),
                204,
                nil)
        }
    }

    @Test func `the version is asked for without credentials`() async throws {
        try await RecordedServer.open { server in
            try await server.exchange(Self.asked("GET /v1/version", nil), 200, .version)
        }
    }
}

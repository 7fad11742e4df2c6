import BelfryService
import BelfryTesting
import FoundationEssentials
import Testing

/// Bytes that the Android SDKs write to the socket. Source: their own request classes, run against a recording server.
@Suite struct AndroidSDKTests {
    /// `HttpURLConnection` with `setChunkedStreamingMode(0)`, two spaces behind `Basic`, and the connection kept.
    static func sent(_ line: String, _ credentials: String, _ body: String...) -> String {
        request(
            "\(line) HTTP/1.1", "Content-Type: application/json", "Authorization: Basic  \(credentials)",
            "User-Agent: Dalvik/2.1.0 (Linux; U; Android 7.1.2; Nexus 5X Build/N2G48C)", "Host: push.example.com",
            "Connection: Keep-Alive", "Accept-Encoding: gzip", "Transfer-Encoding: chunked",
            body: body.map { "\(String($0.utf8.count, radix: 16))\r\n\($0)\r\n" }.joined() + "0\r\n\r\n")
    }

    static func asked(_ line: String, _ credentials: String?) -> String {
        request(
            "\(line) HTTP/1.1",
            credentials.map { "Authorization: Basic  \($0)" } ?? "X-App-Header: one that apps may add",
            "User-Agent: Dalvik/2.1.0 (Linux; U; Android 7.1.2; Nexus 5X Build/N2G48C)", "Host: push.example.com",
            "Connection: Keep-Alive", "Accept-Encoding: gzip")
    }

    static func post(os: String, token: String, tags: String = "[]", alias: String = "") -> String {
        #"{"tags":\#(tags),"device_alias":"\#(alias)","device_manufacturer":"LGE","device_model":"Nexus 5X","#
            + #""os":"\#(os)","os_version":"7.1.2","registration_token":"\#(token)","custom_user_id":""}"#
    }

    static func put(token: String, subscribe: String, unsubscribe: String) -> String {
        #"{"tags":{"subscribe":\#(subscribe),"unsubscribe":\#(unsubscribe)},"device_alias":"My Phone","#
            + #""device_manufacturer":"LGE","device_model":"Nexus 5X","os_version":"7.1.2","#
            + #""registration_token":"\#(token)","custom_user_id":""}"#
    }

    @Test(arguments: [
        (PlatformKind.android, "android"), (.androidFCM, "android-fcm"), (.androidBaidu, "android-baidu"),
    ])
    func `an SDK registers, updates and unregisters on one connection`(kind: PlatformKind, os: String) async throws {
        try await RecordedServer.open { server in
            let me = try server.device(kind)
            let created = try await server.exchange(
                Self.sent(
                    "POST /v1/registration", me, Self.post(os: os, token: "t-1", tags: #"["Beta","alpha"]"#)),
                200, .device)
            let uuid = try #require(created?["device_uuid"]?.string)
            let isOld = server.store.secrets.naming.device(of: try #require(UUID(uuidString: uuid))) == nil
            #expect(isOld == server.isMovedIn, "a device that moved in goes on by its old UUID")
            #expect(created?["os"] == .string(os))
            #expect(created?["active"] == .bool(true))
            #expect(
                created?["tags"] == .array([.object(["text": .string("alpha")]), .object(["text": .string("beta")])]))
            let updated = try await server.exchange(
                Self.sent(
                    "PUT /v1/registration/\(uuid)", me,
                    Self.put(token: "t-1", subscribe: #"["new"]"#, unsubscribe: #"["beta"]"#)),
                200, .device)
            #expect(updated?["device_uuid"] == .string(uuid))
            #expect(updated?["os"] == .string(os), "PUT has no os, and does not take it away")
            #expect(updated?["device_alias"] == .string("My Phone"))
            #expect(
                updated?["tags"] == .array([.object(["text": .string("alpha")]), .object(["text": .string("new")])]))
            try await server.exchange(Self.asked("DELETE /v1/registration/\(uuid)", me), 204, nil)
            try await server.exchange(Self.asked("DELETE /v1/registration/\(uuid)", me), 204, nil)
        }
    }

    @Test func `doubled slashes and chunked bodies are accepted`() async throws {
        try await RecordedServer.open { server in
            let me = try server.device(.androidFCM)
            let body = Self.post(os: "android-fcm", token: "fcm-token-1")
            let created = try await server.exchange(
                Self.sent("POST //v1/registration", me, String(body.prefix(1)), String(body.dropFirst())), 200, .device)
            let uuid = try #require(created?["device_uuid"]?.string)
            try await server.exchange(
                Self.sent(
                    "PUT //v1/registration/\(uuid)", me,
                    Self.put(token: "fcm-token-1", subscribe: "[]", unsubscribe: "[]")),
                200, .device)
        }
    }

    /// A failed PUT wipes what the SDK has saved, so that it comes with a POST of the same token.
    @Test func `an SDK that forgot its UUID gets it back`() async throws {
        try await RecordedServer.open { server in
            let me = try server.device(.androidFCM)
            let post = Self.sent("POST /v1/registration", me, Self.post(os: "android-fcm", token: "t"))
            let first = try await server.exchange(post, 200, .device)
            let second = try await server.exchange(post, 200, .device)
            #expect(first?["device_uuid"] == second?["device_uuid"])
            let unknown = "3b0f2e3c-9d3b-4f3e-8a7e-0f4b8a3f2d10"
            let third = try await server.exchange(
                Self.sent(
                    "PUT /v1/registration/\(unknown)", me, Self.put(token: "t", subscribe: "[]", unsubscribe: "[]")),
                200, .device)
            #expect(third?["device_uuid"] == first?["device_uuid"])
        }
    }

    @Test func `the version is asked for without credentials`() async throws {
        try await RecordedServer.open { server in
            let answer = try await server.exchange(Self.asked("GET /v1/version", nil), 200, .version)
            let version = try #require(answer?["version"]?.string).split(separator: ".").compactMap { Int($0) }
            #expect(version.count == 3)
            #expect([1, 3, 2].lexicographicallyPrecedes(version))
        }
    }

    @Test func `a wrong secret is challenged on a kept connection`() async throws {
        try await RecordedServer.open { server in
            let body = Self.post(os: "android-fcm", token: "t")
            try await server.exchange(Self.sent("POST /v1/registration", server.sender, body), 401, .error)
            try await server.exchange(
                Self.sent("POST /v1/registration", try server.device(.androidFCM), body), 200, .device)
        }
    }
}

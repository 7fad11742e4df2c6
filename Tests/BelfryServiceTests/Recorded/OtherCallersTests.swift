import BelfryService
import Testing

/// Bytes that the Windows SDK, the sample senders and scripts with curl write to the socket.
@Suite struct OtherCallersTests {
    private func windows(_ line: String, _ credentials: String, _ body: String) -> String {
        request(
            "\(line) HTTP/1.1", "Accept: application/json", "Content-Type: application/json; charset=UTF-8",
            "Authorization: Basic \(credentials)", "Host: push.example.com", "Content-Length: \(body.utf8.count)",
            "Connection: Keep-Alive", body: body)
    }

    @Test(arguments: [
        (PlatformKind.windows8, "windows8", "https://db3.notify.windows.com/?token=AgYAAADs42685sa5"),
        (.windowsPhone, "windowsPhone", "http://sn1.notify.live.net/throttledthirdparty/01.00/AAF"),
    ])
    func `a Windows SDK registers, changes its tags and unregisters`(
        kind: PlatformKind, os: String, channel: String
    ) async throws {
        try await RecordedServer.open { server in
            let me = try server.device(kind)
            let body = #"{"os":"\#(os)","registration_token":"\#(channel)","tags":["a"]}"#
            let created = try await server.exchange(windows("POST /v1/registration", me, body), 200, .device)
            #expect(created?["registration_token"] == .string(channel))
            let uuid = try #require(created?["device_uuid"]?.string)
            let change =
                #"{"os":"\#(os)","registration_token":"\#(channel)","tags":{"subscribe":["b"],"unsubscribe":["a"]}}"#
            let updated = try await server.exchange(windows("PUT /v1/registration/\(uuid)", me, change), 200, .device)
            #expect(updated?["tags"] == .array([.object(["text": .string("b")])]))
            try await server.exchange(windows("DELETE /v1/registration/\(uuid)", me, ""), 204, nil)
        }
    }

    private func sender(_ body: String, _ authorization: String, type: String) -> String {
        request(
            "POST /v1/push HTTP/1.1", "Host: push.example.com", "Authorization: \(authorization)",
            "Content-Type: \(type)", "Accept: */*", "Content-Length: \(body.utf8.count)", body: body)
    }

    @Test(arguments: [
        #"{"message":{"body":"Hi"},"target":{"tags":["a"],"platform":"android"}}"#,
        #"{"message":{"body":"Hi"},"target":{"custom_user_ids":["bond007"]}}"#,
        #"{"message":{"body":"Hi"},"target":{"platform":"ios"}}"#,
        #"{"message":{"body":"Hi"},"target":{"platform":"ios"},"scheduleAt":"1500000000000"}"#,
        #"{"message":{"body":"Hi"},"target":{"platforms":["ios"]},"scheduleAt":1345852800000,"scheduleIn":0}"#,
        #"{"message":{"body":"Hi"},"target":{"platform":"","topics":["a"],"platforms":[],"devices":[]},"scheduleIn":null}"#,
        #"{"message":{"custom":{"android":{"pcf.push.heartbeat.sentAt":1500000000}}},"target":{"topics":["pcf.push.heartbeat"]}}"#,
        #"{"message":{"custom":{"ios":{"content-available":true,"extra":{"pivotal.push.geofence_update_available":true}}}},"target":{"platform":"ios"}}"#,
    ])
    func `a sample sender's push gets a 200 with its receipt`(body: String) async throws {
        try await RecordedServer.open { server in
            let key = server.sender
            for (authorization, type) in [
                ("Basic  \(key)", "application/json;charset=UTF-8"), ("Basic \(key)", "application/json"),
                ("basic \(key)", "application/x-www-form-urlencoded"),
            ] {
                try await server.exchange(sender(body, authorization, type: type), 200, .receipt)
            }
        }
    }

    @Test(arguments: [
        (
            #"{"message":{"body":"Hi"},"target":{"platform":"ios"},"scheduleAt":1500007200000,"scheduleIn":7200}"#,
            "scheduleAt"
        ),
        (#"{"message":{},"target":{"platform":"ios"}}"#, "message"), (#"{"message":{"body":"Hi"}}"#, "target"),
        (#"{"message":{"body":"Hi"},"target":{"platforms":["platform1"]}}"#, "target.platforms[0]"),
        ("", "body"), ("[]", "body"), (#"{"message":"#, "body"),
    ])
    func `an invalid registration field is a 400 that names it`(body: String, field: String) async throws {
        try await RecordedServer.open { server in
            let answer = try await server.exchange(
                sender(body, "Basic \(server.sender)", type: "application/json"), 400, .error)
            #expect(answer?["message"]?.string?.hasPrefix(field) == true, "\(String(describing: answer))")
            #expect(answer?["path"] == .string("/v1/push"))
        }
    }

    @Test func `a back end reads a device and their count`() async throws {
        try await RecordedServer.open { server in
            let me = try server.device(.ios)
            let created = try await server.exchange(
                IOSSDKTests.sent("POST /v1/registration/", me, IOSSDKTests.post()), 200, .device)
            let uuid = try #require(created?["device_uuid"]?.string)
            let shown = try await server.exchange(
                request("GET /v1/registration/\(uuid) HTTP/1.1", "Host: x", "Authorization: Basic \(me)"), 200, .device)
            #expect(shown == created)
            for path in ["/v1/registration/count/", "/v1/registration/count"] {
                let count = try await server.exchange(
                    request("GET \(path) HTTP/1.1", "Host: x", "Authorization: Basic \(me)"), 200, .integer)
                #expect(count == .integer(1))
            }
        }
    }
}

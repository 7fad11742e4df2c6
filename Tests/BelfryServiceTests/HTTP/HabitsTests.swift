import BelfryTesting
import FoundationEssentials
import HummingbirdTesting
import Testing

@testable import BelfryService

/// Exchanges byte by byte, as the SDKs and senders of the original service write them to the socket.
@Suite struct HabitsTests {
    static let token = "B50EDAC575BFBA07DD019B28B2AF7189A3DDDA17C806EF14A9ABBFD00533F67E"

    /// `method path` and what each has to be answered with.
    private func exchange(_ server: TestServer, _ requests: [String]) async throws -> [String] {
        try await server.app().test(.live) { client in
            let port = try #require(client.port)
            var answers: [String] = []
            for request in requests { answers.append(try await RawClient.exchange(request, port: port)) }
            return answers
        }
    }

    private func credentials(_ uuid: UUID, _ secret: String) -> String {
        Data("\(uuid.uuidString.lowercased()):\(secret)".utf8).base64EncodedString()
    }

    private func lines(_ lines: String...) -> String { lines.joined(separator: "\r\n") }

    private func body(of answer: String) throws -> JSONValue {
        let body = try #require(answer.components(behind: "\r\n\r\n"))
        return try JSONValue(json: body.utf8)
    }

    @Test func `an Android SDK sends chunked bodies to a doubled slash`() async throws {
        let server = try await TestServer()
        let post = #"{"tags":[],"device_alias":"","device_manufacturer":"LGE","device_model":"Nexus 5X","#
        let rest = #""os":"android-fcm","os_version":"7.1.2","registration_token":"fcm-token-1","custom_user_id":""}"#
        let head = { (line: String) in
            lines(
                line, "Content-Type: application/json",
                "Authorization: Basic  \(credentials(server.fcm.uuid, TestServer.secret))",
                "User-Agent: Dalvik/2.1.0 (Linux; U; Android 7.1.2)", "Host: push.example.com", "Connection: close",
                "Accept-Encoding: gzip", "Transfer-Encoding: chunked", "", "")
        }
        let chunks = { (parts: [String]) in
            parts.map { "\(String($0.utf8.count, radix: 16))\r\n\($0)\r\n" }.joined() + "0\r\n\r\n"
        }
        let first = try await exchange(server, [head("POST //v1/registration HTTP/1.1") + chunks([post, rest])])[0]
        #expect(first.hasPrefix("HTTP/1.1 200 OK\r\n"), "\(first)")
        let uuid = try #require(try body(of: first)["device_uuid"]?.stringValue)
        let put =
            #"{"tags":{"subscribe":["new"],"unsubscribe":[]},"device_alias":"","device_manufacturer":"LGE","#
            + #""device_model":"Nexus 5X","os_version":"7.1.2","registration_token":"fcm-token-1","custom_user_id":""}"#
        let second = try await exchange(server, [head("PUT //v1/registration/\(uuid) HTTP/1.1") + chunks([put])])[0]
        #expect(second.hasPrefix("HTTP/1.1 200 OK\r\n"), "\(second)")
        #expect(try body(of: second)["device_uuid"] == .string(uuid))
        #expect(try body(of: second)["tags"] == .array([.object(["text": .string("new")])]))
        #expect(try body(of: second)["os"] == .string("android-fcm"))
    }

    @Test func `an iOS SDK's POST, PUT without tags, GET and DELETE`() async throws {
        let server = try await TestServer()
        let authorization = "Authorization: Basic  \(credentials(server.ios.uuid, TestServer.secret))"
        let post =
            #"{"registration_token":"\#(Self.token)","os":"ios","os_version":"9.3","#
            + #""device_manufacturer":"Apple","device_model":"iPhone 7"}"#
        let first = try await exchange(
            server,
            [
                lines(
                    "POST /v1/registration HTTP/1.1", "Host: push.example.com", "Content-Type: application/json",
                    authorization, "Content-Length: \(post.utf8.count)", "Connection: close", "", post)
            ])[0]
        let uuid = try #require(try body(of: first)["device_uuid"]?.stringValue)
        #expect(try body(of: first)["registration_token"] == .string(Self.token.lowercased()))
        let put =
            #"{"registration_token":"\#(Self.token.lowercased())","os":"ios","os_version":"10.0","custom_user_id":""}"#
        let answers = try await exchange(
            server,
            [
                lines(
                    "PUT /v1/registration/\(uuid) HTTP/1.1", "Host: push.example.com", "Content-Type: application/json",
                    authorization, "Content-Length: \(put.utf8.count)", "Connection: close", "", put),
                lines(
                    "GET /v1/registration/\(uuid)/ HTTP/1.1", "Host: x", authorization, "Connection: close", "", ""),
                lines("GET /v1/registration/count/ HTTP/1.1", "Host: x", authorization, "Connection: close", "", ""),
                lines(
                    "DELETE /v1/registration/\(uuid) HTTP/1.1", "Host: x", authorization, "Connection: close", "", ""),
            ])
        #expect(try body(of: answers[0])["device_uuid"] == .string(uuid))
        #expect(try body(of: answers[1])["os_version"] == .string("10.0"))
        #expect(answers[2].hasSuffix("\r\n\r\n1"))
        #expect(answers[3].hasPrefix("HTTP/1.1 204 No Content\r\n"))
        #expect(answers[3].hasSuffix("\r\n\r\n"))
        #expect(answers.allSatisfy { !$0.contains("Location:") })
    }

    @Test func `a Windows SDK's POST`() async throws {
        let server = try await TestServer()
        let windows = try await server.store.create(NewPlatform.test(.windows8, of: server.application))
        let post =
            #"{"registration_token":"https://db3.notify.windows.com/?token=AgYAAADs42685sa5","os":"windows8","tags":null}"#
        let answer = try await exchange(
            server,
            [
                lines(
                    "POST /v1/registration HTTP/1.1", "Host: x", "Accept: application/json",
                    "Content-Type: application/json; charset=UTF-8",
                    "Authorization: Basic \(credentials(windows.uuid, TestServer.secret))",
                    "Content-Length: \(post.utf8.count)", "Connection: close", "", post)
            ])[0]
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"), "\(answer)")
        #expect(
            try body(of: answer)["registration_token"]
                == .string("https://db3.notify.windows.com/?token=AgYAAADs42685sa5"))
    }

    @Test func `a push from the 1.9 samples is accepted`() async throws {
        let server = try await TestServer()
        let pushes = [
            #"{"message":{"body":"Hi"},"target":{"tags":["a"],"platform":"android"},"scheduleAt":"1500000000000"}"#,
            #"{"message":{"body":"Hi"},"target":{"custom_user_ids":["bond007"]},"scheduleAt":1345852800000,"scheduleIn":0}"#,
            #"{"message":{"custom":{"android":{"pcf.push.heartbeat.sentAt":1}}},"target":{"topics":["pcf.push.heartbeat"]}}"#,
        ]
        let answers = try await exchange(
            server,
            pushes.map { push in
                lines(
                    "POST /v1/push/ HTTP/1.1", "Host: x", "Content-Type: application/json;charset=UTF-8",
                    "Authorization: Basic  \(credentials(server.application.uuid, TestServer.apiKey))",
                    "Content-Length: \(push.utf8.count)", "Connection: close", "", push)
            })
        for answer in answers {
            #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"), "\(answer)")
            guard case .object(let members) = try body(of: answer) else { return }
            #expect(Array(members.keys) == ["receipt_id"])
        }
    }

    @Test func `the version needs no credentials, and a stranger is challenged`() async throws {
        let answers = try await exchange(
            try await TestServer(),
            [
                lines("GET /v1/version HTTP/1.1", "Host: x", "Connection: close", "", ""),
                lines("GET //v1/version/ HTTP/1.1", "Host: x", "Connection: close", "", ""),
                lines("POST /v1/registration HTTP/1.1", "Host: x", "Connection: close", "Content-Length: 2", "", "{}"),
                lines("NONSENSE", "", ""),
            ])
        #expect(answers[0].hasSuffix(#"{"version":"1.9.0"}"#))
        #expect(answers[1].hasSuffix(#"{"version":"1.9.0"}"#))
        #expect(answers[2].hasPrefix("HTTP/1.1 401 Unauthorized\r\n"))
        #expect(answers[2].contains(#"WWW-Authenticate: Basic realm="Belfry""#), "\(answers[2])")
        #expect(answers[3].hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
    }

    @Test func `a chunked body over the limit is a 413`() async throws {
        var server = try await TestServer()
        server.options.bodyBytesMax = 64
        let chunk = String(repeating: " ", count: 128)
        let answer = try await exchange(
            server,
            [
                lines(
                    "POST /v1/registration HTTP/1.1", "Host: x",
                    "Authorization: Basic \(credentials(server.ios.uuid, TestServer.secret))", "Connection: close",
                    "Transfer-Encoding: chunked", "", "80", chunk, "0", "", "")
            ])[0]
        #expect(answer.hasPrefix("HTTP/1.1 413 "), "\(answer)")
        #expect(try body(of: answer)["message"] == .string("body is over the limit of 64 bytes"))
    }
}

extension String {
    fileprivate func components(behind separator: String) -> String? {
        firstRange(of: separator).map { String(self[$0.upperBound...]) }
    }
}

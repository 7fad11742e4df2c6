import BelfryServer
import BelfryService
import BelfrySimulators
import BelfryTesting
import Foundation
import Logging
import Testing

/// The real server against callers who cannot be trusted. No answer is a 500, and no secret reaches the log.
extension CommandTests {
    @Suite struct BadInputTests {}
}

// MARK: - Bodies

extension CommandTests.BadInputTests {
    @Test func `an invalid push is refused with its fault`() async throws {
        try await TestServer.open { server in
            _ = try await server.crowd(3, topics: ["town"])
            for body in Self.noPushes {
                let reply = try await server.sender.send("POST", "/v1/push", body)
                #expect(reply.status == 400, "\(body)")
                #expect(reply.body.contains(#""message":""#), "\(body)")
            }
            #expect(server.simulator.ledger.totals().told == 0)
        }
    }

    @Test func `an invalid registration is refused with its fault`() async throws {
        try await TestServer.open { server in
            for body in Self.noRegistrations {
                let reply = try await server.app.send("POST", "/v1/registration", body)
                #expect(reply.status == 400, "\(body)")
                #expect(reply.body.contains(#""message":""#), "\(body)")
            }
            #expect(try await server.store.deviceCount(on: server.platform.platform.key) == 0)
        }
    }

    private static let noPushes =
        [
            "", " ", "{", "}", "[]", "null", "true", "1", "\"push\"", "{\"message\"", "{\"message\":}", "{}{}", "{},",
            #"{"message":{"body":"x"}}"#, #"{"target":{"topics":["town"]}}"#, #"{"message":null,"target":null}"#,
            #"{"message":"x","target":{"topics":["town"]}}"#, #"{"message":{"body":1},"target":{"topics":["town"]}}"#,
            #"{"message":{"body":"x"},"target":[]}"#, #"{"message":{"body":"x"},"target":{"topics":"town"}}"#,
            #"{"message":{"body":"x"},"target":{"topics":[1]}}"#, #"{"message":{"body":"x"},"target":{"topics":[]}}"#,
            #"{"message":{"body":"x"},"target":{"platforms":["toaster"]}}"#,
            #"{"message":{"body":"x"},"target":{"topics":["town"]},"expiryTime":"soon"}"#,
            #"{"message":{"body":"x"},"target":{"topics":["town"]},"expiryTime":-1}"#,
            #"{"message":{"body":"x"},"target":{"topics":["town"]},"expiryTime":1e400}"#,
            #"{"message":{"body":"x"},"target":{"topics":["town"]},"scheduleIn":99999999999999999999}"#,
            #"{"message":{"custom":{"ios":"x"}},"target":{"topics":["town"]}}"#,
            "{\"message\":{\"body\":\"\u{1}\"},\"target\":{\"topics\":[\"town\"]}}",
            #"{"message":{"body":"\ud800"},"target":{"topics":["town"]}}"#,
            #"{"message":{"body":"\#(String(repeating: "x", count: 5_000))"},"target":{"topics":["town"]}}"#,
            String(repeating: "[", count: 100_000), String(repeating: #"{"message":"#, count: 10_000),
            #"{"message":{"body":"x"},"target":{"topics":[\#(Array(repeating: #""t""#, count: 1_025).joined(separator: ","))]}}"#,
        ]

    private static let noRegistrations = [
        "", "{", "[]", "null", "{}", #"{"registration_token":1}"#, #"{"registration_token":""}"#,
        #"{"registration_token":"xyz"}"#, #"{"registration_token":"abc"}"#,
        #"{"registration_token":"abcd","tags":"town"}"#,
        #"{"registration_token":"abcd","tags":[1]}"#, #"{"registration_token":"abcd","tags":[""]}"#,
        #"{"registration_token":"abcd","tags":{"subscribe":["a"]}}"#, #"{"registration_token":"abcd","os":{}}"#,
        #"{"registration_token":"abcd","custom_user_id":"unsigned"}"#,
        #"{"registration_token":"\#(String(repeating: "ab", count: 101))"}"#,
        #"{"registration_token":"abcd","device_alias":"\#(String(repeating: "x", count: 1_025))"}"#,
    ]

    @Test func `a body over the limit is refused, announced or not`() async throws {
        try await TestServer.open(configure: { $0.pcf.bodyBytesMax = 4_096 }) { server in
            let long = String(repeating: "x", count: 100_000)
            #expect(try await server.sender.send("POST", "/v1/push", long).status == 413)
            let head = server.rawHead("POST /v1/push", of: server.sender)
            let chunk = "400\r\n" + String(repeating: "x", count: 0x400) + "\r\n"
            let connection = try await RawConnection.open(to: server.addresses.http)
            try await connection.send(
                head + "Transfer-Encoding: chunked\r\n\r\n" + chunk + chunk + chunk + chunk + chunk)
            try await eventually("it is refused") { connection.received.hasPrefix("HTTP/1.1 413 ") }
            await connection.close()
        }
    }
}

// MARK: - Who calls

extension CommandTests.BadInputTests {
    @Test(arguments: [
        ("Content-Encoding: gzip\r\nContent-Length: 2", "Content-Encoding: gzip"),
        ("Transfer-Encoding: gzip, chunked", "Transfer-Encoding: gzip, chunked"),
    ])
    func `a compressed body is refused by its name`(headers: String, name: String) async throws {
        try await TestServer.open { server in
            let head = server.rawHead("POST /v1/push", of: server.sender)
            let body = headers.contains("chunked") ? "2\r\n{}\r\n0\r\n\r\n" : "{}"
            let answer = try await RawConnection.exchange(
                Array("\(head)Connection: close\r\n\(headers)\r\n\r\n\(body)".utf8), with: server.addresses.http)
            #expect(answer.hasPrefix("HTTP/1.1 415 ") && answer.contains("is compressed (\(name))"), "\(answer)")
        }
    }

    @Test func `wrong credentials all get one answer`() async throws {
        try await TestServer.open { server in
            let known = server.sender
            let wrong = [
                Caller(base: known.base, user: known.user, secret: "wrong"),
                Caller(base: known.base, user: known.user, secret: ""),
                Caller(base: known.base, user: UUID().lowercased, secret: known.secret),
                Caller(base: known.base, user: "nobody", secret: known.secret),
                Caller(base: known.base, user: "", secret: ""), server.app,
            ]
            var shapes: Set<String> = []
            for caller in wrong {
                let reply = try await caller.send(
                    "POST", "/v1/push", #"{"message":{"body":"x"},"target":{"platform":"all"}}"#)
                #expect(reply.status == 401)
                #expect(reply.headers["www-authenticate"]?.hasPrefix("Basic") == true)
                shapes.insert(reply.body.replacing(#/"timestamp":\d+/#, with: ""))
            }
            #expect(shapes.count == 1, "an answer tells what was wrong: \(shapes)")
            #expect(try await known.send("GET", "/v1/registration/count").status == 401)
        }
    }

    @Test func `the devices of another application are out of reach`() async throws {
        try await TestServer.open { server in
            let crowd = try await server.crowd(10, topics: ["town"])
            let stranger = try await server.operatorService.createApplication(name: "Butcher")
            let strange = try await server.operatorService.createPlatform(
                of: stranger.application, kind: .ios, mode: .development, name: "iOS",
                credentials: TestServer.credentials(server.key, of: server.simulator))
            let sender = Caller(
                base: server.addresses.http, user: stranger.application.uuid.lowercased, secret: stranger.apiKey)
            let app = Caller(
                base: server.addresses.http, user: strange.platform.uuid.lowercased, secret: strange.secret)
            for id in [
                try await sender.push("Hello", to: crowd.devices[0].uuid),
                try await sender.push("Hello", toTopic: "town"),
                try await sender.pushToAll("Hello"),
            ] {
                #expect(try await server.settled(id).devices == 0)
            }
            #expect(server.simulator.ledger.totals().told == 0)
            for method in ["GET", "DELETE"] {
                _ = try await app.send(method, "/v1/registration/\(crowd.devices[0].uuid.lowercased)")
            }
            #expect(try await app.send("GET", "/v1/registration/\(crowd.devices[0].uuid.lowercased)").status == 404)
            try await server.expectAllActive(crowd)
        }
    }
}

// MARK: - HTTP that is none, or slow

extension CommandTests.BadInputTests {
    @Test func `garbage is refused and the next caller served`() async throws {
        try await TestServer.open(configure: { $0.timeouts.idle = .seconds(1) }) { server in
            var dice = SplitMix64(seed: 42)
            let noise = (0..<4_096).map { _ in UInt8(truncatingIfNeeded: dice.next()) }
            let auth = server.rawHead("POST /v1/push", of: server.sender)
            let garbage: [[UInt8]] = [
                noise, Array("\0\0\0\0\r\n\r\n".utf8), Array("GET\r\n\r\n".utf8), Array("GET / HTTP/9.9\r\n\r\n".utf8),
                Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8),
                [0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xFC, 0x03, 0x03],
                Array("GET / HTTP/1.1\r\nHost: a\r\n\(String(repeating: "x", count: 200_000)): y\r\n\r\n".utf8),
                Array("GET / HTTP/1.1\r\nHost: a\r\n\((0..<5_000).map { "x\($0): y\r\n" }.joined())\r\n".utf8),
                Array("GET /\(String(repeating: "x", count: 200_000)) HTTP/1.1\r\nHost: a\r\n\r\n".utf8),
                Array((auth + "Content-Length: -1\r\n\r\n{}").utf8),
                Array((auth + "Content-Length: 2, 3\r\n\r\n{}").utf8),
                Array((auth + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}").utf8),
                Array((auth + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n").utf8),
                Array((auth + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n{}\r\n").utf8),
                Array((auth + "Content-Length: 50\r\n\r\n{").utf8),
            ]
            for bytes in garbage {
                let said = try await RawConnection.exchange(bytes, with: server.addresses.http)
                let status = said.split(separator: " ").dropFirst().first ?? ""
                #expect(
                    said.isEmpty || status.hasPrefix("4"),
                    "\(String(decoding: bytes.prefix(60), as: UTF8.self)): \(said)")
                #expect(try await server.sender.send("GET", "/v1/version").status == 200)
            }
        }
    }

    @Test func `requests in a row are answered in their order`() async throws {
        try await TestServer.open { server in
            let connection = try await RawConnection.open(to: server.addresses.http)
            let get = "GET /v1/version HTTP/1.1\r\nHost: a\r\n\r\n"
            let wrong = "GET /v1/nothing HTTP/1.1\r\nHost: a\r\n\r\n"
            try await connection.send(get + wrong + get + wrong)
            try await eventually("four answers") { connection.received.split(separator: "HTTP/1.1 ").count == 4 }
            let statuses = connection.received.split(separator: "HTTP/1.1 ").map { $0.prefix(3) }
            #expect(statuses == ["200", "404", "200", "404"])
            await connection.close()
        }
    }

    @Test func `a caller of HTTP 1.0 is answered`() async throws {
        try await TestServer.open { server in
            let said = try await RawConnection.exchange(
                Array("GET /v1/version HTTP/1.0\r\n\r\n".utf8), with: server.addresses.http)
            #expect(said.split(separator: "\r\n").first?.contains(" 200 ") == true)
        }
    }

    @Test(arguments: [
        ("", "nothing"), ("G", "a head"), ("GET /v1/version HTTP/1.1\r\nHost: a\r\nx", "a head"),
    ])
    func `a client sending nothing or single bytes is closed`(start: String, what: String) async throws {
        try await TestServer.open(configure: { $0.timeouts.idle = .seconds(1) }) { server in
            let connection = try await RawConnection.open(to: server.addresses.http)
            try await connection.send(start)
            try await eventually("the server closes", within: .seconds(20), every: .milliseconds(100)) {
                if !start.isEmpty { try? await connection.send("x") }
                return connection.isClosed
            }
        }
    }

    @Test func `a client sending its body byte by byte is closed`() async throws {
        try await TestServer.open(configure: { $0.timeouts.request = .seconds(1) }) { server in
            let connection = try await RawConnection.open(to: server.addresses.http)
            try await connection.send(
                server.rawHead("POST /v1/push", of: server.sender) + "Content-Length: 4000\r\n\r\n{")
            try await eventually("the server closes", within: .seconds(20), every: .milliseconds(100)) {
                try? await connection.send(" ")
                return connection.isClosed
            }
        }
    }

    @Test func `a client that sends on what was refused is closed`() async throws {
        try await TestServer.open(configure: { $0.timeouts.request = .seconds(1) }) { server in
            let connection = try await RawConnection.open(to: server.addresses.http)
            try await connection.send("POST /v1/push HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n")
            try await eventually("it is refused") { connection.received.hasPrefix("HTTP/1.1 401 ") }
            try await eventually("the server closes", within: .seconds(20), every: .milliseconds(100)) {
                try? await connection.send("x")
                return connection.isClosed
            }
        }
    }

    @Test func `a reused connection outlives each request's deadline`() async throws {
        try await TestServer.open(configure: { $0.timeouts.request = .seconds(1) }) { server in
            let connection = try await RawConnection.open(to: server.addresses.http)
            for count in 1...15 {
                try await connection.send("GET /v1/version HTTP/1.1\r\nHost: a\r\n\r\n")
                try await eventually("answer \(count)") {
                    connection.received.split(separator: "HTTP/1.1 ").count == count
                }
                try await Task.sleep(for: .milliseconds(150))
            }
            #expect(!connection.isClosed)
            await connection.close()
        }
    }
}

// MARK: - The log

extension CommandTests.BadInputTests {
    @Test func `the most verbose log holds no token, secret or payload`() async throws {
        try await TestServer.open(mayLogErrors: true) { server in
            let token = String(repeating: "c0ffee00", count: 8)
            let registered = try await server.app.send(
                "POST", "/v1/registration",
                #"{"registration_token":"\#(token)","tags":["town"],"device_alias":"Emmas phone"}"#)
            #expect(registered.status == 200)
            _ = try await server.app.send("POST", "/v1/registration", #"{"registration_token":"\#(token)","tags":1}"#)
            _ = try await server.settled(try await server.sender.push("The secret recipe", toTopic: "town"))
            _ = try await server.sender.send("POST", "/v1/push", #"{"message":{"body":"The secret recipe"},"#)
            _ = try await Caller(base: server.addresses.http, user: server.sender.user, secret: "wrong-secret").send(
                "POST", "/v1/push")
            server.simulator.script.add(.init(then: .answer(ScriptedAnswer("InvalidProviderToken"))))
            _ = try await server.sender.push("The secret recipe", toTopic: "town")
            _ = try await server.parked()
            let lines = server.log.lines(atLeast: .trace)
            #expect(server.hasLogged("batch settled"))
            let keyText = server.key.p8.split(separator: "\n")[1]
            for secret in [
                token, token.uppercased(), "recipe", "Emmas", server.sender.secret, server.app.secret, "wrong-secret",
                server.application.sharedSecret, String(keyText), "Basic ", "bearer ",
            ] {
                #expect(!lines.contains { $0.contains(secret) }, "\(secret)")
            }
        }
    }
}

import BelfryTesting
import HTTPTypes
import Hummingbird
import Testing

@testable import BelfryService

/// Requests that carry an `Idempotency-Key`.
@Suite struct IdempotencyTests {
    private static let hello = #"{"message":{"body":"Hello"},"target":{"platform":"all"}}"#
    private static let other = #"{"message":{"body":"Other"},"target":{"platform":"all"}}"#

    private func push(_ server: TestServer, _ body: String = hello, key: String) async throws -> TestAnswer {
        try await server.send(.post, "/v1/push", as: .sender, body, headers: [.idempotencyKey: key])
    }

    @Test func `a repeated key gets the same answer and sends once`() async throws {
        let server = try await TestServer()
        let first = try await push(server, key: "a")
        let second = try await push(server, key: "a")
        #expect(first.status == 200)
        #expect(second.text == first.text)
        #expect(second.status == 200)
        #expect(second.headers[.contentType] == first.headers[.contentType])
        #expect(first.headers[.idempotencyReplayed] == nil)
        #expect(second.headers[.idempotencyReplayed] == "true")
        #expect(try await server.store.allPushes().count == 1)
    }

    @Test func `a repeated answer warns as the first did`() async throws {
        let server = try await TestServer()
        let body = #"{"message":{"body":"Hello"},"target":{"topics":["nobody"]}}"#
        let first = try await push(server, body, key: "a")
        #expect(first.headers[.warning] != nil, "\(first)")
        #expect(try await push(server, body, key: "a").headers[.warning] == first.headers[.warning])
    }

    @Test func `a long answer keeps only its status; repeats do nothing`() async throws {
        let server = try await TestServer()
        let topics = (0..<1_000).map { #"{"name":"a topic of some length, number \#($0)"}"# }.joined(separator: ",")
        func create() async throws -> TestAnswer {
            try await server.send(
                .post, "/v2/topics/batch", as: .sender, #"{"topics":[\#(topics)],"returnTopics":true}"#,
                headers: [.idempotencyKey: "a"])
        }
        let first = try await create()
        let second = try await create()
        #expect(first.status == 201)
        #expect(first.text.utf8.count > IdempotencyMiddleware.keptBytesMax)
        #expect(second.status == 201)
        #expect(second.headers[.idempotencyReplayed] == "true")
        #expect(second.text.contains("is not kept"))
    }

    @Test func `a different body, path or query is a 409`() async throws {
        let server = try await TestServer()
        #expect(try await push(server, key: "a").status == 200)
        #expect(try await push(server, Self.other, key: "a").status == 409)
        let elsewhere = try await server.send(
            .post, "/v1/push?x=1", as: .sender, Self.hello, headers: [.idempotencyKey: "a"])
        #expect(elsewhere.status == 409)
        #expect(try await server.store.allPushes().count == 1)
        #expect(try await push(server, Self.other, key: "b").status == 200)
    }

    @Test func `after a day the key is free again`() async throws {
        let server = try await TestServer()
        let first = try await push(server, key: "a")
        server.clock.advance(by: .seconds(86_399))
        #expect(try await push(server, key: "a").text == first.text)
        server.clock.advance(by: .seconds(1))
        let second = try await push(server, key: "a")
        #expect(second.status == 200)
        #expect(second.text != first.text)
        #expect(try await server.store.allPushes().count == 2)
    }

    @Test func `a refused request may be corrected under its key`() async throws {
        let server = try await TestServer()
        #expect(try await push(server, "{}", key: "a").status == 400)
        #expect(try await push(server, key: "a").status == 200)
    }

    @Test(arguments: ["", String(repeating: "x", count: 256), "\u{7F}"])
    func `a key is 1 to 255 printable characters`(key: String) async throws {
        let server = try await TestServer()
        let status = try await push(server, key: key).status
        #expect(status == 400)
        #expect(try await server.store.allPushes().isEmpty)
        #expect(try await push(server, key: String(repeating: "x", count: 255)).status == 200)
    }

    @Test func `a push accepted before a crash is not sent twice`() async throws {
        let server = try await TestServer()
        server.crash(afterWrites: 2)
        let first = try await push(server, key: "a")
        server.crash(afterWrites: nil)
        #expect(
            try await push(server, key: "a").status == 409, "the name is still held by the request that was cut off")
        server.clock.advance(by: .seconds(35))
        let second = try await push(server, key: "a")
        #expect(second.status == 200)
        #expect(second["receipt_id"] == first["receipt_id"])
        #expect(try await server.store.allPushes().count == 1)
        #expect(try await push(server, key: "a").headers[.idempotencyReplayed] == "true")
    }

    @Test func `while a request is in hand its repetition waits`() async throws {
        let server = try await TestServer()
        server.crash(afterWrites: 2)
        _ = try await push(server, key: "a")
        server.crash(afterWrites: nil)
        let busy = try await push(server, key: "a")
        #expect(busy.status == 409)
        #expect(busy.headers[.retryAfter] == "1")
        #expect(try await push(server, Self.other, key: "a").headers[.retryAfter] == nil)
    }

    @Test func `a request with unknown outcome is never run again`() async throws {
        let server = try await TestServer()
        let middleware = IdempotencyMiddleware(store: server.store, vault: server.vault, bodyBytesMax: 1_000)
        server.crash(afterWrites: 1)
        #expect(try await server.middleware(middleware, isRepeatable: false).status == 201)
        server.crash(afterWrites: nil)
        server.clock.advance(by: .seconds(35))
        for _ in 0..<2 {
            let again = try await server.middleware(middleware, isRepeatable: false)
            #expect(again.status == 409)
            #expect(again.text.contains("take a new key"))
        }
    }

    /// The clock of the server stands at 2023-11-14T22:13:20Z.
    @Test(arguments: [
        #""send_at":"2023-11-14T22:13:30Z""#, #""send_at":{"local":"2023-12-24T09:00"}"#,
        #""recurrence":{"rule":"FREQ=DAILY","start":"2023-11-15T09:00","time_zone":"Europe/Vienna"}"#,
    ])
    func `an interrupted request for a schedule is not repeated`(time: String) async throws {
        let server = try await TestAdminServer()
        let path = "apps/\(try await server.resources("shop").application.uuid.lowercased)/pushes"
        func send() async throws -> TestAnswer {
            try await server.send(
                .post, path, #"{"message":{"body":"Hi"},"target":{"everyone":true},\#(time)}"#,
                headers: [.idempotencyKey: "a"])
        }
        #expect(try await send().status == 201)
        try await server.loseAnswers()
        // The first one is due by then, and nothing may be sent in its place.
        server.clock.advance(by: .seconds(40))
        let again = try await send()
        #expect(again.status == 409 && again.text.contains("take a new key"), "\(again)")
    }

    /// The clock of the server stands at 1500000000000. After 35 seconds PCF would send the push at once.
    @Test func `an interrupted schedule of PCF is not sent as well`() async throws {
        let server = try await TestServer()
        let body = Self.hello.replacing(#"{"message""#, with: #"{"scheduleAt":1500000070000,"message""#)
        server.crash(afterWrites: 2)
        #expect(try await push(server, body, key: "a")["schedule_id"] != nil)
        server.crash(afterWrites: nil)
        server.clock.advance(by: .seconds(35))
        let again = try await push(server, body, key: "a")
        #expect(again.status == 409 && again.text.contains("take a new key"), "\(again)")
        #expect(try await server.store.allPushes().isEmpty)
    }

    @Test func `the answer is stored sealed`() async throws {
        let server = try await TestServer()
        let reply = try await push(server, key: "a")
        let kept = try await server.store.read { db in
            try db.prepared("SELECT status, content FROM idempotency").first { ($0.integer(0), $0.blob(1)) }
        }
        let (status, content) = try #require(kept)
        #expect(status == 200)
        #expect(content.starts(with: Array("answer/".utf8)))
        #expect(String(decoding: content, as: UTF8.self).hasSuffix(reply.text))
    }

    @Test func `another caller's key is another key`() async throws {
        let server = try await TestServer()
        let middleware = IdempotencyMiddleware(store: server.store, vault: server.vault, bodyBytesMax: 1_000)
        #expect(try await server.middleware(middleware, by: Principal(.admin, 1)).headers[.idempotencyReplayed] == nil)
        #expect(try await server.middleware(middleware, by: Principal(.admin, 2)).headers[.idempotencyReplayed] == nil)
        #expect(try await server.middleware(middleware, by: Principal(.sender, 1)).headers[.idempotencyReplayed] == nil)
        #expect(
            try await server.middleware(middleware, by: Principal(.admin, 1)).headers[.idempotencyReplayed] == "true")
    }
}

extension TestServer {
    /// One request through `middleware` alone, to a handler that makes something and tells where.
    fileprivate func middleware(
        _ middleware: IdempotencyMiddleware, by principal: Principal = Principal(.admin, 1), isRepeatable: Bool = true
    ) async throws -> TestAnswer {
        let router = ResponseMiddleware.router(clock: clock)
        router.post("things") { request, context in
            try await middleware.run(request, context, by: principal, isRepeatable: isRepeatable) { _ in
                Response(status: .created, headers: [.location: "/things/\(IdempotentID.make())"])
            }
        }
        return try await send(.post, "/things", through: router, headers: [.idempotencyKey: "a"])
    }
}

import BelfryServer
import BelfryService
import BelfrySimulators
import BelfryTesting
import Foundation
import Logging
import Testing

/// The real server against callers who want too much: guesses, connections, heads.
extension ServerTests {
    @Suite struct GuardTests {}
}

// MARK: - Guessers

extension ServerTests.GuardTests {
    /// One wrong secret has consequences at once, for a time that no test outlives.
    private static func strict(_ configuration: inout ServerConfiguration) {
        let policy = LoginThrottle.Policy(failuresAllowed: 0, firstWait: .seconds(3_600), longestWait: .seconds(3_600))
        configuration.requestLimiter.guesses = LoginThrottle(name: policy)
    }

    @Test func `a guesser waits and the secret is not checked`() async throws {
        try await TestServer.open(configure: Self.strict) { server in
            let wrong = Caller(base: server.addresses.http, user: server.sender.user, secret: "wrong")
            #expect(try await wrong.send("POST", "/v1/push", "{}").status == 401)
            for caller in [wrong, server.sender] {
                let reply = try await caller.send("POST", "/v1/push", "{}")
                #expect(reply.status == 429)
                // Less what has passed since the wrong one.
                #expect((3_000...3_600).contains(reply.headers["retry-after"].flatMap { Int($0) } ?? 0), "\(reply)")
                #expect(reply.headers["cache-control"] == "no-store")
            }
            #expect(try await server.app.send("GET", "/v1/registration/count").status == 200)
        }
    }

    @Test func `a guesser shuts no caller out who is elsewhere`() async throws {
        let behindProxy = { (configuration: inout ServerConfiguration) in
            Self.strict(&configuration)
            configuration.requestLimiter.proxies = TrustedProxies([NetworkBlock("127.0.0.1")].compactMap(\.self))
        }
        try await TestServer.open(configure: behindProxy) { server in
            let wrong = Caller(base: server.addresses.http, user: server.sender.user, secret: "wrong")
            let (here, there) = (["X-Forwarded-For": "192.0.2.1"], ["X-Forwarded-For": "192.0.2.1, 198.51.100.7"])
            let path = "/v1/schedules"
            let refused = try await wrong.send("GET", path, headers: here).status
            let delayed = try await server.sender.send("GET", path, headers: here).status
            let elsewhere = try await server.sender.send("GET", path, headers: there).status
            #expect((refused, delayed, elsewhere) == (401, 429, 200))
        }
    }

    @Test func `a caller that names another address is not believed`() async throws {
        try await TestServer.open(configure: Self.strict) { server in
            let wrong = Caller(base: server.addresses.http, user: server.app.user, secret: "wrong")
            for address in ["192.0.2.1", "192.0.2.2"] {
                _ = try await wrong.send("GET", "/v1/registration/count", headers: ["X-Forwarded-For": address])
            }
            #expect(
                try await wrong.send(
                    "GET", "/v1/registration/count", headers: ["X-Forwarded-For": "192.0.2.3"]
                ).status == 429)
            let words = "requests carry X-Forwarded-For from an address that http.trusted.proxies does not name"
            #expect(server.log.lines(atLeast: .warning).count { $0.hasPrefix(words) } == 1)
        }
    }
}

// MARK: - Connections and heads

extension ServerTests.GuardTests {
    private static let get = "GET /v1/version HTTP/1.1\r\nHost: a\r\n\r\n"

    @Test(arguments: [(3, 100), (100, 3)])
    func `a connection too many is refused until one closes`(
        total: Int, perAddress: Int
    ) async throws {
        try await TestServer.open(configure: { configuration in
            configuration.connections.totalMax = total
            configuration.connections.perAddressMax = perAddress
        }) { server in
            var held: [RawConnection] = []
            for _ in 0..<3 {
                let connection = try await RawConnection.open(to: server.addresses.http)
                try await connection.send(Self.get)
                try await eventually("it is served") { connection.received.hasPrefix("HTTP/1.1 200 ") }
                held.append(connection)
            }
            let refused = try await RawConnection.exchange(Array(Self.get.utf8), with: server.addresses.http)
            #expect(refused.hasPrefix("HTTP/1.1 503 "))
            #expect(refused.contains("Retry-After: 5\r\n"))
            await held.removeLast().close()
            try await eventually("there is room again") {
                let connection = try await RawConnection.open(to: server.addresses.http)
                // One too many is told so at once, and may be closed before it has asked.
                try? await connection.send(Self.get)
                try await eventually("it is answered") { !connection.received.isEmpty || connection.isClosed }
                let isServed = connection.received.hasPrefix("HTTP/1.1 200 ")
                await connection.close()
                return isServed
            }
            for connection in held {
                #expect(!connection.isClosed)
                await connection.close()
            }
        }
    }

    @Test func `a trusted proxy's connections count only towards the total`() async throws {
        try await TestServer.open(configure: { configuration in
            configuration.connections.perAddressMax = 1
            configuration.requestLimiter.proxies = TrustedProxies([NetworkBlock("127.0.0.0/8")].compactMap(\.self))
        }) { server in
            let held = try await RawConnection.open(to: server.addresses.http)
            try await held.send(Self.get)
            try await eventually("it is served") { !held.received.isEmpty }
            #expect(try await server.sender.send("GET", "/v1/version").status == 200)
            await held.close()
        }
    }

    @Test(arguments: [
        "GET /v1/version HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 40_000))\r\n\r\n",
        "GET /v1/version HTTP/1.1\r\nHost: a\r\n\((0..<200).map { "x\($0): y\r\n" }.joined())\r\n",
        "GET /\(String(repeating: "x", count: 40_000)) HTTP/1.1\r\nHost: a\r\n\r\n",
    ])
    func `a head over the limit is a 431 and closes`(request: String) async throws {
        try await TestServer.open { server in
            let said = try await RawConnection.exchange(Array(request.utf8), with: server.addresses.http)
            #expect(said.hasPrefix("HTTP/1.1 431 "), "\(said)")
            let later = try await RawConnection.exchange(
                Array(Self.get.utf8) + Array(request.utf8), with: server.addresses.http)
            #expect(later.hasPrefix("HTTP/1.1 200 ") && later.contains("HTTP/1.1 431 "), "\(later)")
        }
    }

    @Test func `a caller of HTTP 1.0 is closed behind its answer`() async throws {
        // The idle time-out would be longer than the test waits.
        try await TestServer.open(configure: { $0.timeouts.idle = .seconds(3_600) }) { server in
            let said = try await RawConnection.exchange(
                Array("GET /v1/version HTTP/1.0\r\n\r\n".utf8), with: server.addresses.http)
            #expect(said.contains(#"{"version":""#), "\(said)")
        }
    }
}

// MARK: - Repeated requests

extension ServerTests.GuardTests {
    @Test func `a push repeated after kill -9 is sent once`() async throws {
        try await TestInstallation.with { installation in
            let crowd = try await installation.crowd(20)
            let push = #"{"message":{"body":"Hello"},"target":{"topics":["town"]}}"#
            let key = ["Idempotency-Key": "order-4711"]
            // The kill may come at any moment of the sending, so that none is notified before it.
            installation.simulator.script.add(
                ServiceFault(then: .answer(ScriptedAnswer("TooManyRequests", status: 429))))
            let first = try await installation.serve(Program.shortLeases)
            defer { first.endAtOnce() }
            let said = try await installation.sender(at: first.addresses().http).send(
                "POST", "/v1/push", push, headers: key)
            #expect(said.status == 200)
            try await first.end(SIGKILL)
            installation.simulator.script.clear()

            let second = try await installation.serve(Program.shortLeases)
            defer { second.endAtOnce() }
            let base = try await second.addresses().http
            let again = try await installation.sender(at: base).send("POST", "/v1/push", push, headers: key)
            #expect(again.body == said.body)
            #expect(again.headers["idempotency-replayed"] == "true")
            let receipt = try #require(said.body.firstMatch(of: #/"receipt_id":"([^"]+)"/#)).1
            #expect(try await installation.settled(#require(UUID(uuidString: String(receipt)))).devices == crowd.count)
            #expect(installation.simulator.ledger.totals().told == crowd.count)
            try await second.end(SIGTERM)
        }
    }
}

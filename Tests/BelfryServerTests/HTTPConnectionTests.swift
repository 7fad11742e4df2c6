import BelfryService
import Foundation
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import BelfryServer

/// Source of the first: RFC 9110 §5.6.7.
@Test(arguments: [
    (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
    (1_798_761_599, "Thu, 31 Dec 2026 23:59:59 GMT"),
])
func `an answer's date is written as HTTP has it`(second: Int, text: String) {
    #expect(HTTPDates.text(second) == text)
}

/// One task waits for all connections of a listener, and its cancellation ends them.
@Test func `connections end with the task that awaits them`() async throws {
    let loop = MultiThreadedEventLoopGroup.singleton.any()
    let connections = OpenConnections()
    let ends = (0..<4).map { _ in loop.makePromise(of: Void.self) }
    let enter = { (number: Int) in connections.enter(ends[number].futureResult) { ends[number].succeed() } }
    #expect(enter(0), "nobody waits yet")
    #expect(!enter(1))
    ends[0].succeed()
    ends[1].succeed()
    await connections.waitForAll()
    #expect(enter(2), "the next one has to be waited for again")
    let waiting = Task { await connections.waitForAll() }
    waiting.cancel()
    await waiting.value
    _ = enter(3)
    try await ends[3].futureResult.get()
}

/// How a connection is spoken on: what comes behind a request, what comes late, and how it ends.
extension ServerTests {
    @Suite struct HTTPConnectionTests {
        private static let get = "GET /v1/version HTTP/1.1\r\nHost: a\r\n\r\n"

        private static func statuses(_ said: String) -> [Substring] {
            said.split(separator: "HTTP/1.1 ").map { $0.prefix(3) }
        }

        /// Whether each answer says that it is the last.
        private static func goodbyes(_ said: String) -> [Bool] {
            said.split(separator: "HTTP/1.1 ").map { $0.contains("Connection: close\r\n") }
        }

        @Test func `a client saying goodbye gets all answers first`() async throws {
            try await TestServer.open { server in
                let connection = try await RawConnection.open(to: server.addresses.http)
                try await connection.send(String(repeating: Self.get, count: 50))
                try await connection.finish()
                try await eventually("the server closes") { connection.isClosed }
                #expect(Self.statuses(connection.received) == Array(repeating: "200", count: 50))
            }
        }

        @Test func `malformed HTTP is refused after earlier answers`() async throws {
            try await TestServer.open { server in
                let said = try await RawConnection.exchange(
                    Array((Self.get + Self.get + "GET /?q=ü HTTP/1.1\r\nHost: a\r\n\r\n").utf8),
                    with: server.addresses.http)
                #expect(Self.statuses(said) == ["200", "200", "400"] && said.contains("are written as %20"), "\(said)")
                #expect(Self.goodbyes(said) == [false, false, true])
            }
        }

        @Test(arguments: ["", "Host: a\r\nHost: b\r\n"])
        func `a request without a host, or with two, is refused`(hosts: String) async throws {
            try await TestServer.open { server in
                let said = try await RawConnection.exchange(
                    Array("GET /v1/version HTTP/1.1\r\n\(hosts)\r\n\(Self.get)".utf8), with: server.addresses.http)
                #expect(Self.statuses(said) == ["400"])
            }
        }

        @Test(arguments: [
            "GET /v1/version HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n",
            "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n",
        ])
        func `an upgrade request is answered and its rest dropped`(
            request: String
        ) async throws {
            try await TestServer.open { server in
                let connection = try await RawConnection.open(to: server.addresses.http)
                try await connection.send(request)
                try await eventually("it is answered") { connection.received.contains("Connection: close\r\n") }
                try? await connection.send([UInt8](repeating: 0x61, count: 4 << 20))
                try await eventually("the server closes") { connection.isClosed }
                #expect(Self.statuses(connection.received).count == 1)
            }
        }

        @Test(arguments: [("/v1/version", "200"), ("/v1/push", "401"), ("/nothing", "404")])
        func `an answer to HEAD has no body, whatever it is`(path: String, status: String) async throws {
            try await TestServer.open { server in
                let connection = try await RawConnection.open(to: server.addresses.http)
                try await connection.send("HEAD \(path) HTTP/1.1\r\nHost: a\r\n\r\n" + Self.get)
                try await eventually("both answers") { Self.statuses(connection.received).count == 2 }
                let first = try #require(connection.received.components(separatedBy: "HTTP/1.1 ").dropFirst().first)
                #expect(first.hasPrefix(path == "/v1/push" ? "405" : status))
                #expect(first.hasSuffix("\r\n\r\n"))
                #expect(!first.contains("Content-Length: 0"))
                await connection.close()
            }
        }

        @Test func `a stopping server closes idle clients and answers busy ones`() async throws {
            let asking = Mutex<Task<String, any Error>?>(nil)
            try await TestServer.open { server in
                let idle = try await RawConnection.open(to: server.addresses.http)
                let busy = try await RawConnection.open(to: server.addresses.http)
                let body = #"{"message":{"body":"x"},"target":{"platform":"all"}}"#
                let head =
                    server.rawHead("POST /v1/push", of: server.sender) + "Content-Length: \(body.utf8.count)\r\n\r\n"
                for (connection, words) in [(idle, Self.get), (busy, Self.get + head)] {
                    try await connection.send(words)
                    try await eventually("it is served") { connection.received.contains("1.9.0") }
                }
                let task = Task {
                    try await eventually("the idle one is closed") { idle.isClosed }
                    try await busy.send(body)
                    try await eventually("the other is closed") { busy.isClosed }
                    return busy.received
                }
                asking.withLock { $0 = task }
            }
            let said = try await asking.withLock { $0 }?.value
            #expect(Self.statuses(try #require(said)) == ["200", "200"])
            #expect(Self.goodbyes(try #require(said)) == [false, true])
        }

        @Test(arguments: ["close", "Close", "TE, close"])
        func `a closing client gets its answer and nothing more`(word: String) async throws {
            try await TestServer.open { server in
                let last = "GET /v1/version HTTP/1.1\r\nHost: a\r\nConnection: \(word)\r\n\r\n"
                let said = try await RawConnection.exchange(
                    Array((Self.get + last + Self.get).utf8), with: server.addresses.http)
                #expect(Self.statuses(said) == ["200", "200"])
                #expect(Self.goodbyes(said) == [false, true])
            }
        }

        @Test func `a long body in pieces is read to its end`() async throws {
            try await TestServer.open { server in
                let unknown = String(repeating: "x", count: 400_000)
                let body = #"{"message":{"body":"x","unknown":"\#(unknown)"},"target":{"platform":"all"}}"#
                let connection = try await RawConnection.open(to: server.addresses.http)
                try await connection.send(
                    server.rawHead("POST /v1/push", of: server.sender) + "Content-Length: \(body.utf8.count)\r\n\r\n")
                let bytes = Array(body.utf8)
                for start in stride(from: 0, to: bytes.count, by: 10_007) {
                    try await connection.send(Array(bytes[start..<min(start + 10_007, bytes.count)]))
                }
                try await connection.send(Self.get)
                try await eventually("both answers") { Self.statuses(connection.received).count == 2 }
                #expect(Self.statuses(connection.received) == ["200", "200"])
                await connection.close()
            }
        }

        @Test func `a client asking to continue is told if it may`() async throws {
            try await TestServer.open { server in
                let body = #"{"message":{"body":"x"},"target":{"platform":"all"}}"#
                let rest = "Expect: 100-continue\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
                let connection = try await RawConnection.open(to: server.addresses.http)
                try await connection.send(server.rawHead("POST /v1/push", of: server.sender) + rest)
                try await eventually("it is told to go on") { connection.received == "HTTP/1.1 100 Continue\r\n\r\n" }
                try await connection.send(body + server.rawHead("POST /v1/push", of: server.app) + rest)
                try await eventually("the next is refused") { Self.statuses(connection.received).count == 3 }
                #expect(Self.statuses(connection.received) == ["100", "200", "401"])
                // Whether it sends its body all the same cannot be told from what follows.
                try await eventually("it is closed") { connection.isClosed }
                #expect(Self.goodbyes(connection.received) == [false, false, true])
                await connection.close()
            }
        }

        @Test func `HTTP 1.0 and immediate bodies get no continue`() async throws {
            try await TestServer.open { server in
                let body = #"{"message":{"body":"x"},"target":{"platform":"all"}}"#
                let rest = "Expect: 100-continue\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
                let head = server.rawHead("POST /v1/push", of: server.sender)
                let connection = try await RawConnection.open(to: server.addresses.http)
                try await connection.send(head + rest + body)
                try await eventually("it is answered") { Self.statuses(connection.received) == ["200"] }
                try await connection.send(head.replacing("HTTP/1.1", with: "HTTP/1.0") + rest)
                try await connection.send(body)
                try await eventually("it is closed") { connection.isClosed }
                #expect(
                    connection.received.components(separatedBy: "HTTP/1.").map { $0.dropFirst(2).prefix(3) } == [
                        "", "200", "200",
                    ])
            }
        }

        @Test func `an unwanted long body does not block the next request`() async throws {
            try await TestServer.open(configure: { $0.pcf.bodyBytesMax = 4_096 }) { server in
                let connection = try await RawConnection.open(to: server.addresses.http)
                let head = server.rawHead("POST /v1/push", of: server.sender) + "Content-Length: 1000000\r\n\r\n"
                try await connection.send(head)
                try await eventually("it is refused") { connection.received.hasPrefix("HTTP/1.1 413 ") }
                try await connection.send(String(repeating: "x", count: 1_000_000) + Self.get)
                try await eventually("both answers") { Self.statuses(connection.received).count == 2 }
                #expect(Self.statuses(connection.received) == ["413", "200"])
                await connection.close()
            }
        }

        @Test func `a client leaving within its body harms nothing else`() async throws {
            try await TestServer.open { server in
                let connection = try await RawConnection.open(to: server.addresses.http)
                try await connection.send(
                    server.rawHead("POST /v1/push", of: server.sender) + "Content-Length: 4000\r\n\r\n{")
                try await connection.finish()
                try await eventually("the server closes") { connection.isClosed }
                #expect(!connection.received.hasPrefix("HTTP/1.1 200 "))
                #expect(try await server.sender.send("GET", "/v1/version").status == 200)
            }
        }
    }
}

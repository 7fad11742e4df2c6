import BelfryServer
import BelfryService
import BelfryTesting
import Foundation
import PostgresRig
import Synchronization
import Testing

/// The live event stream and repeated requests of the admin API, over real sockets.
extension ServerTests {
    @Suite struct EventTests {}
}

extension ServerTests.EventTests {
    private static func head(_ line: String, _ key: AdminKey.Text, _ more: String = "") -> String {
        "\(line) HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \(key.text)\r\n\(more)\r\n"
    }

    @Test func `a stream reports pushes, outlives deadlines, ends with the server`()
        async throws
    {
        let streams = Streams()
        // The deadline is that of the pushes beside the stream too.
        try await TestServer.open(configure: { $0.timeouts.request = .seconds(5) }) { server in
            let crowd = try await server.crowd(3, topics: ["town"])
            let key = try await server.adminKey()
            let path = "GET /admin/v1/apps/\(server.application.application.uuid.lowercased)/events"
            let stream = try await RawConnection.open(to: server.addresses.http)
            streams.add(stream)
            try await stream.send(Self.head(path, key))
            try await eventually("the stream is open") { stream.received.contains("retry: 2000") }
            #expect(stream.received.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(stream.received.contains("text/event-stream"))
            let begun = ContinuousClock.now
            var pushes = 0
            while pushes < 2 || ContinuousClock.now - begun < .seconds(6) {
                let id = try await server.sender.push("Hello", toTopic: "town")
                pushes += 1
                try await eventually("its end is told") {
                    stream.received.contains(#""receipt_id":"\#(id.lowercased)","state":"settled""#)
                }
                #expect(try await server.receipt(id).counts == [.accepted: crowd.count])
            }
            #expect(!stream.isClosed)
            let counts = #""devices":3,"answered":3,"counts":{"accepted":3}"#
            let settled = stream.received.split(separator: "event: settled\n")
            #expect(settled.count == pushes + 1)
            #expect(settled.dropFirst().allSatisfy { $0.contains(counts) })
            // A reader that comes again with the first event's id reads all the others.
            let first = try #require(stream.received.firstMatch(of: #/id: (\S+)/#)).1
            let again = try await RawConnection.open(to: server.addresses.http)
            streams.add(again)
            try await again.send(Self.head(path, key, "Last-Event-ID: \(first)\r\n"))
            try await eventually("the others are told") {
                again.received.split(separator: "event: settled\n").count == pushes + 1
            }
            #expect(!again.received.contains("event: lost"))
        }
        try await eventually("the streams are closed") { streams.areClosed }
    }

    @Test(.timeLimit(.minutes(20))) func `a node's stream tells of what another node accepted`() async throws {
        try await PostgresServer.with { database in
            try await TestInstallation.with(database: database.url(of: "postgres")) { installation in
                _ = try await installation.crowd(3)
                let nodes = (1...2).map { number in
                    NodeProgram(
                        number, in: installation.scratch, database: database.url(of: "postgres"),
                        keyRing: installation.data + "/key-ring")
                }
                defer { for node in nodes { node.endAtOnce() } }
                for node in nodes { try await node.start() }
                let key = try await installation.withResources {
                    try await $0.operatorService.createKey(name: Name("test"), scope: .operator).text
                }
                let stream = try await RawConnection.open(to: try #require(nodes[1].address))
                try await stream.send(Self.head("GET /admin/v1/apps/\(installation.application)/events", key))
                try await eventually("the stream is open") { stream.received.contains("retry: 2000") }
                let sender = installation.sender(at: try #require(nodes[0].address))
                // Either node may send them.
                for _ in 1...5 {
                    let push = try await sender.push("Hello", toTopic: "town")
                    try await eventually("its end is told") {
                        stream.received.contains(#""receipt_id":"\#(push.lowercased)","state":"settled""#)
                    }
                }
                #expect(stream.received.components(separatedBy: "event: accepted").count == 6)
                await stream.close()
                for node in nodes { try await node.stop() }
            }
        }
    }

    @Test func `a stream is for keys that may read the application`() async throws {
        try await TestServer.open { server in
            let stranger = try await server.operatorService.createApplication(name: "Butcher")
            let key = try await server.adminKey(of: stranger.application.uuid)
            let path = "GET /admin/v1/apps/\(server.application.application.uuid.lowercased)/events"
            let request = Self.head(path, key, "Connection: close\r\n")
            let said = try await RawConnection.exchange(Array(request.utf8), with: server.addresses.http)
            #expect(said.hasPrefix("HTTP/1.1 404 "))
        }
    }

    @Test func `an object is made once per key, its secret repeatable`() async throws {
        try await TestServer.open { server in
            let key = try await server.adminKey()
            let body = #"{"name":"Grocer"}"#
            let request =
                Self.head(
                    "POST /admin/v1/apps", key,
                    "Connection: close\r\nIdempotency-Key: grocer\r\nContent-Length: \(body.utf8.count)\r\n") + body
            var answers: Set<String> = []
            for _ in 1...2 {
                let said = try await RawConnection.exchange(Array(request.utf8), with: server.addresses.http)
                #expect(said.hasPrefix("HTTP/1.1 201 "), "\(said)")
                answers.insert(said.split(separator: "\r\n\r\n").last.map(String.init) ?? "")
            }
            #expect(answers.count == 1)
            #expect(answers.first?.contains("api_key") == true)
            #expect(try await server.store.applications().count { $0.name == "Grocer" } == 1)
        }
    }
}

extension TestServer {
    /// A key of the operator, or one that may read an application alone.
    func adminKey(of application: UUID? = nil) async throws -> AdminKey.Text {
        try await operatorService.createKey(
            name: Name("test"), scope: application == nil ? .operator : .readOnly, tenant: nil,
            application: application
        ).text
    }
}

/// Connections that are looked at after the server is gone.
private final class Streams: Sendable {
    private let held = Mutex<[RawConnection]>([])

    func add(_ connection: RawConnection) { held.withLock { $0.append(connection) } }

    var areClosed: Bool { held.withLock { $0.allSatisfy(\.isClosed) } }
}

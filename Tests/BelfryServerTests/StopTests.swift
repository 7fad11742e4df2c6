import BelfrySimulators
import BelfryTesting
import Foundation
import Testing

/// SIGTERM: nothing is lost, no device is notified twice, and callers are told that the server is on its way out.
extension ServerTests {
    @Suite struct StopTests {}
}

extension ServerTests.StopTests {
    private static let ready = "/health/ready"

    @Test func `a stopping server answers, leaves load balancers, begins nothing`()
        async throws
    {
        try await TestInstallation.with { installation in
            let crowd = try await installation.crowd(6_000)
            // A thousand at a time, a second each: there is time to tell it to stop, and to ask it things then.
            installation.simulator.script.set(ServiceScript(latencyMilliseconds: 1_000))
            let first = try await installation.serve([
                "BELFRY_SHUTDOWN_DELAY_SECONDS": "10", "BELFRY_DELIVERY_BATCHES_MAX": "2",
            ])
            defer { first.endAtOnce() }
            let (base, management) = try await first.addresses()
            let sender = installation.sender(at: base)
            let push = try await sender.push("Hello", toTopic: "town")
            let slow = try await SlowPush.begin(at: base, by: sender)
            try await eventually("it delivers") { installation.simulator.ledger.totals().told > 500 }
            #expect(try await sender.send("GET", Self.ready).status == 200)

            first.send(SIGTERM)
            try await eventually("it is not ready") {
                try await sender.send("GET", Self.ready).status == 503
            }
            let public_ = try await sender.send("GET", Self.ready).body
            #expect(public_ == #"{"status":"unready","faults":[{"part":"server"}]}"#)
            let private_ = try await Caller(base: management, user: "", secret: "").send("GET", Self.ready).body
            #expect(private_.contains("told to stop"))
            #expect(try await sender.send("GET", "/health/live").status == 200)
            let late = try await sender.push("Hello again", toTopic: "town")
            try await slow.finish()
            try await eventually("the request that was begun is answered") { slow.isAccepted }
            try await first.end(SIGTERM)
            #expect(first.ending == 0)
            #expect(installation.simulator.ledger.totals().told < crowd.count, "it was over before it was told to stop")

            installation.simulator.script.set(ServiceScript())
            let second = try await installation.serve()
            defer { second.endAtOnce() }
            _ = try await second.addresses()
            for push in [push, late] {
                #expect(try await installation.settled(push).counts == ["accepted": crowd.count])
            }
            // Two pushes to all, and the one that was begun before.
            try await eventually("all three are delivered") {
                installation.simulator.ledger.totals().told == 3 * crowd.count
            }
            try await second.end(SIGTERM)
        }
    }

    @Test func `SIGHUP during the start ends no server`() async throws {
        try await TestInstallation.with { installation in
            // It is told of first, before the database is opened.
            let server = try await installation.serve(["BELFRY_SERVICE_HOST": "10.0.0.7"])
            defer { server.endAtOnce() }
            try await eventually("it starts", every: .milliseconds(1)) { server.logged.contains("passed over") }
            server.send(SIGHUP)
            _ = try await server.addresses()
            try await server.end(SIGTERM)
            #expect(server.ending == 0)
        }
    }

    @Test func `an idle client that never closes delays no stop`() async throws {
        try await TestInstallation.with { installation in
            let server = try await installation.serve()
            defer { server.endAtOnce() }
            let client = try DeafClient(
                port: UInt16(try await server.addresses().http.split(separator: ":").last ?? "") ?? 0)
            defer { client.close() }
            try client.get("/v1/version")
            try await server.end(SIGTERM)
            #expect(server.ending == 0)
            #expect(!server.logged.contains("time-out is over"), "\(server.logged)")
        }
    }

    @Test func `unanswered sends are returned at shutdown, before their lease ends`()
        async throws
    {
        try await TestInstallation.with { installation in
            let crowd = try await installation.crowd(600)
            installation.simulator.script.set(
                ServiceScript(faults: [ServiceFault(when: ServiceFault.When(after: 10), then: .stall(told: false))]))
            let first = try await installation.serve([
                "BELFRY_SHUTDOWN_TIMEOUT_SECONDS": "2", "BELFRY_APNS_DEADLINE_SECONDS": "60",
            ])
            defer { first.endAtOnce() }
            let push = try await installation.sender(at: try await first.addresses().http).push(
                "Hello", toTopic: "town")
            try await eventually("it waits for answers") {
                installation.simulator.script.timesHappened.first.map { $0 > 100 } ?? false
            }
            let told = ContinuousClock.now
            try await first.end(SIGTERM)
            #expect(first.ending == 0)
            #expect(ContinuousClock.now - told < .seconds(30), "the provider's minute was waited for")
            #expect(first.logged.contains("handed back"))
            let line = #""message":"told to stop","shutdown.timeout":"2.0 seconds""#
            #expect(first.logged.contains(line), "\(first.logged)")

            installation.simulator.script.clear()
            let second = try await installation.serve()
            defer { second.endAtOnce() }
            let begun = ContinuousClock.now
            #expect(try await installation.settled(push).counts == ["accepted": crowd.count])
            #expect(ContinuousClock.now - begun < .seconds(90), "the lease of two minutes was waited for")
            #expect(installation.simulator.ledger.totals().tokensToldTwice == 0)
            try await second.end(SIGTERM)
        }
    }

    @Test func `nodes are listed while they serve, and take their leave`() async throws {
        try await TestInstallation.with { installation in
            let server = try await installation.serve()
            defer { server.endAtOnce() }
            _ = try await server.addresses()
            struct Row: Decodable {
                let state: String
                let host: String
            }
            let nodes = { () async throws -> [Row] in try await installation.run("nodes", "--json").decoded() }
            try await eventually("the node is listed") { try await nodes().map(\.state) == ["up"] }
            #expect(try await nodes().map(\.host) == [ProcessInfo.processInfo.hostName])
            #expect(try await installation.run("nodes").out.contains("up"))
            try await server.end(SIGTERM)
            #expect(try await nodes().isEmpty)
        }
    }
}

/// A request whose body comes in two halves.
private struct SlowPush: Sendable {
    private let connection: RawConnection
    private let rest: String

    static func begin(at base: String, by sender: Caller) async throws -> SlowPush {
        let body = #"{"message":{"body":"slow"},"target":{"topics":["town"]}}"#
        let credentials = Data("\(sender.user):\(sender.secret)".utf8).base64EncodedString()
        let connection = try await RawConnection.open(to: base)
        let half = body.utf8.count / 2
        try await connection.send(
            """
            POST /v1/push HTTP/1.1\r\nHost: belfry\r\nAuthorization: Basic \(credentials)\r
            Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body.prefix(half))
            """)
        return SlowPush(connection: connection, rest: String(body.dropFirst(half)))
    }

    func finish() async throws { try await connection.send(rest) }

    var isAccepted: Bool { connection.received.hasPrefix("HTTP/1.1 200") }
}

/// A keep-alive connection that does not look at what the server does once it has its answer.
private struct DeafClient {
    private let descriptor: Int32

    init(port: UInt16) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { throw POSIXError(.ECONNREFUSED) }
    }

    func get(_ path: String) throws {
        let request = Array("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        var answer = [UInt8](repeating: 0, count: 4_096)
        guard send(descriptor, request, request.count, 0) == request.count,
            recv(descriptor, &answer, answer.count, 0) > 0
        else { throw POSIXError(.EPIPE) }
    }

    func close() { Foundation.close(descriptor) }
}

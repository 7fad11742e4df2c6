import BelfryServer
import BelfryService
import BelfrySimulators
import Foundation
import NIOCore
import PostgresRig
import Synchronization
import Testing

/// Networks that swallow, delay and lose, between the real program and its database and provider.
///
/// Once a network has healed, what is posted is delivered within `healed`.
extension OutageTests {
    @Suite(.timeLimit(.minutes(20))) struct NetworkTests {}
}

private let healed = Duration.seconds(30)

extension OutageTests.NetworkTests {
    @Test func `a provider black hole is waited out and sends resume`() async throws {
        let relays = Relays()
        try await TestInstallation.with(reachingProviderBy: { try await relays.open(to: .port($0)).port }) {
            installation in
            let line = try #require(relays.all.first)
            let crowd = try await installation.crowd(1_200)
            let server = try await installation.serve(
                Program.shortLeases.merging(["BELFRY_LOG_LEVEL": "debug"]) { _, own in own })
            defer { server.endAtOnce() }
            let sender = installation.sender(at: try await server.addresses().http)
            let before = try await sender.push("One", toTopic: "town")
            #expect(try await installation.settled(before).counts == ["accepted": crowd.count])

            line.become(.silent)
            // More than there are devices, where the first push met a machine that stood still for its deadline.
            let told = installation.simulator.ledger.totals().told
            let settled = server.count(of: "batch settled")
            let during = try await sender.push("Two", toTopic: "town")
            // Each of its batches waited for answers as long as it may, and waits to be tried again.
            try await eventually("its batches are given up") { server.count(of: "batch settled") >= settled + 3 }
            #expect(installation.simulator.ledger.totals().told == told)
            line.become(.fair)
            let after = try await sender.push("Three", toTopic: "town")
            #expect(try await installation.settled(after, within: healed).counts == ["accepted": crowd.count])
            #expect(try await installation.settled(during).counts == ["accepted": crowd.count])
            try await server.end(SIGTERM)
            #expect(server.ending == 0)
        }
        await relays.close()
    }

    @Test func `a database black hole is explained and sends resume`() async throws {
        try await withNodes { installation, relays, node in
            _ = try await installation.crowd(3)
            let line = try await relays.open(to: .path(installation.databaseSocket))
            let server = node(line)
            defer { server.endAtOnce() }
            try await server.start()
            let sender = installation.sender(at: try #require(server.address))
            let before = try await sender.push("One", toTopic: "town")
            #expect(try await installation.settled(before).counts == ["accepted": 3])
            line.become(.silent)
            try await eventually("it is not ready", every: .milliseconds(100)) {
                try await sender.send("GET", "/health/ready").status == 503
            }
            line.become(.fair)
            let after = try await eventually("a push is taken", within: healed, every: .milliseconds(100)) {
                try? await sender.push("Two", toTopic: "town")
            }
            #expect(try await installation.settled(after, within: healed).counts == ["accepted": 3])
            try await eventually("it is ready", within: healed, every: .milliseconds(100)) {
                try await sender.send("GET", "/health/ready").status == 200
            }
            try await server.stop()
        }
    }

    @Test func `a node cut off with a batch settles too late`() async throws {
        // Within its deadline the batch has to be seen in flight, and the node to be cut off.
        let deadline = ["BELFRY_DELIVERY_LEASE_SECONDS": "12", "BELFRY_APNS_DEADLINE_SECONDS": "10"]
        try await withNodes(deadline) { installation, relays, node in
            // One batch, for which one connection has streams enough once its first answer is there.
            let crowd = try await installation.crowd(400)
            let line = try await relays.open(to: .path(installation.databaseSocket))
            let cutOff = node(line)
            defer { cutOff.endAtOnce() }
            try await cutOff.start()
            let sender = installation.sender(at: try #require(cutOff.address))
            let before = try await sender.push("One", toTopic: "town")
            #expect(try await installation.settled(before).counts == ["accepted": crowd.count])

            // Told, and never answered: the batch ends when its time is over.
            installation.simulator.script.add(ServiceFault(then: .stall()))
            let push = try await sender.push("Two", toTopic: "town")
            try await eventually("its batch is in flight", every: .milliseconds(1)) {
                installation.simulator.script.timesHappened.contains { $0 > 0 }
            }
            line.become(.silent)
            installation.simulator.script.clear()
            let other = node(nil)
            defer { other.endAtOnce() }
            try await other.start()
            #expect(try await installation.settled(push).counts == ["accepted": crowd.count])
            #expect(!cutOff.logged.contains(Self.tooLate))

            line.become(.fair)
            try await eventually("it hears that it came too late", within: healed) {
                cutOff.logged.contains(Self.tooLate)
            }
            try await installation.withResources { resources in
                let receipt = try #require(try await resources.store.receipt(push))
                let answers = try await resources.store.answerCounts(of: receipt.push.key)
                #expect(Array(answers.values) == [[.accepted: crowd.count]], "a late settlement was written")
            }
            #expect(installation.simulator.ledger.totals().told <= 3 * crowd.count)
            // It works on as if nothing had been.
            try await other.stop()
            let after = try await sender.push("Three", toTopic: "town")
            #expect(try await installation.settled(after, within: healed).counts == ["accepted": crowd.count])
            try await cutOff.stop()
        }
    }

    private static let tooLate = "batch was settled by another delivery worker"

    @Test func `200 ms latency to database and provider loses nothing`() async throws {
        let far = Relay.FaultSchedule.slow(.milliseconds(200))
        // What is slow is answered in the end: nothing is given up, and no lease ends.
        let patience = ["BELFRY_DELIVERY_LEASE_SECONDS": "120", "BELFRY_APNS_DEADLINE_SECONDS": "60"]
        try await withNodes(patience, providerFaults: far) { installation, relays, node in
            let crowd = try await installation.crowd(1_200)
            let line = try await relays.open(to: .path(installation.databaseSocket))
            let server = node(line)
            defer { server.endAtOnce() }
            try await server.start()
            line.become(far)
            let base = try #require(server.address)
            let token = String(repeating: "ab", count: 32)
            let registered = try await installation.app(at: base).send(
                "POST", "/v1/registration", #"{"registration_token":"\#(token)","tags":["town"]}"#)
            #expect(registered.status == 200, "\(registered)")
            let push = try await installation.sender(at: base).push("Hello", toTopic: "town")
            #expect(try await installation.settled(push).counts == ["accepted": crowd.count + 1])
            #expect(installation.simulator.ledger.totals().tokensToldTwice == 0)
            try await server.stop()
        }
    }

    @Test(.enabled(if: OtherNetwork.canBeMade, "this takes root, ip, nsenter, and iptables with its match statistic"))
    func `packet loss loses nothing and sends resume after outages`() async throws {
        let network = try OtherNetwork()
        defer { network.close() }
        let relays = Relays()
        try await PostgresServer.with { database in
            let way = { (port: Int) in try await relays.open(to: .port(port), at: try network.boundSocket()).port }
            try await TestInstallation.with(database: database.url(of: "postgres"), reachingProviderBy: way) {
                installation in
                let crowd = try await installation.crowd(1_200)
                let line = try await relays.open(to: .path(installation.databaseSocket), at: try network.boundSocket())
                let server = NodeProgram(
                    1, in: installation.scratch, database: line.databaseURL, keyRing: installation.data + "/key-ring",
                    entrance: network.entrance)
                defer { server.endAtOnce() }
                try await server.start()
                try network.lose(0.1)
                let lossy = try await installation.post("One")
                #expect(try await installation.settled(lossy).counts == ["accepted": crowd.count])

                try network.lose(1)
                try await eventually("it notices") {
                    server.logged.contains("the server is not ready")
                }
                let during = try await installation.post("Two")
                try network.lose(0)
                let after = try await installation.post("Three")
                #expect(try await installation.settled(after, within: healed).counts == ["accepted": crowd.count])
                #expect(try await installation.settled(during).counts == ["accepted": crowd.count])
                try await server.stop()
            }
            await relays.close()
        }
    }

    /// Makes nodes on a PostgreSQL, each reaching it through a relay, or straight.
    private func withNodes(
        _ settings: [String: String] = [:], providerFaults: Relay.FaultSchedule = .fair,
        _ body: (TestInstallation, Relays, (Relay?) -> NodeProgram) async throws -> Void
    ) async throws {
        try await PostgresServer.with { database in
            let relays = Relays()
            let way = { (port: Int) async throws -> Int in
                let relay = try await relays.open(to: .port(port))
                relay.become(providerFaults)
                return relay.port
            }
            try await TestInstallation.with(database: database.url(of: "postgres"), reachingProviderBy: way) {
                installation in
                var number = 0
                try await body(installation, relays) { line in
                    number += 1
                    return NodeProgram(
                        number, in: installation.scratch, database: line?.databaseURL ?? database.url(of: "postgres"),
                        keyRing: installation.data + "/key-ring", settings)
                }
            }
            await relays.close()
        }
    }
}

/// The relays of one test.
private final class Relays: Sendable {
    var all: [Relay] { opened.withLock { $0 } }
    private let opened = Mutex<[Relay]>([])

    func open(to target: Relay.Target, at socket: CInt? = nil) async throws -> Relay {
        let relay = try await Relay.open(to: target, at: socket)
        opened.withLock { $0.append(relay) }
        return relay
    }

    func close() async {
        for relay in all { await relay.close() }
    }
}

extension Relay {
    /// The URL of the PostgreSQL behind it.
    fileprivate var databaseURL: String { "postgres://postgres@127.0.0.1:\(port)/postgres" }
}

extension TestInstallation {
    /// The socket of its PostgreSQL.
    fileprivate var databaseSocket: String {
        let host = database?.split(separator: "@").last?.split(separator: "/").first ?? ""
        return host.replacingOccurrences(of: "%2F", with: "/") + "/.s.PGSQL.5432"
    }

    /// Posts a push beside any server.
    fileprivate func post(_ text: String) async throws -> UUID {
        struct Posted: Decodable { let receipt_id: UUID }
        let posted: Posted = try await run(
            "push", "--app", application, "--topic", "town", "--body", text, "--json"
        ).decoded()
        return posted.receipt_id
    }
}

extension Program {
    fileprivate func count(of words: String) -> Int { logged.components(separatedBy: words).count - 1 }
}

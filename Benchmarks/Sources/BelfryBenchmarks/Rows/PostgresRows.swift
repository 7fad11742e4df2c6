import Foundation

/// Nodes on PostgreSQL, beside the embedded store on the same machine, and beside PostgreSQL alone.
struct PostgresRows {
    let environment: BenchmarkEnvironment

    func measure() async throws -> [Row] {
        let database = try await Postgres.start()
        do {
            let rows = try await measure(on: database)
            try await database.stop()
            return rows
        } catch {
            try await database.stop()
            throw error
        }
    }

    private func measure(on database: Postgres) async throws -> [Row] {
        let (embedded, embeddedCrowd) = try await environment.serverWithCrowd()
        let directory = "\(environment.directory)/postgres"
        // Those of an earlier run are of another database.
        try? FileManager.default.removeItem(atPath: directory)
        let first = try await Server.start(
            belfry: environment.options.belfry, directory: "\(directory)/1", simulator: environment.simulator,
            database: database.url)
        note("registering \(environment.options.devices.grouped) devices on PostgreSQL")
        let (crowd, _) = try await Crowd.register(count: environment.options.devices, at: first, in: "\(directory)/1")
        let registrations = try await registrations(at: first, database)
        var (theirs, alone, together): ([Double], [Double], [Double]) = ([], [], [])
        for _ in 0..<environment.options.longRounds {
            theirs.append(try await push(to: embeddedCrowd, by: [embedded]))
            alone.append(try await push(to: crowd, by: [first]))
        }
        let second = try await Server.start(beside: first, directory: "\(directory)/2")
        for _ in 0..<environment.options.longRounds { together.append(try await push(to: crowd, by: [first, second])) }
        try await second.stop()
        try await first.stop()
        let ratio = zip(alone, theirs).map { $0 / $1 }.median
        return [
            Row(
                what: "whole path to \(crowd.count.grouped) devices, one node on PostgreSQL",
                ours: alone.median.perSecond,
                reference: "SQLite \(theirs.median.perSecond)", ratio: ratio.fixed(2), target: "≥ 0.6",
                isReached: ratio >= 0.6),
            Row(
                what: "the same by two nodes on the same cores", ours: together.median.perSecond,
                reference: "one node \(alone.median.perSecond)", ratio: (together.median / alone.median).fixed(2),
                target: "told"),
            registrations,
        ]
    }

    /// One push to everyone, to the end; how many were notified a second.
    private func push(to crowd: Crowd, by nodes: [Server]) async throws -> Double {
        let sender = try await Sender(nodes[0])
        try await environment.simulator.forget()
        let before = try await answered(nodes)
        let posted = try await sender.push(to: .all)
        while try await answered(nodes) < before + crowd.count { try await Task.sleep(for: .milliseconds(20)) }
        let receipt = try await nodes[0].receipt(posted.receipt)
        guard receipt.state == "settled", receipt.counts == ["accepted": crowd.count] else {
            throw BenchmarkFault("a push to \(crowd.count) devices ended as \(receipt)")
        }
        return Double(crowd.count) / (try receipt.seconds())
    }

    private func answered(_ nodes: [Server]) async throws -> Int {
        var sum = 0
        for node in nodes { sum += try await node.answered() }
        return sum
    }

    private static let clients = 64

    private func registrations(at server: Server, _ database: Postgres) async throws -> Row {
        let requests = RegistrationRequests(
            path: "/v1/registration", port: server.port, credentials: server.identity.app)
        let load = HTTPLoad(port: server.port, connections: Self.clients, write: requests.write)
        let count = environment.options.quick ? 20_000 : 40_000
        var next = 1_500_000_000
        var (ours, theirs): ([Double], [Double]) = ([], [])
        for _ in 0..<environment.options.rounds {
            ours.append(try await load.run(next..<next + count))
            theirs.append(
                try await database.singleInserts(clients: Self.clients, seconds: environment.options.quick ? 5 : 10))
            next += count
        }
        let ratio = zip(ours, theirs).map { $0 / $1 }.median
        return Row(
            what: "registrations with ten tags on PostgreSQL, on \(environment.options.devices.grouped) devices",
            ours: ours.median.perSecond, reference: "pgbench, single rows \(theirs.median.perSecond)",
            ratio: ratio.fixed(2), target: "≥ 0.8", isReached: ratio >= 0.8)
    }
}

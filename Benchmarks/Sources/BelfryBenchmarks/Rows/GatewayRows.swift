import Foundation
import NIOSSL

/// Old senders at the binary gateway: the memory of connections that wait, and records of one connection beside pushes to one
/// device over HTTP.
struct GatewayRows {
    let environment: BenchmarkEnvironment

    private static let connections = 1_000
    private static let passphrase = "bench"

    func measure() async throws -> [Row] {
        try FileLimit.raise(to: UInt(3 * Self.connections))
        let directory = "\(environment.directory)/gateway"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let (port, certificate) = (try freePort(), "\(directory)/gateway.pem")
        try await certify(directory)
        let server = try await Server.start(
            belfry: environment.options.belfry, directory: directory, simulator: environment.simulator,
            settings: [
                "BELFRY_GATEWAY_PORT": "\(port)", "BELFRY_GATEWAY_TLS_CERTIFICATE": certificate,
                "BELFRY_GATEWAY_TLS_KEY": "\(directory)/gateway.key",
            ])
        let context = try GatewayConnection.tls(
            authority: certificate, identity: try await credential(server, directory), passphrase: Self.passphrase)
        let (crowd, _) = try await Crowd.register(count: 10_000, at: server, in: directory)
        let records = GatewayRecords(tokens: (0..<crowd.singles.count).map { Devices.token(Crowd.single($0)) })
        let bench = Bench(server: server, port: port, context: context, records: records, crowd: crowd)
        let rows = [try await idleRow(bench), try await rateRow(bench)]
        try await server.stop()
        return rows
    }

    private struct Bench {
        let server: Server
        let port: Int
        let context: NIOSSLContext
        let records: GatewayRecords
        let crowd: Crowd

        func open() async throws -> GatewayConnection { try await .open(port: port, context, records) }

        /// Waits until so many devices have their answers.
        func wait(for count: Int) async throws {
            while try await server.answered() < count { try await Task.sleep(for: .milliseconds(20)) }
        }
    }

    // MARK: Connections that wait

    /// Each has sent a record and keeps still, as senders do between pushes.
    private func idleRow(_ bench: Bench) async throws -> Row {
        let first = try await bench.open()
        let begun = try await bench.server.answered()
        try await first.send(0..<2_000)
        try await bench.wait(for: begun + 2_000)
        try await Task.sleep(for: .seconds(2))
        let before = bench.server.child.meter.residentMiB
        var connections: [GatewayConnection] = []
        for number in 0..<Self.connections {
            connections.append(try await bench.open())
            try await connections[number].send(number..<number + 1)
        }
        try await bench.wait(for: begun + 2_000 + Self.connections)
        try await Task.sleep(for: .seconds(2))
        let after = bench.server.child.meter.residentMiB
        guard connections.allSatisfy(\.isOpen) else { throw BenchmarkFault("the gateway closed a connection") }
        for connection in connections + [first] { try await connection.close() }
        let each = (after - before) * 1_024 / Double(Self.connections)
        return Row(
            what: "\(Self.connections.grouped) idle connections of the gateway, memory of one",
            ours: "\(each.fixed(1)) KiB", reference: "before them \(before.fixed(0)) MiB", target: "≤ 24 KiB",
            isReached: each <= 24,
            memory: after.fixed(0))
    }

    // MARK: The rate

    private var count: Int { environment.options.quick ? 20_000 : 100_000 }

    private func rateRow(_ bench: Bench) async throws -> Row {
        let connection = try await bench.open()
        var (ours, theirs): ([Load], [Load]) = ([], [])
        for round in 0..<environment.options.rounds {
            theirs.append(try await told(bench) { try await post(bench, round) })
            ours.append(try await told(bench) { try await connection.send(round * count..<(round + 1) * count) })
        }
        try await connection.close()
        let ratio = zip(ours, theirs).map { $0.rate / $1.rate }.median
        return Row(
            what: "records of one connection of the gateway, accepted and told",
            ours: ours.map(\.rate).median.perSecond,
            reference: "pushes to one device over HTTP \(theirs.map(\.rate).median.perSecond)", ratio: ratio.fixed(2),
            target: "≥ 1.5", isReached: ratio >= 1.5,
            cpu: "\(ours.map(\.cpu).median.fixed(0)), \(theirs.map(\.cpu).median.fixed(0))")
    }

    private struct Load {
        /// Devices notified per second.
        let rate: Double
        /// Milliseconds of the server for 1,000.
        let cpu: Double
    }

    private func told(_ bench: Bench, _ send: () async throws -> Void) async throws -> Load {
        let meter = bench.server.child.meter
        let (end, cpu, started) = (
            try await bench.server.answered() + count, meter.cpuMilliseconds, ContinuousClock.now
        )
        try await send()
        try await bench.wait(for: end)
        return Load(
            rate: Double(count) / ((ContinuousClock.now - started) / .seconds(1)),
            cpu: (meter.cpuMilliseconds - cpu) / Double(count) * 1_000)
    }

    private func post(_ bench: Bench, _ round: Int) async throws {
        let requests = SmallPushRequests(
            path: "/v1/push", port: bench.server.port, credentials: bench.server.identity.sender,
            targets: bench.crowd.singles.map { #"{"devices":["\#($0)"]}"# })
        // Its idempotency keys are not those of another round, or of another run.
        let first = (Int(WallClock.now) / 1_000 % 1_000_000 * 100 + round) * 1_000_000
        let load = HTTPLoad(port: bench.server.port, connections: 64, write: requests.write)
        _ = try await load.run(first..<first + count)
    }

    // MARK: Certificates

    /// Makes the gateway's own, which its senders trust as it is.
    private func certify(_ directory: String) async throws {
        _ = try await Child.run(
            [
                "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-days", "30", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                "-keyout", "\(directory)/gateway.key", "-out", "\(directory)/gateway.pem",
            ], log: "\(directory)/openssl")
    }

    /// A new file each time: an earlier run's may be of another platform.
    private func credential(_ server: Server, _ directory: String) async throws -> String {
        let (out, word) = ("\(directory)/sender.p12", "\(directory)/passphrase")
        try? FileManager.default.removeItem(atPath: out)
        try Self.passphrase.write(toFile: word, atomically: true, encoding: .utf8)
        _ = try await Child.run(
            [
                environment.options.belfry, "gateway", "credential", "create", "--platform",
                server.identity.platform_uuid, "--out", out, "--passphrase-file", word, "--data-directory",
                "\(directory)/data",
            ], log: "\(directory)/credential")
        return out
    }
}

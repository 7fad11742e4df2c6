import Foundation
import NIOCore

/// A simulated provider other than APNs, in a process of its own.
struct SimulatedProvider: Sendable {
    let child: Child
    let directory: String
    private let facts: [String: String]
    private let control: HTTPCaller

    /// - Parameters:
    ///   - name: as `belfry simulate` calls it.
    ///   - last: the last fact that it tells.
    static func start(
        _ name: String, _ options: [String] = [], upTo last: String, belfry: String, directory: String
    ) async throws -> SimulatedProvider {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let child = try Child(
            [
                belfry, "simulate", name, "--port", "0", "--control-port", "0", "--ca-out", "\(directory)/ca.pem",
                "--credentials-out", "\(directory)/credentials",
            ] + options, log: "\(directory)/log")
        let facts = try await child.facts(upTo: last)
        guard let port = facts["control-port"].flatMap({ Int($0) }) else {
            throw BenchmarkFault("the simulator did not tell its control port:\n\(child.output)")
        }
        return SimulatedProvider(child: child, directory: directory, facts: facts, control: HTTPCaller(port: port))
    }

    var authorityFile: String { "\(directory)/ca.pem" }
    var credentialsFile: String { "\(directory)/credentials" }

    func fact(_ name: String) throws -> String {
        guard let value = facts[name] else { throw BenchmarkFault("the simulator did not tell its \(name)") }
        return value
    }

    var port: Int { facts["port"].flatMap { Int($0) } ?? 0 }

    /// Adds a fault to the script; docs/Simulators.md has their form.
    func fail(_ fault: String) async throws { try await control.perform("/script/faults", fault) }

    func forget() async throws { try await control.delete("/ledger") }

    struct Totals: Decodable, Sendable {
        let told: Int
        let refused: Int
        let byStatus: [String: Int]
    }

    func totals() async throws -> Totals {
        let reply = try await control.get("/ledger")
        return try JSONDecoder().decode(Totals.self, from: Data(reply.body.readableBytesView))
    }

    func stop() async throws {
        try await control.close()
        try await child.stop()
    }
}

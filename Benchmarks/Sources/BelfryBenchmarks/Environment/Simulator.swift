import Foundation
import NIOCore

/// A simulated APNs, in a process of its own.
struct Simulator: Sendable {
    let child: Child
    let port: Int
    let keys: Keys
    private let control: HTTPCaller

    static func start(belfry: String, directory: String, latency: Int = 0) async throws -> Simulator {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let child = try Child(
            [
                belfry, "simulate", "apns", "--port", "0", "--control-port", "0", "--latency", "\(latency)",
                "--ca-out", "\(directory)/ca.pem", "--key-out", "\(directory)/key.p8",
            ], log: "\(directory)/log")
        let said = try await child.facts(upTo: "team-id")
        for name in ["key-id", "team-id"] {
            try (said[name] ?? "").write(toFile: "\(directory)/\(name)", atomically: true, encoding: .utf8)
        }
        guard let port = said["port"].flatMap({ Int($0) }), let control = said["control-port"].flatMap({ Int($0) })
        else {
            throw BenchmarkFault("the simulator did not tell its ports:\n\(child.output)")
        }
        return Simulator(
            child: child, port: port, keys: try Keys.read(directory), control: HTTPCaller(port: control))
    }

    /// Adds a fault to the script; docs/Simulators.md has their form.
    func fail(_ fault: String) async throws { try await control.perform("/script/faults", fault) }

    /// Takes so long over each answer, from now on.
    func delay(by milliseconds: Int) async throws {
        try await control.perform("/script", #"{"latencyMilliseconds":\#(milliseconds)}"#, method: "PUT")
    }

    func forget() async throws { try await control.delete("/ledger") }

    /// The time when a device was first notified, in milliseconds since 1970; nil if it was not. The ledger cuts off fractions.
    func firstTold(_ device: Int) async throws -> Double? {
        struct Token: Decodable { let firstAt: Double }
        let reply = try await control.get("/ledger/tokens/\(Devices.hex(device))")
        guard reply.status == 200 else { return nil }
        return try JSONDecoder().decode(Token.self, from: Data(reply.body.readableBytesView)).firstAt
    }

    func toldCount() async throws -> Int {
        struct Totals: Decodable { let told: Int }
        let reply = try await control.get("/ledger")
        return try JSONDecoder().decode(Totals.self, from: Data(reply.body.readableBytesView)).told
    }

    func stop() async throws {
        try await control.close()
        try await child.stop()
    }
}

extension Child {
    /// The facts that a simulator prints, a name and a value a line, once it has printed the last of them.
    func facts(upTo last: String) async throws -> [String: String] {
        try await expect("the simulator's \(last)") { output in
            let lines = output.split(separator: "\n").map { $0.split(separator: " ") }.filter { $0.count == 2 }
            let facts = Dictionary(lines.map { (String($0[0]), String($0[1])) }, uniquingKeysWith: { $1 })
            return facts[last] == nil ? nil : facts
        }
    }
}

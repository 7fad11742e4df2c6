import Foundation

/// The load generator of nghttp2, the ceiling that our client is held against.
struct H2Load: Sendable {
    let simulator: Simulator
    private let directory: String
    private let token: String

    struct Result: Sendable {
        let rate: Double
        let cpuPerThousand: Double
        let peakMiB: Double
    }

    /// Writes the payload and the addresses down that it reads.
    init(_ simulator: Simulator) throws {
        self.simulator = simulator
        directory = simulator.keys.directory
        token = try simulator.keys.jwt()
        try Workload.payload.write(toFile: "\(directory)/payload.json", atomically: true, encoding: .utf8)
        let base = "https://localhost:\(simulator.port)/3/device/"
        let addresses = (0..<Workload.tokenCount).map { base + Devices.hex($0) }
        try addresses.joined(separator: "\n").write(toFile: "\(directory)/addresses", atomically: true, encoding: .utf8)
    }

    func run(requests: Int, connections: Int) async throws -> Result {
        let headers = [
            "authorization: bearer \(token)", "apns-topic: \(Workload.topic)", "apns-push-type: alert",
            "apns-priority: 10",
        ]
        let ended = try await Child.run(
            ["h2load", "-n", "\(requests)", "-c", "\(connections)", "-m", "1000", "-t", "1"]
                + ["-i", "\(directory)/addresses", "-d", "\(directory)/payload.json"]
                + headers.flatMap { ["-H", $0] }, log: "\(directory)/h2load")
        let lines = ended.output.split(separator: "\n")
        // It opens streams before it has read how many are allowed; the simulator refuses those, as APNs does.
        guard let accepted = Self.number("status codes:", in: lines), accepted >= Double(requests) * 0.99,
            let rate = Self.number("finished in", in: lines)
        else { throw BenchmarkFault("h2load failed:\n\(ended.output)") }
        return Result(
            rate: rate, cpuPerThousand: ended.cpuMilliseconds / Double(requests) * 1_000, peakMiB: ended.peakMiB)
    }

    /// The first plain number of a line that begins so.
    private static func number(_ start: String, in lines: [Substring]) -> Double? {
        lines.first { $0.hasPrefix(start) }?.split(separator: " ").lazy.compactMap { Double($0) }.first
    }
}

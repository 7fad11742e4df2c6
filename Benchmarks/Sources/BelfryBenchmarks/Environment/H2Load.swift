import Foundation
import HTTP2Client

/// The load generator of nghttp2, the ceiling that our clients are held against.
struct H2Load: Sendable {
    private let directory: String
    private let headers: [String]
    /// How many streams one connection has open at once.
    private let streams: Int

    struct Result: Sendable {
        let rate: Double
        let cpuPerThousand: Double
        let peakMiB: Double
    }

    /// Writes the payload and the addresses down that it reads.
    private init(directory: String, addresses: [String], payload: String, headers: [String], streams: Int) throws {
        self.directory = directory
        self.headers = headers
        self.streams = streams
        try payload.write(toFile: "\(directory)/payload.json", atomically: true, encoding: .utf8)
        try addresses.joined(separator: "\n").write(toFile: "\(directory)/addresses", atomically: true, encoding: .utf8)
    }

    init(_ simulator: Simulator) throws {
        let base = "https://localhost:\(simulator.port)/3/device/"
        try self.init(
            directory: simulator.keys.directory, addresses: (0..<Workload.tokenCount).map { base + Devices.hex($0) },
            payload: Workload.payload,
            headers: [
                "authorization: bearer \(try simulator.keys.jwt())", "apns-topic: \(Workload.topic)",
                "apns-push-type: alert", "apns-priority: 10",
            ], streams: 1_000)
    }

    /// FCM has the device in the body, of which there is one: all messages are for the same. It takes 100 streams.
    init(fcm provider: SimulatedProvider) throws {
        try self.init(
            directory: provider.directory, addresses: [try provider.fact("send")],
            payload: FCMWorkload.body(token: FCMWorkload.token(0)),
            headers: ["authorization: Bearer \(FCMWorkload.bearer)", "content-type: application/json"], streams: 100)
    }

    /// - Parameter addresses: a file with an endpoint a line.
    init(webPush provider: SimulatedProvider, addresses: String) throws {
        directory = provider.directory
        headers = PostingWorkload.webPushHeaders.map {
            "\(String(decoding: $0.name, as: UTF8.self)): \(String(decoding: $0.value, as: UTF8.self))"
        }
        streams = 100
        try Data(PostingWorkload.ciphertext).write(to: URL(fileURLWithPath: "\(directory)/payload.json"))
        guard addresses == "\(directory)/addresses" else { throw BenchmarkFault("h2load reads its own addresses") }
    }

    func run(requests: Int, connections: Int) async throws -> Result {
        let ended = try await Child.run(
            ["h2load", "-n", "\(requests)", "-c", "\(connections)", "-m", "\(streams)", "-t", "1"]
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

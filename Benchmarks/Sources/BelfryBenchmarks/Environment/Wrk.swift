import Foundation

/// The load generator for HTTP/1.1 that our clients are held against. One thread, 64 connections.
struct Wrk: Sendable {
    private let directory: String
    private let url: String

    struct Result: Sendable {
        let rate: Double
        let cpuPerThousand: Double
        let peakMiB: Double
    }

    init(_ provider: SimulatedProvider, addresses: String) throws {
        directory = provider.directory
        url = "https://localhost:\(provider.port)/"
        try PostingWorkload.wrkScript(addresses: addresses).write(
            toFile: "\(directory)/wrk.lua", atomically: true, encoding: .utf8)
    }

    func run(seconds: Int) async throws -> Result {
        let ended = try await Child.run(
            ["wrk", "-t", "1", "-c", "64", "-d", "\(seconds)s", "-s", "\(directory)/wrk.lua", url],
            log: "\(directory)/wrk")
        let lines = ended.output.split(separator: "\n")
        // "  123456 requests in 6.00s, 20MB read"
        let words = lines.first { $0.contains(" requests in ") }?.split(separator: " ") ?? []
        guard let requests = words.first.flatMap({ Double($0) }), requests > 0,
            !ended.output.contains("Non-2xx"), !ended.output.contains("Socket errors"), words.count > 3,
            let took = Double(words[3].dropLast(2))
        else { throw BenchmarkFault("wrk failed:\n\(ended.output)") }
        return Result(
            rate: requests / took, cpuPerThousand: ended.cpuMilliseconds / requests * 1_000, peakMiB: ended.peakMiB)
    }
}

import Foundation

/// An expression of six terms over devices with values: how soon a push to it has its first batch, how fast its lists are scanned, and
/// what its size costs, exact and estimated.
struct ExpressionRows {
    let environment: BenchmarkEnvironment

    private typealias Expected = ValuedDevice.Expected

    func measure() async throws -> [Row] {
        let count = environment.options.devices
        let crowd = Expected(among: count)
        if environment.options.scale {
            let (server, _) = try await environment.serverWithCrowd()
            return try await sizes(server, crowd) + pushes(server, crowd)
        }
        let directory = "\(environment.directory)/expressions-\(count)"
        let server = try await Server.start(
            belfry: environment.options.belfry, directory: directory, simulator: environment.simulator)
        do {
            try await importDevices(count, at: server, in: directory)
            let rows = try await sizes(server, crowd) + pushes(server, crowd)
            try await server.stop()
            return rows
        } catch {
            try await server.stop()
            throw error
        }
    }

    /// Imports the devices, unless an earlier run did.
    private func importDevices(_ count: Int, at server: Server, in directory: String) async throws {
        let done = "\(directory)/done"
        guard !FileManager.default.fileExists(atPath: done) else { return }
        note("importing \(count.grouped) devices")
        let start = WallClock.now
        let list = "\(directory)/devices.jsonl"
        try write(count, to: list)
        try await server.importDevices(of: list)
        note("imported at \((Double(count) / (WallClock.now - start) * 1_000).perSecond)")
        try FileManager.default.removeItem(atPath: list)
        try await server.waitUntilIdle()
        try Data().write(to: URL(fileURLWithPath: done))
    }

    private func write(_ count: Int, to list: String) throws {
        guard FileManager.default.createFile(atPath: list, contents: nil), let file = FileHandle(forWritingAtPath: list)
        else { throw BenchmarkFault("\(list) cannot be written") }
        for first in stride(from: 0, to: count, by: 10_000) {
            try file.write(
                contentsOf: Data((first..<min(first + 10_000, count)).map { ValuedDevice($0).line }.joined()))
        }
        try file.close()
    }

    private struct Size: Decodable {
        let devices: Int
        let is_exact: Bool
        let margin: Int
    }

    private func sizes(_ server: Server, _ crowd: Expected) async throws -> [Row] {
        let http = HTTPCaller(port: server.port)
        let (path, key) = ("/admin/v1/apps/\(server.identity.app_uuid)/audience/count", try server.adminKey)
        func size(_ isEstimated: Bool) async throws -> (size: Size, wall: Double, cpu: Double) {
            let (start, before) = (WallClock.now, server.child.meter.cpuMilliseconds)
            let reply = try await http.post(
                path, key: key, #"{"where":"\#(ValuedDevice.expression)","estimate":\#(isEstimated)}"#)
            let size = try JSONDecoder().decode(Size.self, from: Data(reply.text.utf8))
            return (size, reply.at - start, server.child.meter.cpuMilliseconds - before)
        }
        // The first reads the file.
        _ = try await size(false)
        var exact: [(size: Size, wall: Double, cpu: Double)] = []
        var estimated = exact
        for _ in 0..<2 * environment.options.rounds {
            exact.append(try await size(false))
            estimated.append(try await size(true))
        }
        try await http.close()
        if let wrong = exact.first(where: { $0.size.is_exact && $0.size.devices != crowd.devices }) {
            throw BenchmarkFault("\(crowd.devices) devices were counted as \(wrong.size)")
        }
        let (whole, guess) = (exact.map(\.wall).median, estimated.map(\.wall).median)
        let isExact = exact.allSatisfy(\.size.is_exact)
        let (error, margin) = (abs(estimated[0].size.devices - crowd.devices), estimated[0].size.margin)
        return [
            Row(
                what: "six terms over \(environment.options.devices.grouped) devices: the exact count of "
                    + crowd.devices.grouped,
                ours: "\(whole.fixed(0)) ms\(isExact ? "" : ", some estimated")", target: "≤ 1 s",
                isReached: isExact && whole <= 1_000, cpu: "\(exact.map(\.cpu).median.fixed(0)) for all"),
            Row(
                what: "their estimate", ours: "\(guess.fixed(0)) ms, \(error.grouped) off, margin \(margin.grouped)",
                target: "≤ 100 ms", isReached: guess <= 100, cpu: "\(estimated.map(\.cpu).median.fixed(0)) for all"),
        ]
    }

    private func pushes(_ server: Server, _ crowd: Expected) async throws -> [Row] {
        let sender = try await Sender(server)
        var (firsts, rates): ([Double], [Double]) = ([], [])
        for _ in 0..<environment.options.rounds {
            let (first, whole) = try await environment.fanOut(to: crowd.devices, at: server) {
                try await sender.push(where: ValuedDevice.expression)
            }
            firsts.append(first)
            rates.append(Double(crowd.postings) / whole * 1_000)
        }
        return [
            Row(
                what: "a push to them: POST → first batch", ours: "\(firsts.median.fixed(0)) ms", target: "≤ 50 ms",
                isReached: firsts.median <= 50),
            Row(
                what: "its whole scan, in the \(crowd.postings.grouped) postings of five terms",
                ours: rates.median.perSecond, target: "≥ 2,000,000 /s", isReached: rates.median >= 2_000_000),
        ]
    }
}

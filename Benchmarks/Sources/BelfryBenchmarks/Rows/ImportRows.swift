import Foundation

/// Devices of another server: how fast a list of them is imported, beside registrations over HTTP, and what a look-up by an old UUID
/// costs, beside one by our own.
struct ImportRows {
    let environment: BenchmarkEnvironment

    func measure() async throws -> [Row] {
        let (server, crowd) = try await environment.serverWithCrowd()
        var next = 1_200_000_000 + Int.random(in: 0..<100_000_000)
        let requests = RegistrationRequests(
            path: "/v1/registration", port: server.port, credentials: server.identity.app)
        let load = HTTPLoad(port: server.port, connections: 64, write: requests.write)
        var (imported, registered): ([Double], [Double]) = ([], [])
        for _ in 0..<environment.options.longRounds {
            registered.append(try await load.run(next..<next + count))
            next += count
            let list = try write(next..<next + count, by: requests)
            let start = WallClock.now
            try await server.importDevices(of: list)
            imported.append(Double(count) / (WallClock.now - start) * 1_000)
            next += count
        }
        let ratio = zip(imported, registered).map { $0 / $1 }.median
        return [
            Row(
                what: "devices imported with ten tags and a UUID, on \(crowd.count.grouped) devices",
                ours: imported.median.perSecond, reference: "registered \(registered.median.perSecond)",
                ratio: ratio.fixed(2), target: "≥ 0.7", isReached: ratio >= 0.7)
        ] + (try await lookUps(of: next - count, server, crowd))
    }

    private var count: Int { environment.options.quick ? 40_000 : 200_000 }

    /// A UUID that tells its device's number.
    private static func uuid(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return "5e3e9847-3183-4f18-a7e8-" + String(repeating: "0", count: 12 - digits.count) + digits
    }

    private func write(_ numbers: Range<Int>, by requests: RegistrationRequests) throws -> String {
        let path = "\(environment.directory)/devices.jsonl"
        var lines = Data()
        for number in numbers {
            var body = requests.body(number)
            body.removeLast()
            lines.append(contentsOf: body)
            lines.append(contentsOf: ",\"device_uuid\":\"\(Self.uuid(number))\"}\n".utf8)
        }
        try lines.write(to: URL(fileURLWithPath: path))
        return path
    }

    private func lookUps(of first: Int, _ server: Server, _ crowd: Crowd) async throws -> [Row] {
        let http = HTTPCaller(port: server.port)
        func times(_ uuid: (Int) -> String) async throws -> [Double] {
            var times: [Double] = []
            for number in 0..<2_000 {
                let start = WallClock.now
                let reply = try await http.get("/v1/registration/\(uuid(number))", credentials: server.identity.app)
                guard reply.text.contains("device_uuid") else { throw BenchmarkFault("\(uuid(number)) is unknown") }
                times.append(reply.at - start)
            }
            return times
        }
        let own = try await times { crowd.singles[$0 % crowd.singles.count] }
        let old = try await times { Self.uuid(first + $0 * 7 % count) }
        try await http.close()
        return [
            Row(
                what: "look-up of a device by the UUID of another server", ours: "\(old.median.fixed(2)) ms",
                reference: "by our own \(own.median.fixed(2)) ms", ratio: (old.median / own.median).fixed(2),
                target: "told")
        ]
    }
}

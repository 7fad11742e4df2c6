import Foundation

/// The devices of `--scale`: a crowd that one command imports, with topics that few have and with values for expressions.
enum World {
    /// The number of devices that are notified one by one.
    static let singleCount = 1_200
    /// Topics that together have 12 % of the devices.
    static let topics = (0..<64).map { "scale-\($0)" }

    private static func topic(of number: Int) -> String? {
        var state = UInt64(number) &* 13 &+ 5
        let word = Devices.splitMix(&state)
        return word % 100 < 12 ? topics[Int(word >> 32) % topics.count] : nil
    }

    /// How many devices have one of the topics.
    static func topicSize(among count: Int) -> Int { (0..<count).count { topic(of: $0) != nil } }

    /// The lines of an import, each with ten topics.
    struct Lines: Sendable {
        private let requests: RegistrationRequests

        init(count: Int) {
            requests = RegistrationRequests(path: "", port: 0, credentials: "") { number in
                Crowd.marks(of: number, among: count) + ValuedDevice(number).namedTopics
                    + (World.topic(of: number).map { [$0] } ?? [])
            }
        }

        func write(_ number: Int, to lines: inout [UInt8]) {
            lines += requests.body(number).dropLast()
            lines.append(UInt8(ascii: ","))
            lines += ValuedDevice(number).values.utf8
            lines += "}\n".utf8
        }
    }

    /// How the devices came.
    struct Arrival: Codable, Sendable {
        let count: Int
        let seconds: Double
        /// The size of the database with its log, once the devices are indexed.
        let bytes: Int
        /// Whether the figures are of an earlier run.
        var isKept = false

        private enum CodingKeys: CodingKey { case count, seconds, bytes }
    }

    /// Imports the devices by one command, which reads them while another process writes them, unless an earlier run did.
    static func arrive(count: Int, at server: Server, in directory: String) async throws -> Arrival {
        let file = "\(directory)/arrival-\(count).json"
        if let known = FileManager.default.contents(atPath: file) {
            var arrival = try JSONDecoder().decode(Arrival.self, from: known)
            arrival.isKept = true
            return arrival
        }
        note("importing \(count.grouped) devices")
        let start = ContinuousClock.now
        let new = try await server.importDevices(
            from: [CommandLine.arguments[0], "device-lines", "--count", "\(count)"],
            verdicts: "\(directory)/world.csv")
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        guard new == count else { throw BenchmarkFault("\(new) of \(count) devices were imported") }
        try? FileManager.default.removeItem(atPath: "\(directory)/world.csv")
        note("imported at \((Double(count) / seconds).perSecond)")
        try await server.waitUntilIdle()
        let arrival = Arrival(count: count, seconds: seconds, bytes: server.databaseBytes)
        try JSONEncoder().encode(arrival).write(to: URL(fileURLWithPath: file))
        return arrival
    }
}

import APNs
import ArgumentParser
import Foundation
import HTTP2Client
import Logging
import NIOPosix

/// The APNs client alone, in a process of its own, so that its CPU is counted alone.
struct ClientRole: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "client", shouldDisplay: false)

    @Option var port: Int
    @Option var keys: String
    @Option var requests: Int
    @Option var connections: Int
    /// Sends until all connections are open, before the clock starts: they are opened half a second apart.
    @Flag var warmsUp = false

    func run() async throws {
        let keys = try Keys.read(self.keys)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        var configuration = APNsClient.Configuration()
        configuration.pool.connectionsMax = connections
        let client = try APNsClient(
            credentials: .token(p8: keys.p8, keyID: keys.keyID, teamID: keys.teamID),
            endpoint: APNsEndpoint(host: "localhost", port: port, trustRoots: Array(keys.authority.utf8)),
            configuration: configuration, eventLoopGroup: group, logger: Logger(label: "client"))
        let batches = try Workload.batches()
        let tasks = SendingTasks(size: 4 * connections) { number in
            let answers = await client.send(batches[number % batches.count])
            guard answers.allSatisfy(\.isAccepted) else {
                throw BenchmarkFault("a batch was answered \(answers.first { !$0.isAccepted } as Any)")
            }
        }
        if warmsUp {
            while client.snapshot.connectionsOpen < connections { try await tasks.send(20 * tasks.size) }
            try await tasks.send(4 * tasks.size)
        }
        let result = try await tasks.measured(batches: requests / Workload.batchSize)
        try result.tell()
        await client.shutdown(within: .seconds(2))
    }
}

extension APNsAnswer {
    fileprivate var isAccepted: Bool { if case .accepted = self { true } else { false } }
}

/// The requests of both the client and h2load: the same payload to the same tokens.
enum Workload {
    static let batchSize = 500
    static let tokenCount = 20_000
    static let topic = "org.example.belfry-bench"

    /// 227 bytes.
    static let payload: String = {
        let (start, end) = (#"{"aps":{"alert":{"title":"News","body":""#, #""}}}"#)
        return start + String(repeating: "x", count: 227 - start.utf8.count - end.utf8.count) + end
    }()

    static func batches() throws -> [APNsBatch] {
        let message = try APNsMessage(topic: topic, payload: Array(payload.utf8))
        return try stride(from: 0, to: tokenCount, by: batchSize).map { first in
            APNsBatch(
                message: message,
                devices: try (first..<first + batchSize).map { try APNsDevice(token: Devices.token($0)) })
        }
    }
}

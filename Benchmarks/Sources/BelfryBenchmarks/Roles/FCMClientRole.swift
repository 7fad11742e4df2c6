import ArgumentParser
import FCM
import Foundation
import HTTP2Client
import Logging
import NIOPosix
import Outbound

/// The FCM client alone, in a process of its own, so that its CPU is counted alone.
struct FCMClientRole: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "fcm-client", shouldDisplay: false)

    @Option var port: Int
    @Option var account: String
    @Option var authority: String
    @Option var requests: Int
    @Option var connections: Int
    /// Sends until all connections are open, before the clock starts: they are opened half a second apart.
    @Flag var warmsUp = false

    func run() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let hosts = HostConnections(on: group)
        var configuration = FCMClient.Configuration()
        configuration.pool.connectionsMax = connections
        let roots = try String(contentsOfFile: authority, encoding: .utf8)
        let client = try FCMClient(
            Outbound(connections: hosts),
            credentials: FCMCredentials(serviceAccount: Array(try Data(contentsOf: URL(fileURLWithPath: account)))),
            endpoint: FCMEndpoint(host: "localhost", port: port, trustRoots: roots),
            quota: FCMQuota(perMinute: 1_000_000_000), configuration: configuration, eventLoopGroup: group,
            logger: Logger(label: "client"))
        let batches = try FCMWorkload.batches()
        let tasks = SendingTasks(size: 4 * connections) { number in
            let answers = await client.send(batches[number % batches.count])
            guard answers.allSatisfy(\.isAccepted) else {
                throw BenchmarkFault("a batch was answered \(answers.first { !$0.isAccepted } as Any)")
            }
        }
        if warmsUp {
            while client.snapshot.connectionsOpen < connections { try await tasks.send(20 * tasks.size) }
        }
        try await tasks.measured(batches: requests / Workload.batchSize).tell()
        await client.shutdown(within: .seconds(2))
        await hosts.shutdown()
    }
}

extension FCMAnswer {
    fileprivate var isAccepted: Bool { if case .accepted = self { true } else { false } }
}

/// The requests of both the client and h2load: the same message, each to tokens of the same length.
enum FCMWorkload {
    /// Any, to a simulator that believes.
    static let bearer = "ya29.c.benchmark"
    private static let text = String(repeating: "x", count: 120)

    /// A token of the length and the alphabet of FCM's.
    static func token(_ number: Int) -> String {
        let hex = Devices.hex(number)
        return "\(hex.prefix(22)):APA91b\(hex)\(hex)\(hex.prefix(6))"
    }

    static func batches() throws -> [FCMBatch] {
        let message = try FCMMessage(
            notification: FCMNotification(body: text), data: ["receiptId": "benchmark"],
            android: FCMAndroid(priority: .high, timeToLive: 3_600))
        return stride(from: 0, to: Workload.tokenCount, by: Workload.batchSize).map { first in
            FCMBatch(message: message, tokens: (first..<first + Workload.batchSize).map { Array(token($0).utf8) })
        }
    }

    /// The body with the same bytes, for senders that cannot write it themselves.
    static func body(token: String) -> String {
        """
        {"message":{"token":"\(token)","android":{"priority":"HIGH","ttl":"3600s"},\
        "data":{"receiptId":"benchmark"},"notification":{"body":"\(text)"}}}
        """
    }
}

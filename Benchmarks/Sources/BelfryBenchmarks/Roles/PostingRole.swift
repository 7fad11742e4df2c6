import ArgumentParser
import Foundation
import HTTP2Client
import NIOPosix
import Outbound
import WNS

/// Posts device by device, in a process of its own, so that its CPU is counted alone.
struct PostingRole: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "posting", shouldDisplay: false)

    enum Service: String, ExpressibleByArgument { case webPush = "web-push", wns }

    @Option var service: Service
    /// Where requests go, a line each.
    @Option var addresses: String
    @Option var authority: String
    @Option var requests: Int
    /// The address that gives access tokens, for WNS.
    @Option var tokenURL = ""
    @Option var clientID = ""
    @Option var clientSecret = ""

    func run() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        var configuration = HostConnections.Configuration()
        configuration.http2ConnectionsMax = 1
        let connections = HostConnections(configuration, on: group)
        let outbound = Outbound(connections: connections)
        let tls = try Outbound.tls(trustRoots: try String(contentsOfFile: authority, encoding: .utf8))
        let addresses = try String(contentsOfFile: addresses, encoding: .utf8).split(separator: "\n").map(String.init)
        let batches = stride(from: 0, to: addresses.count, by: Workload.batchSize).map {
            Array(addresses[$0..<min($0 + Workload.batchSize, addresses.count)])
        }
        let deliver: @Sendable ([String]) async throws -> Bool
        switch service {
        case .webPush:
            deliver = { batch in
                var requests = OutboundBatch(
                    .init(headers: PostingWorkload.webPushHeaders, body: .shared(PostingWorkload.ciphertext), tls: tls))
                for address in batch { requests.append(url: address) }
                return await outbound.post(requests, within: .seconds(60)).allSatisfy {
                    if case .response(let response) = $0 { response.status == 201 } else { false }
                }
            }
        case .wns:
            var own = WNSClient.Configuration()
            own.tls = tls
            let client = WNSClient(
                outbound, credentials: .store(packageSID: clientID, secret: clientSecret, url: tokenURL),
                configuration: own)
            let message = try WNSMessage(.toast, body: Array(PostingWorkload.toast.utf8), isCached: false)
            deliver = { batch in
                let channels = try batch.map { try WNSChannel($0, domain: "localhost") }
                return await client.send(message, to: channels, within: .seconds(60)).allSatisfy { $0 == .received }
            }
        }
        let tasks = SendingTasks(size: 4) { number in
            guard try await deliver(batches[number % batches.count]) else {
                throw BenchmarkFault("a batch was not taken")
            }
        }
        try await tasks.measured(batches: requests / Workload.batchSize).tell()
        await connections.shutdown()
    }
}

/// The requests of our clients, h2load and wrk: the same bytes.
enum PostingWorkload {
    /// A body as long as that of an encrypted payload of 227 bytes.
    static let ciphertext = Array(Data(repeating: 0x5A, count: 227 + 103))

    static let toast =
        #"<toast><visual><binding template="ToastText01"><text id="1">\#(String(repeating: "x", count: 120))"#
        + "</text></binding></visual></toast>"

    static let webPushHeaders = [
        HTTP2Header("ttl", "3600"), HTTP2Header("content-encoding", "aes128gcm"),
        HTTP2Header("content-type", "application/octet-stream"),
    ]

    /// A script for wrk, which posts to one address after the other.
    static func wrkScript(addresses: String) -> String {
        """
        local paths = {}
        for line in io.lines("\(addresses)") do paths[#paths + 1] = line:match("https://[^/]+(/.*)") end
        wrk.method = "POST"
        wrk.body = [[\(toast)]]
        wrk.headers["authorization"] = "Bearer benchmark"
        wrk.headers["content-type"] = "text/xml"
        wrk.headers["x-wns-type"] = "wns/toast"
        wrk.headers["x-wns-requestforstatus"] = "true"
        wrk.headers["x-wns-cache-policy"] = "no-cache"
        local number = 0
        request = function()
            number = number % #paths + 1
            return wrk.format(nil, paths[number])
        end
        """
    }
}

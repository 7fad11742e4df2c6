import Foundation
import PostgresRig
import Testing

/// Limits that nodes share: each takes its part, as nodes come and go.
extension OutageTests {
    @Suite struct NodeShareTests {
        @Test(.timeLimit(.minutes(20)))
        func `serving nodes share limits within two beats`() async throws {
            try await PostgresServer.with { database in
                try await TestInstallation.with(database: database.url(of: "postgres")) { installation in
                    let nodes = (1...2).map { number in
                        NodeProgram(
                            number, in: installation.scratch, database: database.url(of: "postgres"),
                            keyRing: installation.data + "/key-ring",
                            ["BELFRY_LIMIT_SENDERS_PER_SECOND": "4", "BELFRY_LIMIT_SENDERS_BURST": "4"])
                    }
                    defer { for node in nodes { node.endAtOnce() } }
                    for node in nodes { try await node.start() }
                    for node in nodes {
                        try await eventually("a node counts two") {
                            try await node.metrics().contains("belfry_nodes 2.0\n")
                        }
                    }
                    let ofTwo = try await excess(at: nodes[0], installation)
                    #expect(ofTwo.contains("More than 2 requests a second, 2 at once"), "\(ofTwo)")
                    try await nodes[1].stop()
                    try await eventually("it is alone") {
                        try await nodes[0].metrics().contains("belfry_nodes 1.0\n")
                    }
                    let ofOne = try await excess(at: nodes[0], installation)
                    #expect(ofOne.contains("More than 4 requests a second, 4 at once"), "\(ofOne)")
                    try await nodes[0].stop()
                }
            }
        }

        /// The answer to a back end that asks for more than it may.
        private func excess(at node: NodeProgram, _ installation: TestInstallation) async throws -> String {
            let sender = installation.sender(at: try #require(node.address))
            return try await eventually("it is refused", every: .milliseconds(1)) {
                let reply = try await sender.send("GET", "/v1/schedules")
                return reply.status == 429 ? reply.body : nil
            }
        }
    }
}

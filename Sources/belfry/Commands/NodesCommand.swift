import ArgumentParser
import BelfryService

struct NodesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nodes", abstract: "List the nodes.",
        discussion: """
            A node is `up`, `draining` when it was told to stop and finishes what it began, or `gone` when it has not been \
            heard of for 20 seconds and did not deregister: look at its machine. From 10 seconds on the table says how long it has been \
            silent (`silent_seconds` with --json). One that stopped in good order is not listed. Nodes share a PostgreSQL, which --database or \
            BELFRY_DATABASE_URL names; a server on SQLite is a single node, \
            whose row stays for a while when it was killed.
            """)

    @OptionGroup var backend: BackendOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let (rows, absence) = try await backend.withBackend { backend in
            let reply: Admin.NodesReply = try await backend.read("nodes")
            return (reply.nodes, try await backend.serverAbsence())
        }
        if let absence { Notice.show(absence) }
        try output.show(
            rows, ["host", "address", "state", "batches", "version", "since", "last_seen_at", "node_uuid"]
        ) {
            [
                $0.host, $0.address, $0.stateInWords, String($0.batches_in_flight), $0.version, $0.since,
                $0.last_seen_at, $0.node_uuid,
            ]
        }
    }
}

import BelfryCore
import Hummingbird

extension Admin {
    /// Who serves: `/admin/v1/nodes`, for operators alone.
    struct Nodes: Sendable {
        let factory: RouteFactory

        var routes: [Route] { [factory.open(.get, "nodes", list)] }

        private func list(_ call: Call) async throws -> Response {
            try call.require(.read, on: .everything, called: "list of nodes")
            let nodes = try await factory.store.nodes()
            var json = JSONWriter()
            json.object { json in
                json.array("nodes", nodes) { json, node in json.object { $0.node(node) } }
            }
            return Response(json: json.buffer)
        }
    }
}

extension JSONWriter {
    fileprivate mutating func node(_ node: Node) {
        uuid("node_uuid", node.uuid)
        string("host", node.host)
        string("version", node.version)
        string("state", node.state.rawValue)
        integer("batches_in_flight", Int64(node.batchesInFlight))
        string("since", node.since.text)
        string("last_seen_at", node.lastSeenAt.text)
    }
}

import Hummingbird

extension Admin {
    /// The nodes: `/admin/v1/nodes`, for operators alone.
    struct Nodes: Sendable {
        let factory: RouteFactory

        var routes: [Route] { [factory.open(.get, "nodes", list)] }

        private func list(_ call: Call) async throws -> Response {
            try call.require(.read, on: .everything, called: "list of nodes")
            let isServed = try await factory.absence() == nil
            return try Response(
                NodesReply(
                    nodes: try await factory.store.nodes().withoutReplaced.map { NodeReply($0, isServed: isServed) }))
        }
    }
}

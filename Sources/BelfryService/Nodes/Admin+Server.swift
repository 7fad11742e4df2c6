import Hummingbird

extension Admin {
    /// The server that answers: `/admin/v1/server`, for operators alone.
    struct Server: Sendable {
        let factory: RouteFactory
        let inspector: any ServerInspector

        var routes: [Route] {
            [
                factory.open(.get, "server/settings", settings), factory.open(.get, "server/database", database),
                factory.open(.get, "server/log", log),
            ]
        }

        private func settings(_ call: Call) async throws -> Response {
            try call.require(.administer, on: .everything, called: "list of settings")
            return try Response(SettingsReply(settings: inspector.settings.map(SettingsReply.Setting.init)))
        }

        private func database(_ call: Call) async throws -> Response {
            try call.require(.administer, on: .everything, called: "database")
            return try Response(DatabaseReply(try await inspector.database()))
        }

        /// The last lines of this process's log, the newest first.
        private func log(_ call: Call) async throws -> Response {
            try call.require(.administer, on: .everything, called: "log")
            let query = try Query(call, Query.paging + ["level", "q"])
            let level: LogLine.Level = try query.choice("level") ?? .trace
            let (text, limit) = (query.text("q"), try query.limit())
            let before = try query.cursor().map { $0[0] } ?? .max
            let found = inspector.logLines.reversed().lazy.filter { line in
                line.number < before && line.level >= level && (text.map(line.contains) ?? true)
            }.prefix(limit)
            let lines = Array(found)
            return try Response(
                LogReply(
                    lines: lines.map(LogReply.Line.init),
                    next_cursor: lines.count == limit ? lines.last.map { Cursor($0.number).text } : nil))
        }
    }

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

import BelfryService
import FoundationEssentials
import Hummingbird

extension Admin {
    /// Paths without credentials that serve an application: `/admin/v1/apps/:app_uuid/open-endpoints`.
    struct OpenEndpoints: Sendable {
        let factory: RouteFactory

        var routes: [Route] {
            [
                factory.application(.get, "apps/:app_uuid/open-endpoints", .read, list),
                factory.application(.post, "apps/:app_uuid/open-endpoints", .change, create),
                factory.application(.delete, "apps/:app_uuid/open-endpoints/:endpoint_id", .change, delete),
            ]
        }

        private func list(_ call: Call, _ application: Application) async throws -> Response {
            let found = try await factory.store.openEndpoints(of: application.key)
            return try Response(OpenEndpointsReply(open_endpoints: found.map { OpenEndpointReply($0) }))
        }

        private func create(_ call: Call, _ application: Application) async throws -> Response {
            let body = try await call.body(as: NewEndpoint.self)
            let kind = try body.required()
            let isPlain =
                kind == .acrobitsMediator && !body.allowed.isEmpty && call.key.scope == .operator
                && body.isPlain != false
            let made = try await factory.openEndpoints.create(
                kind, of: application, allowed: body.allowed, options: body.options, isPlain: isPlain, by: call.author)
            return try .created(OpenEndpointReply(made.endpoint, key: made.key))
        }

        private func delete(_ call: Call, _ application: Application) async throws -> Response {
            guard let key: Key<OpenEndpoint> = call.key("endpoint_id") else { throw APIError.missing("open endpoint") }
            try await factory.openEndpoints.delete(key, of: application, by: call.author)
            return Response(status: .noContent)
        }
    }

    private struct NewEndpoint: Body, Sendable {
        static let fields = ["kind", "allowed", "options", "plain_path"]
        private var kind: OpenEndpoint.Kind?
        /// Whether the path without a key leads there too; nil: where the caller may open it.
        private(set) var isPlain: Bool?
        private(set) var allowed: [String] = []
        private(set) var options: [String: String] = [:]

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            switch field {
            case "kind": kind = try reader.choice(field)
            case "plain_path": isPlain = try reader.bool(field)
            case "allowed": allowed = try Self.networks(try reader.strings(field) ?? [], field)
            default:
                for (name, value) in try reader.members(field) ?? [:] {
                    guard let text = value.stringValue else {
                        throw InvalidInput(field: "\(field).\(name)", "has to be a string, it is \(value.typeName)")
                    }
                    options[name] = text
                }
            }
        }

        private static func networks(_ texts: [String], _ field: String) throws(InvalidInput) -> [String] {
            for (index, text) in texts.enumerated() where NetworkBlock(text) == nil {
                throw InvalidInput(field: "\(field)[\(index)]", "is not a network such as 10.0.0.0/8")
            }
            return texts
        }

        func required() throws(InvalidInput) -> OpenEndpoint.Kind {
            guard let kind else { throw InvalidInput.missing("kind") }
            return kind
        }
    }
}

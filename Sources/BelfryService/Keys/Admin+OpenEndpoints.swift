import FoundationEssentials
package import Hummingbird
import Synchronization

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
            if body.isPlain == true { try call.requireOperator(for: "plain_path") }
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
                    options[name] = try value.demandText("\(field).\(name)")
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

/// Finds the application that a path without credentials serves: by its key, and for callers of the allowed networks alone.
///
/// A wrong key counts as a failed login at the caller's address, and few of them are looked for in the database.
package struct OpenEndpointCheck: Sendable {
    let store: any Store
    let requestLimiter: RequestLimiter
    private let known = Known()

    private final class Known: Sendable {
        /// Keys that led somewhere, by their hashes.
        let keys = Mutex(BoundedCache<[UInt8], Bool>(countMax: 16_384))
        /// The addresses that a path without a key served, with their numbers of endpoints.
        let sites = Mutex(BoundedCache<NetworkAddress, Int>(countMax: 16_384))
    }

    /// Throws a 404 for a wrong key and for a caller who is not let in alike.
    package func endpoint(
        _ kind: OpenEndpoint.Kind, key: String, of request: Request, _ context: APIContext
    ) async throws -> (endpoint: OpenEndpoint, application: BelfryService.Application) {
        let found = try await requestLimiter.checkCredentials(
            String?.none, of: request, context, letsRightPass: true
        ) {
            let hash = SecretHash.of(key)
            let isKnown = known.keys.withLock { $0.value(for: hash) != nil }
            let endpoint =
                isKnown
                ? try await store.openEndpoint(kind, keyHash: hash)
                : try await requestLimiter.lookUp(of: request, context) {
                    try await store.openEndpoint(kind, keyHash: hash)
                }
            known.keys.withLock { if endpoint == nil { $0.remove(hash) } else { $0.set(true, for: hash) } }
            return try await self.open(endpoint, request, context)
        }
        guard let found else { throw APIError.missing("path") }
        return found
    }

    /// The endpoints that a path without a key leads the caller to; nil for none. Requests of an address that it served before are counted
    /// before the database is asked, and those of any other as guesses.
    func plain(
        _ request: Request, _ context: APIContext, _ find: () async throws -> [OpenEndpoint]?
    ) async throws -> [OpenEndpoint]? {
        let site = requestLimiter.site(of: request, context)
        let found: [OpenEndpoint]?
        if let count = known.sites.withLock({ $0.value(for: site) }) {
            try requestLimiter.admit(.sender, callers: count, at: site)
            found = try await find()
        } else {
            found = try await requestLimiter.lookUp(of: request, context, find)
        }
        known.sites.withLock { sites in
            if let found { sites.set(found.count, for: site) } else { sites.remove(site) }
        }
        return found
    }

    /// Whether the caller is let in, where the path names no key.
    package func admits(_ endpoint: OpenEndpoint, _ request: Request, _ context: APIContext) -> Bool {
        guard !endpoint.allowed.isEmpty else { return true }
        guard let address = requestLimiter.address(of: request, context) else { return false }
        return endpoint.allowed.contains { NetworkBlock($0)?.contains(address) ?? false }
    }

    private func open(
        _ endpoint: OpenEndpoint?, _ request: Request, _ context: APIContext
    ) async throws -> (endpoint: OpenEndpoint, application: BelfryService.Application)? {
        guard let endpoint, admits(endpoint, request, context),
            let application = try await store.application(endpoint.application)
        else { return nil }
        try requestLimiter.admit(.endpoints(of: application.key))
        return (endpoint, application)
    }
}

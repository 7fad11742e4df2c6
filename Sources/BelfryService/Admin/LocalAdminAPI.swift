import FoundationEssentials
import HTTPTypes
import Hummingbird
package import Logging
import NIOCore

/// The admin API without HTTP, for commands on the server's own machine: the same routes, in the local operator's name.
package struct LocalAdminAPI: Sendable {
    private let routes: [Admin.Route]
    private let author: AuditAuthor
    private let logger: Logger

    /// The longest body of a command.
    private static let bodyBytesMax = 1 << 24

    /// - Parameter absence: why nothing is sent at present; nil while a server runs.
    package init(
        service: OperatorService, logger: Logger,
        absence: @escaping @Sendable () async throws -> String? = { nil }
    ) {
        routes = Admin.RouteFactory(service.services, absence: absence).routes
        author = service.author
        self.logger = logger
    }

    /// The JSON that the admin API answers with; nil where it answers with none. Throws what it would refuse.
    ///
    /// - Parameter path: below `/admin/v1`, with its query.
    package func answer(_ method: String, _ path: String, _ body: [UInt8] = []) async throws -> JSONValue? {
        try await exchange(method, path, body).reply
    }

    /// As `answer`, with the entity tag of the answer.
    ///
    /// - Parameter tag: the version to change; nil for any.
    package func exchange(
        _ method: String, _ path: String, _ body: [UInt8], ifMatch tag: String? = nil
    ) async throws -> (reply: JSONValue?, tag: String?) {
        let parts = path.prefix { $0 != "?" }.split(separator: "/")
        for route in routes where route.method.rawValue == method {
            guard let parameters = route.parameters(of: parts) else { continue }
            var head = HTTPRequest(
                method: route.method, scheme: nil, authority: nil, path: "/\(Admin.root)/\(path)")
            head.headerFields[.ifMatch] = tag
            let call = Admin.Call(
                request: Request(head: head, body: .init(buffer: ByteBuffer(bytes: body))), parameters: parameters,
                key: .local, author: author, bodyBytesMax: Self.bodyBytesMax, logger: logger)
            try route.checkParameters(of: call.request)
            let response: Response
            do { response = try await route.answer(call) } catch let conflict as EditConflict {
                throw APIError(cause: conflict)
            }
            let bytes = Array(buffer: try await response.body.collected())
            return (bytes.isEmpty ? nil : try JSONValue(json: bytes), response.headers[.eTag])
        }
        throw APIError.missing("path of the admin API")
    }
}

extension Admin.Route {
    /// The parts of the path that the route has names for; nil where the path is another.
    fileprivate func parameters(of parts: [Substring]) -> Parameters? {
        let names = path.split(separator: "/")
        guard names.count == parts.count else { return nil }
        var parameters = Parameters()
        for (name, part) in zip(names, parts) {
            if name.hasPrefix(":") {
                parameters[name.dropFirst()] = part
            } else if name != part {
                return nil
            }
        }
        return parameters
    }
}

extension AdminKey {
    /// The key of the local operator, who may do everything.
    fileprivate static let local = AdminKey(
        key: Key(0), id: "", name: "local operator", scope: .operator, bounds: .everything, secretHash: [],
        previous: nil,
        createdAt: .zero, lastUsedAt: nil, revokedAt: nil)
}

import FoundationEssentials
import Hummingbird

extension OpenEndpoint.Kind {
    /// Whether its callers give the device tokens with each message. Its options are the UUIDs of platforms, by the callers' names for them.
    package var takesTokens: Bool {
        switch self {
        case .matrix, .mattermost, .rocketChat, .gorush, .sip: true
        case .genero, .acrobitsReporter, .acrobitsMediator, .ntfy, .gotify, .apprise, .alerts: false
        }
    }

    /// The kinds that take tokens, with the names of their products.
    static let ofTokens: [(kind: Self, title: String)] = [
        (.matrix, "Matrix"), (.mattermost, "Mattermost"), (.rocketChat, "Rocket.Chat"), (.gorush, "gorush"),
        (.sip, "SIP proxies"),
    ]

    /// The path for the settings of the caller, which appends its own path to it; for Matrix the whole path.
    ///
    /// Synapse takes no other path than the one of the specification, so that the key stands in the query. Source: Synapse, HttpPusher.
    package func callerPath(key: String) -> String {
        self == .matrix ? "/_matrix/push/v1/notify?key=\(key)" : "/\(rawValue)/\(key)"
    }
}

extension OpenEndpointService {
    /// The options of an endpoint that takes tokens, in their stored form. Throws where one is not a platform of the application.
    func platforms(
        _ options: [String: String], of application: Application, _ kind: OpenEndpoint.Kind
    ) async throws -> [String: String] {
        guard kind != .matrix || !options.isEmpty else {
            throw InvalidInput(
                field: "options",
                "is empty: an app id of the apps, such as im.vector.app.ios, needs the UUID of its platform")
        }
        let known = Set(try await store.platforms(of: application.key).map(\.uuid))
        return Dictionary(
            uniqueKeysWithValues: try options.map { name, text in
                guard let uuid = UUID(text: text), known.contains(uuid) else {
                    throw InvalidInput(
                        field: "options.\(name)",
                        "is '\(text.prefix(64))', which is the UUID of no platform of the application")
                }
                return (name, uuid.lowercased)
            })
    }
}

/// The platforms of an application, by the names that callers have for them.
struct NamedPlatforms: Sendable {
    private let platforms: [Platform]
    private let options: [String: String]

    init(_ platforms: [Platform], _ options: [String: String]) { (self.platforms, self.options) = (platforms, options) }

    /// nil where no option has the name. Throws a 503 where its platform was deleted, since that says nothing of the token.
    func named(_ name: String) throws(APIError) -> Platform? {
        guard let uuid = options[name] else { return nil }
        guard let platform = platforms.first(where: { $0.uuid.lowercased == uuid }) else {
            throw APIError(
                .serviceUnavailable, "The platform of '\(name)' was deleted: open the gateway with another one")
        }
        return platform
    }

    /// The only platform of a type, and of a mode where that is given; nil where there are several, or none.
    func only(_ kind: PlatformKind, _ mode: Platform.Mode? = nil) -> Platform? {
        let found = platforms.filter { $0.kind == kind && (mode == nil || $0.mode == mode) }
        return found.count == 1 ? found[0] : nil
    }
}

/// Lets callers of the gateways in: by the key of an endpoint, to its application alone.
struct TokenGatewayDoor: Sendable {
    private let services: Services
    private let check: OpenEndpointCheck

    /// Not larger than what every connection may hold.
    static let bodyBytesMax = ConcurrencyLimiter.smallBodyBytes

    init(_ services: Services) {
        self.services = services
        check = OpenEndpointCheck(store: services.store, requestLimiter: services.requestLimiter)
    }

    /// An application whose gateway the caller may use.
    struct Caller: Sendable {
        let application: BelfryService.Application
        let platforms: NamedPlatforms
        /// The number of the endpoint.
        let endpoint: Key<OpenEndpoint>
        fileprivate let requestLimiter: RequestLimiter

        /// Charges the application for messages beyond the first, which was charged for with the request.
        func charge(messages count: Int) throws(APIError) {
            for _ in 1..<max(1, count) { try requestLimiter.admit(.endpoints(of: application.key)) }
        }
    }

    /// Throws a 404 for a wrong key, as for a path that is not there.
    func caller(
        _ kind: OpenEndpoint.Kind, key: String?, of request: Request, _ context: APIContext
    ) async throws -> Caller {
        let (endpoint, application) = try await check.endpoint(kind, key: key ?? "", of: request, context)
        return Caller(
            application: application,
            platforms: NamedPlatforms(try await services.store.platforms(of: application.key), endpoint.options),
            endpoint: endpoint.key, requestLimiter: services.requestLimiter)
    }
}

extension String {
    /// The text, or its beginning in so many bytes with an ellipsis.
    func cut(toBytes most: Int) -> String {
        guard utf8.count > most else { return self }
        var kept = ""
        var bytes = 3
        for character in self {
            bytes += character.utf8.count
            guard bytes <= most else { break }
            kept.append(character)
        }
        return most < 3 ? "" : kept + "…"
    }
}

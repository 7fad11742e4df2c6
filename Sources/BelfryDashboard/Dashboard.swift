package import BelfryAPI
package import BelfryService
import HTTPTypes
import Hummingbird

/// The dashboard: pages for people, served under `/dashboard`.
///
/// A page calls the services that the admin API calls, in the name of the person who is logged in, makes a `PageView` of what
/// they return, and a template makes HTML of that.
package enum Dashboard {
    package static let root = "dashboard"

    /// The services that the pages call.
    package struct Services: Sendable {
        let store: any Store
        let admin: AdminService
        let pushes: PushService
        let people: PersonService
        let clock: any WallClock
        let requestLimiter: RequestLimiter
        let shares: ConcurrencyLimiter
        /// nil leaves live pages out.
        let events: EventHub?
        let server: any ServerInspector
        let options: Options
        let issuers: [IssuerClient]
        let vault: any Vault

        package init(
            store: any Store, admin: AdminService, pushes: PushService, people: PersonService, clock: any WallClock,
            requestLimiter: RequestLimiter, shares: ConcurrencyLimiter, events: EventHub?, server: any ServerInspector,
            vault: any Vault, options: Options,
            callIssuer: @escaping IssuerCall = { _ in throw SignOnFault("No issuer can be reached.") }
        ) {
            issuers = options.issuers.map { IssuerClient($0, call: callIssuer, clock: clock) }
            self.store = store
            self.admin = admin
            self.pushes = pushes
            self.people = people
            self.clock = clock
            self.requestLimiter = requestLimiter
            self.shares = shares
            self.events = events
            self.server = server
            self.vault = vault
            self.options = options
        }

        /// The address of the server, as browsers know it.
        func url(_ request: Request, _ context: APIContext) -> String {
            options.address.url(request, context, cameByTLS: cameByTLS(request, context))
        }

        /// Whether the browser speaks TLS to a proxy that is trusted.
        func cameByTLS(_ request: Request, _ context: APIContext) -> Bool {
            requestLimiter.forwarded(.scheme, of: request, context) == "https"
        }

        /// Sets a cookie. It is for TLS alone where browsers speak it: as the public URL says, or else the listener or a trusted proxy.
        func set(
            _ cookie: Cookie, _ value: String, seconds: Int64, in response: inout Response, _ request: Request,
            _ context: APIContext
        ) {
            let isSecure =
                options.address.publicURL?.hasPrefix("https://")
                ?? (options.address.isSecure || cameByTLS(request, context))
            let text = cookie.header(value, seconds: seconds, below: options.address.path, isSecure: isSecure)
            response.headers.append(HTTPField(name: .setCookie, value: text))
        }

        /// Throws a 403 for a form that a page of another site sent.
        func demandOwnPage(_ request: Request, _ context: APIContext) throws(APIError) {
            let host = requestLimiter.forwarded(.host, of: request, context)
            guard !request.isFromElsewhere(than: options.address, host: host, context) else {
                throw APIError(.forbidden, "The form was sent from a page of another site")
            }
        }
    }

    package struct Options: Sendable {
        /// The address at which browsers find the server.
        package var address: ServerAddress
        /// The version of the server.
        package var release: String
        /// How long a test push waits for its provider.
        package var verdictDeadline: Duration
        /// How long a browser keeps the session's cookie.
        package var lifetime: SessionLifetime
        /// Whether the same listener serves the web SDK, whose test page a platform's page links to.
        package var hasTestPage: Bool
        /// Identity providers by which people log in, besides passwords.
        package var issuers: [Issuer]
        /// Whether people log in by passwords.
        package var takesPasswords: Bool
        /// The time from one heartbeat push to the next; nil where none is sent.
        package var heartbeatPeriod: Duration?
        /// nil draws maps on an outline of the world, and asks no other server for anything.
        package var mapTiles: MapTiles?

        package init(
            address: ServerAddress = ServerAddress(), release: String = "", verdictDeadline: Duration = .seconds(10),
            lifetime: SessionLifetime = SessionLifetime(), hasTestPage: Bool = true, issuers: [Issuer] = [],
            takesPasswords: Bool = true, heartbeatPeriod: Duration? = nil,
            mapTiles: MapTiles? = nil
        ) {
            self.issuers = issuers
            self.takesPasswords = takesPasswords
            self.address = address
            self.release = release
            self.verdictDeadline = verdictDeadline
            self.lifetime = lifetime
            self.hasTestPage = hasTestPage
            self.heartbeatPeriod = heartbeatPeriod
            self.mapTiles = mapTiles
        }
    }
}

/// In this target an application is the owner of platforms, not Hummingbird's.
package typealias Application = BelfryService.Application

package import BelfryAPI
package import BelfryCore

/// The dashboard: pages for people, served under `/dashboard`.
///
/// A page calls the services that the admin API calls, in the name of the person who is logged in, makes a `PageView` of what
/// they return, and a template makes HTML of that.
package enum Dashboard {
    package static let root = "dashboard"

    /// What the pages call.
    package struct Services: Sendable {
        let store: any Store
        let admin: AdminService
        let pushes: PushService
        let people: PersonService
        let clock: any WallClock
        let requestLimiter: RequestLimiter
        let shares: ShareLimiter
        /// nil leaves live pages out.
        let events: EventHub?
        let options: Options

        package init(
            store: any Store, admin: AdminService, pushes: PushService, people: PersonService, clock: any WallClock,
            requestLimiter: RequestLimiter, shares: ShareLimiter, events: EventHub?, options: Options
        ) {
            self.store = store
            self.admin = admin
            self.pushes = pushes
            self.people = people
            self.clock = clock
            self.requestLimiter = requestLimiter
            self.shares = shares
            self.events = events
            self.options = options
        }
    }

    package struct Options: Sendable {
        /// Whether the listener speaks TLS, so that the session's cookie goes over TLS alone.
        package var isSecure: Bool
        /// The version of the server.
        package var release: String
        /// How long a test push waits for its provider.
        package var verdictDeadline: Duration
        /// How long a browser keeps the session's cookie.
        package var lifetime: SessionLifetime
        /// Whether the same listener serves the web SDK, whose test page a platform's page links to.
        package var hasTestPage: Bool
        /// nil draws maps on an outline of the world, and asks no other server for anything.
        package var mapTiles: MapTiles?

        package init(
            isSecure: Bool = false, release: String = "", verdictDeadline: Duration = .seconds(10),
            lifetime: SessionLifetime = SessionLifetime(), hasTestPage: Bool = true, mapTiles: MapTiles? = nil
        ) {
            self.isSecure = isSecure
            self.release = release
            self.verdictDeadline = verdictDeadline
            self.lifetime = lifetime
            self.hasTestPage = hasTestPage
            self.mapTiles = mapTiles
        }
    }
}

/// In this target an application is the owner of platforms, not Hummingbird's.
package typealias Application = BelfryCore.Application

import FoundationEssentials
import HTTPTypes
import Hummingbird

extension Admin {
    /// One method of one path.
    struct Route: Sendable {
        let method: HTTPRequest.Method
        /// The path below `/admin/v1`.
        let path: String
        let answer: @Sendable (Call) async throws -> Response
        /// See `IdempotencyMiddleware.run`; it matters for POST alone.
        var isRepeatable = false

        /// Whether the handler reads its body as it comes in, whatever its length.
        var isStreaming = false

        /// Whether the handler reads parameters behind the path, all of them by `Query`. Every reading route may.
        var takesParameters = false

        var withParameters: Route {
            var route = self
            route.takesParameters = true
            return route
        }

        /// Throws where the path of a route that writes is followed by parameters that nothing reads.
        func checkParameters(of request: Request) throws(InvalidInput) {
            guard method != .get, !takesParameters else { return }
            try request.refuseParameters()
        }

        var streaming: Route {
            var route = self
            route.isStreaming = true
            return route
        }

        /// A copy of the route, marked as repeatable: its handler uses the id of `IdempotentID`, or changes nothing when it runs again.
        var repeatable: Route {
            var route = self
            route.isRepeatable = true
            return route
        }
    }

    /// Makes the routes of all resources.
    ///
    /// A resource makes each of its routes with one of the functions below. They find the thing that the path names and
    /// check the key's permission before the handler runs.
    struct RouteFactory: Sendable {
        let services: Services
        /// How long a test push waits for its provider when it is asked to.
        let verdictDeadline: Duration
        /// Why nothing is sent at present: a command may work where no server runs.
        let absence: @Sendable () async throws -> String?
        let importTrials = ImportTrials()
        private let acceptedPushes = AcceptedPushes()

        init(
            _ services: Services,
            verdictDeadline: Duration = .seconds(20), absence: @escaping @Sendable () async throws -> String? = { nil }
        ) {
            self.services = services
            self.verdictDeadline = verdictDeadline
            self.absence = absence
        }

        var store: any Store { services.store }
        var clock: any WallClock { services.clock }
        var shares: ConcurrencyLimiter { services.shares }
        var admin: AdminService { services.admin }
        var pushes: PushService { services.pushes }
        var channels: ChannelService { services.channels }
        var openEndpoints: OpenEndpointService { services.openEndpoints }

        func nodeTrouble(of push: PushHead) async throws -> NodeTrouble {
            NodeTrouble(try await store.nodes(), absence: try await absence(), acceptedAt: push.acceptedAt)
        }

        /// The response to an accepted push: its receipt id.
        func accepted(_ push: Push, _ call: Call, unmatched: UnresolvedTargets? = nil) throws -> Response {
            note(push, call)
            return try .created(CreatedPushReply(push, unmatched: unmatched))
        }

        func note(_ push: Push, _ call: Call) { acceptedPushes.note(push, call.logger) }

        /// The devices that broadcast channels are; nil where none are named.
        func devices(of channels: [String]?, _ application: Application) async throws -> [UUID]? {
            guard let channels else { return nil }
            return try await self.channels.devices(of: channels, of: application.key)
        }

        /// A path that names nothing: its handler calls `Call.require` itself.
        func open(
            _ method: HTTPRequest.Method, _ path: String, _ handler: @escaping @Sendable (Call) async throws -> Response
        ) -> Route {
            Route(method: method, path: path, answer: handler)
        }

        func tenant(
            _ method: HTTPRequest.Method, _ path: String, _ action: Permission.Action,
            _ handler: @escaping @Sendable (Call, Tenant) async throws -> Response
        ) -> Route {
            Route(method: method, path: path) { call in
                let tenant = try await found("tenant", call.uuid("tenant_uuid")) { try await store.tenant($0) }
                try call.require(action, on: .tenant(tenant.key), called: "tenant")
                return try await handler(call, tenant)
            }
        }

        func application(
            _ method: HTTPRequest.Method, _ path: String, _ action: Permission.Action,
            _ handler: @escaping @Sendable (Call, Application) async throws -> Response
        ) -> Route {
            Route(method: method, path: path) { call in
                let application = try await found("app", call.uuid("app_uuid")) { try await store.application($0) }
                try call.require(action, on: Permission.Subject(application), called: "app")
                return try await handler(call, application)
            }
        }

        func platform(
            _ method: HTTPRequest.Method, _ path: String, _ action: Permission.Action,
            _ handler: @escaping @Sendable (Call, Platform, Application) async throws -> Response
        ) -> Route {
            Route(method: method, path: path) { call in
                let platform = try await found("platform", call.uuid("platform_uuid")) {
                    try await store.platform($0)
                }
                let application = try await owner(platform.applicationKey, of: "platform")
                try call.require(action, on: Permission.Subject(application), called: "platform")
                return try await handler(call, platform, application)
            }
        }

        /// A device of an application, on any of its platforms.
        func device(
            _ method: HTTPRequest.Method, _ path: String, _ action: Permission.Action,
            _ handler: @escaping @Sendable (Call, Device, Platform, Application) async throws -> Response
        ) -> Route {
            application(method, path, action) { call, application in
                let uuid = try call.uuid("device_uuid").orMissing("device")
                let found = try await store.device(uuid, of: application.key).orMissing("device")
                return try await handler(call, found.device, found.platform, application)
            }
        }

        func receipt(
            _ method: HTTPRequest.Method, _ path: String, _ action: Permission.Action,
            _ handler: @escaping @Sendable (Call, Receipt, Application) async throws -> Response
        ) -> Route {
            Route(method: method, path: path) { call in
                let receipt = try await found("push", call.uuid("receipt_id")) { try await store.receipt($0) }
                let application = try await owner(receipt.push.applicationKey, of: "push")
                try call.require(action, on: Permission.Subject(application), called: "push")
                return try await handler(call, receipt, application)
            }
        }

        func key(
            _ method: HTTPRequest.Method, _ path: String,
            _ handler: @escaping @Sendable (Call, AdminKey) async throws -> Response
        ) -> Route {
            Route(method: method, path: path) { call in
                let key = try await found("key", call.parameters.get("key_id")) { try await store.adminKey($0) }
                try call.require(.administer, on: Permission.Subject(key.bounds), called: "key")
                return try await handler(call, key)
            }
        }

        private func found<ID, Thing>(
            _ name: String, _ id: ID?, by find: (ID) async throws -> Thing?
        ) async throws -> Thing {
            guard let id, let thing = try await find(id) else { throw APIError.missing(name) }
            return thing
        }

        /// nil where the row exists and cannot be read: it can be deleted all the same.
        func unlessDamaged<Thing>(_ read: () async throws -> Thing) async throws -> Thing? {
            do { return try await read() } catch StoreError.damaged { return nil }
        }

        private func owner(_ key: Key<Application>, of thing: String) async throws -> Application {
            try await store.application(key).orMissing(thing)
        }
    }
}

extension Admin.RouteFactory {
    /// The platform of the application with this UUID; all of its platforms where none is named.
    func platforms(_ named: String?, of application: Application) async throws -> [Platform] {
        let all = try await store.platforms(of: application.key)
        guard let named else { return all }
        return [try all.first { $0.uuid == UUID(text: named) }.orMissing("platform")]
    }
}

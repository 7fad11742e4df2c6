import Crypto
import FoundationEssentials
import HTTPTypes
import Hummingbird
import KeyFiles
import Logging
import Metrics
import Synchronization

extension Admin {
    /// Admin keys: `/admin/v1/keys`. Their secrets are shown when they are created, and never again.
    struct Keys: Sendable {
        let factory: RouteFactory

        var routes: [Route] {
            [
                factory.open(.get, "keys", list),
                factory.open(.post, "keys", create),
                factory.key(.get, "keys/:key_id", show),
                factory.key(.post, "keys/:key_id/rotate", rotate),
                factory.key(.delete, "keys/:key_id", revoke),
            ]
        }

        /// The keys within the bounds of the caller's key.
        private func list(_ call: Call) async throws -> Response {
            try call.require(.administer, on: Permission.Subject(call.key.bounds), called: "key")
            let query = try Query(call, Query.paging)
            let limit = try query.limit()
            let keys = try await factory.store.adminKeys(
                within: call.key.bounds, after: try query.cursor().map { Key($0[0]) }, limit: limit)
            var replies: [KeyReply] = []
            for key in keys { replies.append(try await reply(key)) }
            return try Response(
                KeysReply(
                    keys: replies,
                    next_cursor: keys.count == limit ? keys.last.map { Cursor($0.key.rawValue).text } : nil))
        }

        private func create(_ call: Call) async throws -> Response {
            let body = try await call.body(as: NewKey.self)
            let (name, scope) = try body.required()
            let bounds = try await factory.bounds(
                tenant: body.tenant, application: body.application, or: nil, call)
            try call.require(.administer, on: Permission.Subject(bounds), called: "tenant or app")
            let created = try await factory.admin.createKey(name: name, scope: scope, bounds: bounds, by: call.author)
            return try .created(try await reply(created.key, text: created.text))
        }

        private func show(_ call: Call, _ key: AdminKey) async throws -> Response {
            try Response(try await reply(key))
        }

        private func rotate(_ call: Call, _ key: AdminKey) async throws -> Response {
            guard key.revokedAt == nil else { throw APIError(.conflict, "The key is revoked") }
            let grace = try await call.bodyIfAny(as: Grace.self).duration
            let text = try await factory.admin.rotate(key, grace: grace, by: call.author)
            let ended = factory.admin.graceEndedEarly(key.previous?.validUntil)
            return try Response(try await reply(key, text: text, graceEndedEarly: ended))
        }

        private func revoke(_ call: Call, _ key: AdminKey) async throws -> Response {
            try await factory.admin.revoke(key, by: call.author)
            return Response(status: .noContent)
        }

        private func reply(
            _ key: AdminKey, text: AdminKey.Text? = nil, graceEndedEarly: Instant? = nil
        ) async throws -> KeyReply {
            let uuids = try await factory.uuids(of: key.bounds)
            return KeyReply(
                key, tenant: uuids.tenant, application: uuids.application, text: text, graceEndedEarly: graceEndedEarly)
        }
    }

    private struct NewKey: Body {
        static let fields = ["name", "scope", "tenant_uuid", "app_uuid"]
        private var name: String?
        private var scope: AdminKey.Scope?
        private(set) var tenant: UUID?
        private(set) var application: UUID?

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            switch field {
            case "name": name = try reader.string(field)
            case "scope": scope = try reader.choice(field)
            case "tenant_uuid": tenant = try reader.uuid(field)
            default: application = try reader.uuid(field)
            }
        }

        func required() throws(InvalidInput) -> (Name, AdminKey.Scope) {
            guard let name else { throw InvalidInput.missing("name") }
            guard let scope else { throw InvalidInput.missing("scope") }
            guard tenant == nil || application == nil else {
                throw InvalidInput(field: "tenant_uuid", "and app_uuid exclude each other")
            }
            return (try Name(name), scope)
        }
    }
}

extension Admin.RouteFactory {
    /// The bounds that a body names, of a key or of a person.
    ///
    /// - Parameter fallback: where it names none; nil for those of the caller's key.
    func bounds(
        tenant: UUID?, application: UUID?, or fallback: AdminKey.Bounds?, _ call: Admin.Call
    ) async throws -> AdminKey.Bounds {
        if let application {
            guard let application = try await store.application(application) else { throw APIError.missing("app") }
            try call.require(.read, on: Permission.Subject(application), called: "app")
            return .application(application.key, of: application.tenantKey)
        }
        guard let tenant else { return fallback ?? call.key.bounds }
        guard let tenant = try await store.tenant(tenant) else { throw APIError.missing("tenant") }
        try call.require(.read, on: .tenant(tenant.key), called: "tenant")
        return .tenant(tenant.key)
    }

    /// The tenant and application of bounds, by the ids that callers know; nil for deleted ones.
    func uuids(of bounds: AdminKey.Bounds) async throws -> (tenant: UUID?, application: UUID?) {
        switch bounds {
        case .everything: (nil, nil)
        case .tenant(let tenant): (try await store.tenant(tenant)?.uuid, nil)
        case .application(let application, let tenant):
            (try await store.tenant(tenant)?.uuid, try await store.application(application)?.uuid)
        }
    }
}

extension Admin {
    /// Authenticates a request by its key, in `Authorization: Bearer bfy_…`.
    ///
    /// Keys are read with each request, so a revoked one is refused at once. All refusals have the same message.
    struct KeyAuthenticator: Sendable {
        private let store: any Store
        private let requestLimiter: RequestLimiter
        private let clock: any WallClock
        private let challenge: String
        private let failures = Counter(metric: .authenticationFailures)

        init(store: any Store, requestLimiter: RequestLimiter, clock: any WallClock, realm: String) {
            self.store = store
            self.requestLimiter = requestLimiter
            self.clock = clock
            challenge = #"Bearer realm="\#(realm)""#
        }

        func key(of request: Request, _ context: APIContext) async throws -> AdminKey {
            guard let header = try request.headers.authorization() else { throw refusal() }
            let given = Self.bearer(header).flatMap(AdminKey.Text.init)
            let found = try await requestLimiter.checkCredentials(given?.id, of: request, context) {
                if let given { try await check(given) } else { nil }
            }
            guard let key = found else { throw refusal() }
            try requestLimiter.admit(Principal(.admin, key.key.rawValue))
            await note(key, context.logger)
            return key
        }

        private func check(_ given: AdminKey.Text) async throws -> AdminKey? {
            let key = try await store.adminKey(given.id)
            let hash = SHA256.hash(data: Array(given.secret.utf8))
            let taken = key?.secretHashes(at: clock.now) ?? []
            let matches = (taken + [SecretHash.unmatchable]).map(hash.isEqual(inConstantTime:))
            return matches.contains(true) ? key : nil
        }

        /// A use that cannot be recorded does not stop the request.
        private func note(_ key: AdminKey, _ logger: Logger) async {
            guard key.isUseWorthNoting(at: clock.now) else { return }
            do {
                try await store.noteUse(of: key.key, at: clock.now)
            } catch {
                logger.debug("use of an admin key was not noted", metadata: ["key.id": "\(key.id)"])
            }
        }

        private static func bearer(_ header: String) -> String? {
            let parts = header.split(separator: " ", omittingEmptySubsequences: true)
            guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
            return String(parts[1])
        }

        private func refusal() -> APIError {
            failures.increment()
            return APIError(
                .unauthorized,
                "Authentication failed: the admin API takes an admin key, as 'Authorization: Bearer bfy_…'. "
                    + "`belfry admin create` on the server's machine makes one",
                headers: [.wwwAuthenticate: challenge])
        }
    }
}

/// Signs links with the shared secrets of applications.
package struct SharedSecretLinkKeys: LinkKeys {
    private let store: any Store
    private let secrets: SharedSecrets

    package init(store: any Store, vault: any Vault, clock: any WallClock) {
        self.init(store: store, secrets: SharedSecrets(vault: vault, clock: clock))
    }

    init(store: any Store, secrets: SharedSecrets) {
        self.store = store
        self.secrets = secrets
    }

    package func signing(for application: Key<BelfryService.Application>) async throws
        -> @Sendable (_ text: String) -> String
    {
        guard let application = try await store.application(application),
            let key = try secrets.keys(of: application).first
        else { throw StoreError.unknown("application \(application)") }
        return { text in
            Base64.encode(Data(HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: key)))
        }
    }
}

/// The shared secrets of applications, opened once each and again when they change.
final class SharedSecrets: Sendable {
    private let vault: any Vault
    private let clock: any WallClock
    private let opened = Mutex<[Sealed: SymmetricKey]>([:])

    /// Applications are few; when there are more than these, all are opened anew.
    private static let openedMax = 4_096

    init(vault: any Vault, clock: any WallClock) {
        self.vault = vault
        self.clock = clock
    }

    /// The keys that may sign the application's custom user ids: its own, and the one before while that is taken too.
    func keys(of application: Application) throws -> [SymmetricKey] {
        let seals = [application.sharedSecret, application.previousSharedSecret?.valid(at: clock.now)]
        return try seals.compactMap(\.self).map { try key($0, VaultPurpose.sharedSecret(of: application.uuid)) }
    }

    private func key(_ sealed: Sealed, _ purpose: String) throws -> SymmetricKey {
        if let held = opened.withLock({ $0[sealed] }) { return held }
        let key = SymmetricKey(data: try vault.open(sealed, for: purpose))
        opened.withLock { opened in
            if opened.count >= Self.openedMax { opened = [:] }
            opened[sealed] = key
        }
        return key
    }
}

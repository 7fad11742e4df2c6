import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing

@testable import BelfryService

/// The admin API on a database, with an operator.
struct TestAdminServer {
    let store: SQLiteStore
    let clock = ManualClock()
    let vault = PlaintextVault()
    let services: Services
    var routes: AdminRoutes { didSet { built = BuiltResponder() } }
    private var built = BuiltResponder()
    let admin: AdminService
    let channels: ChannelService
    /// The author of all that is made before a test begins; `audited` leaves its lines out.
    static let author = AuditAuthor.local(systemUser: "test")
    let `operator`: String

    /// - Parameter credentialsEnd: of all platforms, from now on.
    init(credentialsEnd: Duration? = nil, quotas: Quotas = Quotas()) async throws {
        store = try SQLiteStore.temporary(clock: clock, quotas: quotas)
        let credentials = PlaintextCredentials(vault: vault, end: credentialsEnd.map { [now = clock.now] in now + $0 })
        services = Services(store, vault: vault, clock: clock, credentials: credentials)
        routes = AdminRoutes(services, server: FakeServer())
        admin = services.admin
        channels = services.channels
        `operator` = try await admin.createKey(
            name: try Name("root"), scope: .operator, bounds: .everything, by: Self.author
        ).text.text
    }

    /// Makes routes of the same API with another deadline for the verdict on a test push.
    func routes(verdictDeadline: Duration) -> AdminRoutes {
        AdminRoutes(Services(store, vault: vault, clock: clock), verdictDeadline: verdictDeadline)
    }

    /// Settles a push with this text to one device, once it was accepted.
    func answer(_ answer: Answer, to device: Device, after last: Key<Push>) async throws {
        var push: Key<Push>?
        while push == nil {
            await Task.yield()
            push = try await store.allPushes().first { $0.key > last && $0.content.body == "Hi" }?.key
        }
        guard let push else { return }
        try await store.deliver { batch, _ in batch.pushKey == push ? answer : nil }
    }

    func send(
        _ method: HTTPRequest.Method, _ path: String, as key: String? = nil, _ body: String? = nil,
        headers: HTTPFields = [:]
    ) async throws -> TestAnswer {
        try await exchange(method, path, authorization: "Bearer \(key ?? `operator`)", body, headers: headers)
    }

    /// Sends one request through the router, with whatever authorization.
    func exchange(
        _ method: HTTPRequest.Method, _ path: String, authorization: String?, _ body: String? = nil,
        headers more: HTTPFields = [:]
    ) async throws -> TestAnswer {
        let responder = built.get {
            let router = ResponseMiddleware.router(clock: clock)
            routes.add(to: router)
            return router.buildResponder()
        }
        let app = Hummingbird.Application(
            responder: responder, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)))
        return try await app.test(.router) { client in
            var headers = more
            headers[.authorization] = authorization
            let response = try await client.execute(
                uri: "/admin/v1/\(path)", method: method, headers: headers, body: body.map(ByteBuffer.init(string:)))
            return try TestAnswer(response)
        }
    }

    /// Frees all idempotency keys, as if the process had died before it kept the answers.
    func loseAnswers() async throws {
        try await store.write { session in
            _ = try session.prepared("UPDATE idempotency SET status = NULL, content = NULL, held_until_ms = $1")
                .run(session.now)
        }
    }

    func key(_ scope: AdminKey.Scope, _ bounds: AdminKey.Bounds) async throws -> String {
        try await admin.createKey(
            name: try Name("a \(scope.rawValue)"), scope: scope, bounds: bounds, by: Self.author
        ).text.text
    }

    /// The actions in the audit log, the newest first.
    func audited() async throws -> [String] {
        try await store.auditLog(AuditQuery(bounds: .everything, limit: 200)).map(\.change)
            .filter { $0.address != Self.author.address }.map(\.action)
    }

    func resources(_ name: String, of tenant: Key<Tenant> = Tenant.first) async throws -> TestResources {
        try await TestResources(named: name, of: tenant, in: self)
    }

    /// One thing of every kind, all of one tenant.
    struct TestResources {
        let tenant: Tenant
        let application: BelfryService.Application
        let platform: Platform
        let device: Device
        let push: Push
        let key: AdminKey
        let person: Person
        let schedule: Schedule
        let location: Location
        let group: LocationGroup
        let geofence: Geofence
        let channel: BroadcastChannel
        let user: User
        let endpoint: OpenEndpoint
        let credential: GatewayCredential
        let carmaAccount: CarmaAccount
        let carmaApp: CarmaApp
        let carmaTrigger: CarmaTrigger
        let importJob: ImportJob
        let webPushEndpoint: WebPushEndpoint
        let webhook: SampleWebhook

        init(named name: String, of tenant: Key<Tenant>, in server: TestAdminServer) async throws {
            let store = server.store
            self.tenant = try #require(try await store.tenant(tenant))
            application = try await server.admin.createApplication(
                name: try Name(name), of: tenant, by: TestAdminServer.author
            ).application
            platform = try await server.admin.createPlatform(
                of: application, kind: .ios, mode: .production, name: try Name(name),
                credentials: ["topic": .string("org.example.\(name)")], by: TestAdminServer.author
            ).platform
            device = try await store.register(.sample(1, topics: ["news"]), as: nil, on: platform)
            push = try await store.accept(.sample(UInt64(platform.key.rawValue), to: platform))
            key = try await server.admin.createKey(
                name: try Name("victim"), scope: .sender, bounds: .tenant(tenant), by: TestAdminServer.author
            ).key
            schedule = try await store.schedule(
                PushRequest(content: .init(body: "later"), target: .everyone), at: server.clock.now + .seconds(3_600),
                for: application.key)
            location = try await store.create(
                try Place(name: "shop", latitude: 1, longitude: 2, radius: 100), of: application.key)
            group = try await store.create(
                try LocationGroupPlan(name: "shops", summary: "", locations: [location.key]), of: application.key)
            geofence = try await store.create(
                try GeofencePlan(
                    locations: [location.key], trigger: .enter, data: try GeofenceData([:]),
                    expiresAt: server.clock.now + .seconds(3_600)), of: application.key)
            channel = try await server.channels.create(
                .latest, on: platform, of: application, by: TestAdminServer.author
            ).channel
            _ = try await store.create("loyal", AudienceExpression.term(.everyone), of: application.key)
            _ = try await store.create("welcome", Push.Content(body: "Hi"), of: application.key)
            _ = try await store.create(
                "spring", .sample(), of: application.key, by: CampaignPerson(name: "emma", person: nil))
            user = try await store.setUser("emma", of: application.key) { $0 }
            endpoint = try await store.create(
                try NewOpenEndpoint(kind: .genero, application: application.key, keyHash: Array(name.utf8)))
            carmaAccount = try await store.createCarmaAccount(
                customerID: 7, user: name, passwordHash: [], tokenHash: Array(name.utf8))
            carmaApp = try await store.createCarmaApp(customerID: 7, appID: name, for: application.key)
            carmaTrigger = try await store.createCarmaTrigger(
                try CarmaTemplate(try JSONValue(json: #"{"languages":{"en":{"alert":"Hi"}}}"#.utf8)), of: carmaApp)
            try await store.set(
                AcrobitsAppID(name: "phone", applicationKey: application.key, platformKey: platform.key))
            try await store.note(
                AcrobitsRegistration(
                    applicationKey: application.key, appID: "phone", selector: "S1", token: "T",
                    platformKey: platform.key, device: device.uuid, account: "ada"))
            person = try await store.create(
                try NewPerson(
                    email: EmailAddress("\(name)@a.example"), name: Name(name), scope: .sender,
                    bounds: .application(application.key, of: application.tenantKey), passwordHash: "none"))
            importJob = try await store.createImport(
                .timeOrdered(), of: application.key,
                from: ImportJob.Source(format: .jsonl, mapping: nil, platform: nil, isDryRun: false), position: 0,
                by: nil)
            try await store.edit(application.key, ApplicationEdit(webPush: .on))
            webPushEndpoint = try await store.create(
                NewWebPushEndpoint(), keyHash: SecretHash.of(name), for: device, of: application.key)
            webhook = try await SampleWebhook(
                "\(name).example", of: application, in: store, sealedBy: server.vault)
            credential = try await store.createGatewayCredential(
                SecretHash.of(name), expiresAt: nil, on: platform.key)
        }

        /// A path with this fixture's ids in the place of its parameters; throws on a parameter it does not know.
        func fill(_ path: String) throws -> String {
            try path.split(separator: "/").map { part -> String in
                guard part.hasPrefix(":") else { return String(part) }
                return try #require(ids[String(part.dropFirst())], "\(path): \(part) has to be tried too")
            }.joined(separator: "/")
        }

        private var ids: [String: String] {
            [
                "tenant_uuid": tenant.uuid.lowercased, "app_uuid": application.uuid.lowercased,
                "platform_uuid": platform.uuid.lowercased, "segment": "loyal", "template": "welcome",
                "campaign": "spring",
                "device_uuid": device.uuid.lowercased,
                "receipt_id": push.receiptID.lowercased, "key_id": key.id, "topic": "news",
                "person_id": "\(person.key)",
                "schedule_id": schedule.key.id, "location_id": "\(location.key)", "group_id": "\(group.key)",
                "geofence_id": "\(geofence.key)", "user_id": user.id, "endpoint_id": "\(endpoint.key)",
                "credential_id": "\(credential.key)", "app_id": "phone",
                "web_push_endpoint_id": "\(webPushEndpoint.key)",
                "webhook_uuid": webhook.webhook.uuid.lowercased, "event_id": webhook.event.id,
                "account_id": "\(carmaAccount.key)", "carma_app_id": "\(carmaApp.key)",
                "trigger_id": "\(carmaTrigger.key)", "selector": "S1", "import_id": importJob.uuid.lowercased,
                "channel_id": channel.id.replacing("/", with: "%2F").replacing("+", with: "%2B"),
            ]
        }

        /// Texts that no other key may read.
        var marks: [String] {
            [
                application.uuid.lowercased, platform.uuid.lowercased, device.uuid.lowercased,
                push.receiptID.lowercased, key.id, schedule.key.id, tenant.uuid.lowercased,
                importJob.uuid.lowercased, person.email.text,
                webhook.webhook.uuid.lowercased,
            ]
        }
    }
}

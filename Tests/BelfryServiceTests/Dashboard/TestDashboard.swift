import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import Testing

@testable import BelfryService

/// The dashboard on a database, with an operator, as a browser without a script would use it.
final class TestDashboard: Sendable {
    let store: SQLiteStore
    let clock = ManualClock()
    let services: Services
    var admin: AdminService { services.admin }
    let people: PersonService
    let routes: DashboardRoutes
    private let responder: RouterResponder<APIContext>
    static let author = AuditAuthor.local(systemUser: "test")
    static let password = "correct horse battery"

    init(
        address: ServerAddress = ServerAddress(), hasTestPage: Bool = true, issuers: [Issuer] = [],
        takesPasswords: Bool = true,
        mapTiles: MapTiles? = nil, verdict: CredentialsTest = .works,
        callIssuer: @escaping IssuerCall = { _ in throw SignOnFault("No issuer is there.") }
    ) throws {
        let vault = PlaintextVault()
        let (store, clock) = (try SQLiteStore.temporary(clock: clock, quotas: .standard), clock)
        self.store = store
        services = Services(
            store, vault: vault, clock: clock, credentials: PlaintextCredentials(vault: vault, verdict: verdict))
        people = PersonService(
            store: store, passwords: ScryptPasswords(cost: .cheap), vault: vault, hash: SecretHash.of,
            authentication: SecretHash.authentication, clock: clock)
        routes = try DashboardRoutes(
            Dashboard.Services(
                services, people: people,
                events: EventHub(
                    store: store, clock: clock, logger: Logger(label: "test"), options: EventHub.Options()),
                server: FakeServer(),
                options: Dashboard.Options(
                    address: address, release: "Belfry test", verdictDeadline: .zero, hasTestPage: hasTestPage,
                    issuers: issuers, takesPasswords: takesPasswords, heartbeatPeriod: .seconds(60),
                    mapTiles: mapTiles),
                callIssuer: callIssuer))
        let router = ResponseMiddleware.router(clock: clock)
        routes.add(to: router)
        responder = router.buildResponder()
    }

    func person(
        _ email: String, _ scope: AdminKey.Scope = .operator, _ bounds: AdminKey.Bounds = .everything
    ) async throws -> Person {
        try await people.create(
            email: EmailAddress(email), name: Name(email), scope: scope, bounds: bounds,
            password: Password(Self.password), by: Self.author)
    }

    /// The browser of a person who is logged in.
    func browser(
        _ email: String, _ scope: AdminKey.Scope = .operator, _ bounds: AdminKey.Bounds = .everything
    ) async throws -> TestBrowser {
        let person = try await person(email, scope, bounds)
        let login = try await people.begin(person, address: nil, agent: "test")
        return TestBrowser(dashboard: self, session: login.token)
    }

    func person(of browser: TestBrowser) async throws -> Person {
        try #require(try await people.login(token: browser.session)).person
    }

    /// The hidden fields of a page's forms.
    func formFields(_ page: String, of person: Person) throws -> [(String, String)] {
        let proof = try people.pageProof(for: person.key, page: page)
        return [("form_page", page), ("form_proof", Data(proof).base64URL)]
    }

    /// - Parameter setup: `.live` for requests that come from an address.
    func send(
        _ method: HTTPRequest.Method, _ path: String, _ headers: HTTPFields, _ body: String? = nil,
        over setup: TestingSetup = .router
    ) async throws -> TestPage {
        let app = Hummingbird.Application(responder: responder)
        return try await app.test(setup) { client in
            let response = try await client.execute(
                uri: path, method: method, headers: headers, body: body.map(ByteBuffer.init(string:)))
            return TestPage(
                status: response.status, headers: response.headers, text: String(buffer: response.body))
        }
    }
}

/// An answer as a browser gets it.
struct TestPage: Sendable {
    let status: HTTPResponse.Status
    let headers: HTTPFields
    let text: String

    var location: String { headers[.location] ?? "" }

    func contains(_ text: String) -> Bool { self.text.contains(text) }
}

struct TestBrowser: Sendable {
    let dashboard: TestDashboard
    let session: String

    /// A page; of Compose, the one with the number of its draft.
    func get(_ path: String) async throws -> TestPage {
        var page = try await send(.get, "/dashboard" + path)
        for _ in 0..<2 where page.location.contains("/compose?") { page = try await send(.get, page.location) }
        return page
    }

    func head(_ path: String) async throws -> TestPage { try await send(.head, "/dashboard" + path) }

    private func send(_ method: HTTPRequest.Method, _ path: String) async throws -> TestPage {
        try await dashboard.send(method, path, [.cookie: "belfry_session=\(session)"])
    }

    /// Posts a form as a page of the dashboard does.
    func post(
        _ path: String, _ fields: [(String, String)] = [], token: String? = nil, headers more: HTTPFields = [:],
        over setup: TestingSetup = .router
    ) async throws -> TestPage {
        var headers: HTTPFields = [
            .cookie: "belfry_session=\(session)", .contentType: "application/x-www-form-urlencoded",
        ]
        headers.append(contentsOf: more)
        let fields = [("csrf", token ?? FormToken.of(session))] + fields
        let body = fields.map { "\($0.0.percentEncoded)=\($0.1.percentEncoded)" }.joined(separator: "&")
        return try await dashboard.send(.post, "/dashboard" + path, headers, body, over: setup)
    }

    /// Posts a form with a file.
    func post(
        _ path: String, _ fields: [(String, String)], file: (name: String, content: String)
    ) async throws -> TestPage {
        let headers: HTTPFields = [
            .cookie: "belfry_session=\(session)", .contentType: "multipart/form-data; boundary=edge",
        ]
        let parts =
            ([("csrf", FormToken.of(session))] + fields).map { ("\($0.0)\"", $0.1) } + [
                ("\(file.name)\"; filename=\"list.csv\"", file.content)
            ]
        let body =
            parts.map { "--edge\r\nContent-Disposition: form-data; name=\"\($0.0)\r\n\r\n\($0.1)\r\n" }.joined()
            + "--edge--\r\n"
        return try await dashboard.send(.post, "/dashboard" + path, headers, body)
    }
}

/// A thing of every kind that pages show, all with the same text in every field that takes one.
struct TestContents {
    let application: BelfryService.Application
    let platform: Platform
    let device: Device
    let push: Push
    let schedule: Schedule
    let location: Location
    let group: LocationGroup
    let geofence: Geofence
    let segment: Segment
    let template: Template
    let campaign: Campaign
    let importJob: ImportJob
    let tenant: UUID
    let webPushEndpoint: WebPushEndpoint
    let webhook: SampleWebhook

    init(_ dashboard: TestDashboard, text: String, of tenant: Key<Tenant> = Tenant.first) async throws {
        let (store, admin, author) = (dashboard.store, dashboard.admin, TestDashboard.author)
        application = try await admin.createApplication(
            name: try Name(text), description: try Description(text), of: tenant, by: author
        ).application
        platform = try await admin.createPlatform(
            of: application, kind: .ios, mode: .production, name: try Name(text), description: try Description(text),
            credentials: ["topic": .string("org.example.app")], by: author
        ).platform
        let registration = try Registration(
            token: DeviceToken(bytes: Array(repeating: UInt8(truncatingIfNeeded: application.key.rawValue), count: 32)),
            about: Device.About(os: text, osVersion: text, model: text, manufacturer: text, alias: text),
            customUserID: .set(text), topics: .replace([text.lowercased()]))
        device = try await store.register(registration, as: nil, on: platform)
        let pushes = PushService(store: store)
        let request = PushRequest(content: Push.Content(body: text), target: try Target(topics: [text]))
        push = try await pushes.send(request, for: application.key)
        schedule = try await pushes.schedule(
            request, at: dashboard.clock.now + .seconds(3_600), for: application.key)
        location = try await dashboard.services.places.create(
            try Place(name: text, latitude: 1, longitude: 2, radius: 100), of: application, by: author)
        group = try await dashboard.services.places.create(
            try LocationGroupPlan(name: text, summary: text, locations: [location.key]), of: application, by: author)
        geofence = try await dashboard.services.places.create(
            try GeofencePlan(
                locations: [location.key], groups: [], trigger: .enter, platform: .all, tags: [],
                data: GeofenceData([:]), startsAt: .zero, expiresAt: dashboard.clock.now + .seconds(86_400)),
            of: application, by: author)
        segment = try await dashboard.services.segments.create(
            try Segment.checked(name: text), .term(.topics([text.lowercased()])), of: application, by: author)
        template = try await store.create(text.replacing("@", with: ""), Push.Content(body: text), of: application.key)
        campaign = try await dashboard.services.campaigns.create(
            text,
            try CampaignPlan([
                "labels": .array([.string(text)]), "message": .object(["body": .string(text)]),
                "target": .object(["everyone": .bool(true)]),
            ]), of: application, by: author)
        importJob = try await store.createImport(
            .timeOrdered(), of: application.key,
            from: ImportJob.Source(format: .csv, mapping: text, platform: nil, isDryRun: false), position: 0, by: text)
        webPushEndpoint = try await store.create(
            NewWebPushEndpoint(), keyHash: SecretHash.of("\(application.key)"), for: device, of: application.key)
        webhook = try await SampleWebhook(
            text, of: application, in: store, sealedBy: dashboard.services.vault)
        try await self.tenant = store.tenant(tenant)?.uuid ?? UUID()
        try await store.park(platform.key, Parking(cause: .operator, detail: text, since: dashboard.clock.now))
    }

    /// The path with the ids of these things in place of its names.
    func filled(_ path: String, person: Person, key: String = "0123456789abcdef") -> String {
        let names = [
            ("app_uuid", application.uuid.lowercased), ("platform_uuid", platform.uuid.lowercased),
            ("device_uuid", device.uuid.lowercased), ("receipt_id", push.receiptID.lowercased),
            ("schedule_id", schedule.key.id), ("location_id", "\(location.key)"), ("geofence_id", "\(geofence.key)"),
            ("group_id", "\(group.key)"), ("segment", segment.name.percentEncoded),
            ("topic", device.topics[0].percentEncoded), ("person_id", "\(person.key)"), ("key_id", key),
            ("session_id", "999"), ("import_id", importJob.uuid.lowercased),
            ("tenant_uuid", tenant.lowercased), ("template", template.name.percentEncoded),
            ("campaign", campaign.name.percentEncoded), ("endpoint_id", "\(webPushEndpoint.key)"),
            ("webhook_uuid", webhook.webhook.uuid.lowercased), ("event_id", webhook.event.id),
        ]
        return names.reduce(path.isEmpty ? "" : "/" + path) { $0.replacing(":\($1.0)", with: $1.1) }
    }
}

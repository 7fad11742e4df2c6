import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import Synchronization
import Testing

@testable import BelfryService

/// No caller takes what all callers share.
@Suite(.timeLimit(.minutes(20))) struct ShareTests {
    private func refusal(_ body: () async throws -> Void) async -> APIError? {
        do { try await body() } catch let error as APIError { return error } catch { Issue.record(error) }
        return nil
    }

    @Test func `one key's streams leave room and free it on closing`() async throws {
        let server = try await TestEventServer(ShareLimit(perCaller: 2, total: 8))
        let (own, other) = (try await server.key(), try await server.key())
        var responses = [try await server.follow(own), try await server.follow(own)]
        let refused = await refusal { _ = try await server.follow(own) }
        #expect(refused?.status == .tooManyRequests)
        #expect(refused?.headers[.retryAfter] == "10")
        #expect(refused?.message.contains("share.streams.max") == true, "\(refused?.message ?? "")")
        let stranger = try await server.stranger()
        responses.append(try await server.follow(stranger.key, stranger.application))
        #expect(server.shares.used(of: .streams) == 3)
        // Its application has its part as well, whatever the key.
        let sameApplication = await refusal { _ = try await server.follow(other) }
        #expect(sameApplication?.status == .tooManyRequests)
        responses.removeAll()
        #expect(server.shares.used(of: .streams) == 0)
        _ = try await server.follow(own)
    }

    @Test func `a streamed list holds its slot until it ends`() async throws {
        let shares = ConcurrencyLimiter([.exports: ShareLimit(perCaller: 1, total: 4)])
        let holder = ShareHolder(application: Key(1), tenant: nil)
        let response = try await shares.streaming(.exports, for: holder) {
            Response(status: .ok, body: ResponseBody { try await $0.finish(nil) })
        }
        #expect(shares.used(of: .exports) == 1)
        #expect(await refusal { _ = try shares.take(.exports, for: holder) }?.status == .tooManyRequests)
        try await response.body.write(NoWriter())
        #expect(shares.used(of: .exports) == 0)
        // A writer whose reader has gone throws, and that is an end too.
        let broken = try await shares.streaming(.exports, for: holder) {
            Response(status: .ok, body: ResponseBody { try await $0.write(ByteBuffer(string: "[")) })
        }
        await #expect(throws: NoWriter.Gone.self) { try await broken.body.write(NoWriter()) }
        #expect(shares.used(of: .exports) == 0)
    }

    @Test func `a failure returns its slot`() async throws {
        let shares = ConcurrencyLimiter([.batches: ShareLimit(perCaller: 1, total: 4)])
        for _ in 0..<3 {
            await #expect(throws: CancellationError.self) {
                try await shares.holding(.batches, for: ShareHolder(application: Key(1), tenant: nil)) {
                    throw CancellationError()
                }
            }
        }
        #expect(shares.used(of: .batches) == 0)
    }

    @Test func `callers are told to retry when all slots are used`() async throws {
        let shares = ConcurrencyLimiter([.tests: ShareLimit(perCaller: 1, total: 1)])
        let leases = try (1...4).map { number in
            try shares.take(.tests, for: ShareHolder(application: Key(number), tenant: Key(number)))
        }
        let refused = await refusal {
            _ = try shares.take(.tests, for: ShareHolder(application: Key(5), tenant: Key(5)))
        }
        #expect(refused?.status == .serviceUnavailable && refused?.headers[.retryAfter] == "1")
        for lease in leases + leases { lease.end() }
        #expect(shares.used(of: .tests) == 0)
    }

    @Test func `one application's search flood leaves others their share`() async throws {
        let gate = SearchGate()
        let store = try gate.store()
        let flooder = try await store.create(.test(OpenVault()))
        let neighbour = try await store.create(.test(OpenVault()))
        let shares = ConcurrencyLimiter([.searches: ShareLimit(perCaller: 2, total: 16)])
        let router = ResponseMiddleware.router(clock: StoppedClock())
        PCFRoutes(Services(store, vault: OpenVault(), clock: StoppedClock(), shares: shares)) {
            PCF.Health(
                database: .init(isHealthy: true, message: ""), queue: .init(isHealthy: true, message: ""),
                scheduler: .init(isHealthy: true, message: ""))
        }.add(to: router)
        let app = Hummingbird.Application(
            router: router, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)))
        try await app.test(.router) { client in
            @Sendable func ask(_ application: BelfryService.Application) async throws -> Int {
                let credentials = TestServer.User.basic(application.uuid.uuidString, TestServer.apiKey)
                return try await client.execute(
                    uri: "/v2/registrations?q=zz", method: .get, headers: [.authorization: credentials]
                ).status.code
            }
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<10 { group.addTask { try await ask(flooder) } }
                // Eight are refused at once, while two are served.
                var statuses: [Int] = []
                while statuses.count < 8, let status = try await group.next() { statuses.append(status) }
                #expect(statuses == Array(repeating: 429, count: 8))
                async let own = ask(neighbour)
                while gate.waiting < 3 { await Task.yield() }
                gate.open()
                #expect(try await own == 200)
                for try await status in group { #expect(status == 200) }
            }
        }
        #expect(shares.used(of: .searches) == 0)
    }

    @Test func `the dashboard's list of applications counts as a search`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        #expect(try await browser.get("/apps").status == .ok)
        let person = try await dashboard.person(of: browser)
        let holder = ShareHolder(application: nil, tenant: nil, key: Key(-person.key.rawValue))
        let leases = try (0..<2).map { _ in try dashboard.services.shares.take(.searches, for: holder) }
        #expect(try await browser.get("/apps").status == .tooManyRequests)
        for lease in leases { lease.end() }
        #expect(try await browser.get("/apps").status == .ok)
    }

    @Test func `request bodies of one application stay within its share`() async throws {
        let shares = ConcurrencyLimiter([.uploads: ShareLimit(perCaller: 1_024, total: 8_192)])
        let holder = ShareHolder(application: Key(1), tenant: nil)
        func request(_ length: Int?) -> Request {
            var head = HTTPRequest(method: .post, scheme: nil, authority: nil, path: "/v1/push")
            if let length { head.headerFields[.contentLength] = String(length) }
            return Request(head: head, body: .init(buffer: ByteBuffer()))
        }
        func upload(_ length: Int?) async throws {
            _ = try await shares.uploading(request(length), atMost: 1 << 20, for: holder) {
                #expect(shares.used(of: .uploads) == (length ?? 1 << 20) / 1_024)
                let second = await refusal { try await self.nothing(shares, request(512 << 10), holder) }
                #expect((second?.status == .tooManyRequests) == ((length ?? 1 << 20) > 512 << 10))
                try await self.nothing(shares, request(1_000), holder)
                return Response(status: .ok)
            }
        }
        try await upload(1 << 20)
        try await upload(512 << 10)
        try await upload(nil)
        #expect(shares.used(of: .uploads) == 0)
    }

    @Test func `a body of unknown length counts once it is large`() async throws {
        let shares = ConcurrencyLimiter([.uploads: ShareLimit(perCaller: 1_024, total: 8_192)])
        let holder = ShareHolder(application: Key(1), tenant: nil)
        for (length, used) in [(0, 0), (64 << 10, 0), ((64 << 10) + 1, 1_024)] {
            let request = Request(
                head: HTTPRequest(method: .post, scheme: nil, authority: nil, path: "/v1/registration"),
                body: RequestBody(buffer: ByteBuffer(repeating: 0x20, count: length)))
            _ = try await shares.receiving(request, atMost: 1 << 20, for: holder) { request in
                #expect(shares.used(of: .uploads) == used)
                let bytes = try await request.bytes(atMost: 1 << 20)
                #expect(bytes.count == length)
                return Response(status: .ok)
            }
        }
        #expect(shares.used(of: .uploads) == 0)
    }

    private func nothing(_ shares: ConcurrencyLimiter, _ request: Request, _ holder: ShareHolder) async throws {
        _ = try await shares.uploading(request, atMost: 1 << 20, for: holder) { Response(status: .ok) }
    }
}

/// Writes nothing: its reader has gone.
private struct NoWriter: ResponseBodyWriter {
    struct Gone: Error {}

    func write(_ part: ByteBuffer) async throws { throw Gone() }
    func finish(_ trailingHeaders: HTTPFields?) async throws {}
}

/// The routes of the event streams, without a server.
private struct TestEventServer {
    let store: SQLiteStore
    let shares: ConcurrencyLimiter
    let admin: AdminService
    let application: BelfryService.Application
    private let route: Admin.Route

    init(_ limit: ShareLimit) async throws {
        store = try .temporary(clock: ManualClock())
        let vault = PlaintextVault()
        shares = ConcurrencyLimiter([.streams: limit])
        let services = Services(store, vault: vault, clock: ManualClock(), shares: shares)
        admin = services.admin
        let hub = EventHub(store: store, clock: ManualClock(), logger: CapturedLog().logger)
        let routes = AdminRoutes(services, events: hub)
        route = try #require(routes.routes.first { $0.path.hasSuffix("events") })
        application = try await store.create(.test(vault))
    }

    func key() async throws -> AdminKey {
        try await admin.createKey(
            name: try Name("k"), scope: .readOnly, bounds: .tenant(Tenant.first), by: TestAdminServer.author
        ).key
    }

    func stranger() async throws -> (key: AdminKey, application: BelfryService.Application) {
        let tenant = try await store.create(NewTenant(uuid: UUID(), name: try Name("other")))
        let application = try await admin.createApplication(
            name: try Name("other"), of: tenant.key, by: TestAdminServer.author
        ).application
        let key = try await admin.createKey(
            name: try Name("k"), scope: .readOnly, bounds: .tenant(tenant.key), by: TestAdminServer.author
        ).key
        return (key, application)
    }

    func follow(_ key: AdminKey, _ application: BelfryService.Application? = nil) async throws -> Response {
        let head = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/")
        var parameters = Parameters()
        parameters["app_uuid"] = (application ?? self.application).uuid.lowercased[...]
        return try await route.answer(
            Admin.Call(
                request: Request(head: head, body: .init(buffer: ByteBuffer())), parameters: parameters, key: key,
                author: AuditAuthor(key, address: nil), bodyBytesMax: 1_024, logger: Logger(label: "test")))
    }
}

/// Lets no search begin until it is opened.
private final class SearchGate: Sendable {
    private let state = Mutex((waiting: 0, isOpen: false))

    var waiting: Int { state.withLock { $0.waiting } }

    func open() { state.withLock { $0.isOpen = true } }

    func store() throws -> InterceptedStore {
        InterceptedStore(try .temporary(clock: StoppedClock())) { [self] access in
            guard access == .search else { return }
            state.withLock { $0.waiting += 1 }
            while !state.withLock({ $0.isOpen }) { await Task.yield() }
        }
    }
}

import BelfryTesting
import Crypto
import FoundationEssentials
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Synchronization
import Testing

@testable import BelfryService

/// The API on a database, with one application that has an iOS and an FCM platform.
struct TestServer {
    let store: InterceptedStore
    private let trouble = WriteTrouble()
    let vault = OpenVault()
    let clock: StoppedClock
    let application: BelfryService.Application
    let ios: BelfryService.Platform
    let fcm: BelfryService.Platform
    var options = PCF.Options() { didSet { built = BuiltResponder() } }
    var requestLimiter: RequestLimiter? { didSet { built = BuiltResponder() } }
    private var built = BuiltResponder()
    var health = PCF.Health(
        database: .init(isHealthy: true, message: "SQLite"), queue: .init(isHealthy: true, message: "batches flow"),
        scheduler: .init(isHealthy: true, message: "Scheduler is up"))
    { didSet { built = BuiltResponder() } }

    static let apiKey = "4b9a2f5e-api-key"
    static let secret = "f3c1c9a7-platform-secret"
    /// Both of the worked examples of the documentation were signed with secrets like this one.
    static let sharedSecret = "6173657630314C356B4161393134357A4A355A67336F303849384F494E4E384C"

    /// - Parameter base: keeps everything; an empty database when nil.
    init(over base: SQLiteStore? = nil) async throws {
        let clock = StoppedClock()
        self.clock = clock
        store = InterceptedStore(try base ?? .temporary(clock: clock)) { [trouble] in try trouble.check($0) }
        application = try await store.create(.test(vault))
        ios = try await store.create(.test(.ios, of: application))
        fcm = try await store.create(.test(.androidFCM, of: application))
    }

    func router() -> Router<APIContext> {
        let router = ResponseMiddleware.router(clock: clock)
        let health = health
        PCFRoutes(
            Services(store, vault: vault, clock: clock, requestLimiter: requestLimiter), options: options,
            health: { health }
        ).add(to: router)
        Contract().add(to: router)
        return router
    }

    func app() -> Hummingbird.Application<RouterResponder<APIContext>> {
        Hummingbird.Application(
            responder: built.get { router().buildResponder() },
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)))
    }

    /// Sends one request through the router.
    func send(
        _ method: HTTPRequest.Method, _ path: String, as user: User = .nobody, _ body: String? = nil,
        headers more: HTTPFields = [:]
    ) async throws -> TestAnswer {
        try await app().test(.router) { client in
            var headers = more
            if let value = user.header(self) { headers[.authorization] = value }
            let response = try await client.execute(
                uri: path, method: method, headers: headers, body: body.map(ByteBuffer.init(string:)))
            return try TestAnswer(response)
        }
    }

    /// Sends one request through a router of the test's own.
    func send(
        _ method: HTTPRequest.Method, _ path: String, through router: Router<APIContext>, headers: HTTPFields
    ) async throws -> TestAnswer {
        try await Hummingbird.Application(router: router).test(.router) { client in
            try TestAnswer(try await client.execute(uri: path, method: method, headers: headers))
        }
    }

    /// Every write fails with the error from now on; with nil none does.
    func fail(with error: (any Error)?) { trouble.set(error) }

    /// Writes fail after the next ones, as if the process had died there; or they work again.
    func crash(afterWrites count: Int?) {
        trouble.set(count.map { _ in StoreError.unavailable("the process died") }, sparing: count ?? 0)
    }

    /// The devices that a push reaches.
    func reached(by push: Push) async throws -> Set<UUID> {
        var keys: Set<Key<Device>> = []
        try await store.deliver { batch, device in
            if batch.pushKey == push.key { keys.insert(device) }
            return .accepted
        }
        return Set(try await store.allDevices().filter { keys.contains($0.key) }.map(\.uuid))
    }

    func push(_ body: String) async throws -> TestAnswer { try await send(.post, "/v1/push", as: .sender, body) }

    func register(_ body: String, on user: User = .iPhone) async throws -> TestAnswer {
        try await send(.post, "/v1/registration", as: user, body)
    }

    /// Registers a device and gives its UUID.
    func device(_ token: String, on user: User = .iPhone, _ more: String = "") async throws -> UUID {
        let reply = try await register(#"{"registration_token":"\#(token)"\#(more)}"#, on: user)
        return try #require(reply["device_uuid"]?.stringValue.flatMap(UUID.init(uuidString:)), "\(reply)")
    }

    enum User {
        case nobody, sender, iPhone, android
        case raw(String)

        func header(_ server: TestServer) -> String? {
            switch self {
            case .nobody: nil
            case .sender: Self.basic(server.application.uuid.uuidString, TestServer.apiKey)
            case .iPhone: Self.basic(server.ios.uuid.uuidString, TestServer.secret)
            case .android: Self.basic(server.fcm.uuid.uuidString, TestServer.secret)
            case .raw(let header): header
            }
        }

        static func basic(_ user: String, _ secret: String) -> String {
            "Basic " + Data("\(user):\(secret)".utf8).base64EncodedString()
        }
    }
}

/// A responder that is built when it is first asked: building one costs more than most requests.
final class BuiltResponder: Sendable {
    private let held = Mutex<RouterResponder<APIContext>?>(nil)

    func get(_ build: () -> RouterResponder<APIContext>) -> RouterResponder<APIContext> {
        held.withLock { held in
            let responder = held ?? build()
            held = responder
            return responder
        }
    }
}

struct TestAnswer: CustomStringConvertible {
    let status: Int
    let headers: HTTPFields
    let text: String
    let json: JSONValue

    init(_ response: TestResponse) throws {
        status = response.status.code
        headers = response.headers
        text = String(buffer: response.body)
        let isText = headers[.contentType]?.hasPrefix("text/") ?? false
        json = text.isEmpty || isText ? .null : try JSONValue(json: text.utf8)
    }

    subscript(key: String) -> JSONValue? { json[key] }
    var message: String? { self["message"]?.stringValue }
    var description: String { "\(status) \(text)" }
}

extension NewApplication {
    static func test(
        _ vault: some Vault, key: String = TestServer.apiKey, tenant: Key<Tenant> = Tenant.first
    ) throws -> Self {
        let uuid = UUID()
        let secret = try #require([UInt8](hex: TestServer.sharedSecret.utf8))
        return NewApplication(
            uuid: uuid, name: "test", apiKeyHash: Array(SHA256.hash(data: Data(key.utf8))),
            sharedSecret: try vault.seal(secret, for: VaultPurpose.sharedSecret(of: uuid)),
            tenantKey: tenant)
    }
}

extension NewPlatform {
    static func test(_ kind: PlatformKind, of application: BelfryService.Application) -> Self {
        NewPlatform(
            uuid: UUID(), applicationKey: application.key, kind: kind, mode: .production, name: kind.rawValue,
            secretHash: Array(SHA256.hash(data: Data(TestServer.secret.utf8))), credentials: Sealed(bytes: []))
    }
}

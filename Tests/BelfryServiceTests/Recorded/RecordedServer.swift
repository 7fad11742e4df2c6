import BelfryTesting
import Crypto
import FoundationEssentials
import Hummingbird
import HummingbirdTesting
import Logging
import Testing

@testable import BelfryService

/// The API over a store in memory and a real socket, with one application and a platform of each kind.
///
/// Each exchange is played twice: with an application that was made here, and with one that moved in from another server, with the
/// UUIDs, keys and secrets that it had there, whose devices were all imported under their old UUIDs before they say a word.
struct RecordedServer {
    let clock: ManualClock
    let store: SQLiteStore
    let application: BelfryService.Application
    let platforms: [PlatformKind: BelfryService.Platform]
    let wire: Wire
    let isMovedIn: Bool

    static let apiKey = "8c18277b-1b41-453b-b1a2-9f600c9e0d8e"
    static let secret = "b5bc2efd-1d7b-4f5e-b4d3-1c2f5e6a7b8c"
    /// That of the worked example of the custom user id's page.
    static let sharedSecret = "6173657630314C356B4161393134357A4A355A67336F303849384F494E4E384C"

    static func open(
        at now: Instant = Instant(milliseconds: 1_500_000_000_000), verifiesCustomUserIDs: Bool = true,
        _ play: @escaping @Sendable (RecordedServer) async throws -> Void
    ) async throws {
        for isMovedIn in [false, true] {
            try await open(at: now, verifiesCustomUserIDs, isMovedIn: isMovedIn, play)
        }
    }

    private static func open(
        at now: Instant, _ verifiesCustomUserIDs: Bool, isMovedIn: Bool,
        _ play: @escaping @Sendable (RecordedServer) async throws -> Void
    ) async throws {
        let clock = ManualClock(at: now)
        let store = try SQLiteStore.temporary(clock: clock)
        let vault = PlaintextVault()
        let (application, platforms) =
            isMovedIn ? try await moveIn(to: store, vault, clock) : try await make(in: store, vault)
        var options = PCF.Options()
        options.verifiesCustomUserIDs = verifiesCustomUserIDs
        let router = router(isMovedIn ? moving(store) : store, vault, clock, options)
        let app = Hummingbird.Application(
            router: router, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)))
        try await app.test(.live) { client in
            let wire = try await Wire.open(port: try #require(client.port))
            try await play(
                RecordedServer(
                    clock: clock, store: store, application: application, platforms: platforms, wire: wire,
                    isMovedIn: isMovedIn))
            try await wire.close()
        }
    }

    /// Every path of every API.
    static func router(
        _ store: any Store, _ vault: any Vault, _ clock: any WallClock, _ options: PCF.Options
    ) -> Router<APIContext> {
        let router = ResponseMiddleware.router(clock: clock)
        let part = PCF.Health.Part(isHealthy: true, message: "well")
        let services = Services(store, vault: vault, clock: clock, credentials: AnyCredentials())
        PCFRoutes(services, options: options, health: { PCF.Health(database: part, queue: part, scheduler: part) })
            .add(to: router)
        AdminRoutes(
            services, events: EventHub(store: store, clock: clock, logger: Logger(label: "events")),
            server: FakeServer()
        ).add(to: router)
        BrokerRoutes(services, options: nil).add(to: router)
        CarmaRoutes(services).add(to: router)
        AcrobitsRoutes(services, below: PublicPath(of: "https://push.example.org/push")).add(to: router)
        MediatorRoutes(services).add(to: router)
        GeneroRoutes(services).add(to: router)
        MatrixRoutes(services).add(to: router)
        MattermostRoutes(services).add(to: router)
        RocketChatRoutes(services).add(to: router)
        GorushRoutes(services).add(to: router)
        SIPRoutes(services).add(to: router)
        PublisherRoutes(services).add(to: router)
        WebRoutes(
            services, providers: FakeProviders { _ in FakeProvider(clock: clock) },
            verifiesCustomUserIDs: options.verifiesCustomUserIDs, eventsLateMax: options.eventsLateMax
        ).add(to: router)
        WebPushRoutes(services).add(to: router)
        WebSDK().add(to: router)
        Contract().add(to: router)
        HealthRoutes { [] }.add(to: router)
        return router
    }

    private init(
        clock: ManualClock, store: SQLiteStore, application: BelfryService.Application,
        platforms: [PlatformKind: BelfryService.Platform], wire: Wire, isMovedIn: Bool
    ) {
        self.clock = clock
        self.store = store
        self.application = application
        self.platforms = platforms
        self.wire = wire
        self.isMovedIn = isMovedIn
    }

    private static func make(
        in store: SQLiteStore, _ vault: PlaintextVault
    ) async throws -> (BelfryService.Application, [PlatformKind: BelfryService.Platform]) {
        let application = try await store.create(Self.application(vault))
        var platforms: [PlatformKind: BelfryService.Platform] = [:]
        for kind in PlatformKind.allCases { platforms[kind] = try await store.create(platform(kind, of: application)) }
        return (application, platforms)
    }

    /// With what clients hold of another server, as an operator gives it.
    private static func moveIn(
        to store: SQLiteStore, _ vault: PlaintextVault, _ clock: ManualClock
    ) async throws -> (BelfryService.Application, [PlatformKind: BelfryService.Platform]) {
        let admin = Services(store, vault: vault, clock: clock, credentials: AnyCredentials()).admin
        let author = AuditAuthor.local(systemUser: "test")
        let application = try await admin.createApplication(
            name: try Name("Bakery"),
            identity: try ApplicationIdentity(uuid: UUID(), apiKey: apiKey, sharedSecret: sharedSecret), by: author
        ).application
        var platforms: [PlatformKind: BelfryService.Platform] = [:]
        for kind in PlatformKind.allCases {
            platforms[kind] = try await admin.createPlatform(
                of: application, kind: kind, mode: .production, name: try Name(kind.rawValue),
                identity: try PlatformIdentity(uuid: UUID(), secret: secret), credentials: [:], by: author
            ).platform
        }
        return (application, platforms)
    }

    private static func application(_ vault: PlaintextVault) throws -> NewApplication {
        let uuid = UUID()
        let secret = try #require([UInt8](hex: sharedSecret.utf8))
        return NewApplication(
            uuid: uuid, name: "Bakery", apiKeyHash: Array(SHA256.hash(data: Data(apiKey.utf8))),
            sharedSecret: try vault.seal(secret, for: VaultPurpose.sharedSecret(of: uuid)))
    }

    private static func platform(_ kind: PlatformKind, of application: BelfryService.Application) -> NewPlatform {
        NewPlatform(
            uuid: UUID(), applicationKey: application.key, kind: kind, mode: .production, name: kind.rawValue,
            secretHash: Array(SHA256.hash(data: Data(secret.utf8))), credentials: Sealed(bytes: []))
    }

    // MARK: Credentials as they go over the wire

    var sender: String { Self.credentials(application.uuid, Self.apiKey) }

    func device(_ kind: PlatformKind) throws -> String {
        Self.credentials(try #require(platforms[kind]).uuid, Self.secret)
    }

    private static func credentials(_ uuid: UUID, _ secret: String) -> String {
        Data("\(uuid.uuidString.lowercased()):\(secret)".utf8).base64EncodedString()
    }

    // MARK: Exchanges

    /// Sends the bytes and holds the answer to its status and its shape; nil is no body at all.
    @discardableResult
    func exchange(
        _ request: String, _ status: Int, _ shape: Shape?, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> StrictJSON? {
        let answer = try await wire.exchange(request)
        #expect(answer.status == status, "\(answer)", sourceLocation: sourceLocation)
        #expect(answer.headers["location"] == nil, "SDKs fail at redirects", sourceLocation: sourceLocation)
        guard answer.status == status else { return nil }
        guard let shape else {
            #expect(answer.body.isEmpty, "\(answer)", sourceLocation: sourceLocation)
            return nil
        }
        #expect(answer.headers["content-type"]?.hasPrefix("application/json") == true, sourceLocation: sourceLocation)
        let json = try StrictJSON(answer.body)
        #expect(shape.faults(in: json) == [], sourceLocation: sourceLocation)
        return json
    }
}

/// A store in which each device that registers for the first time was imported before, under the UUID that another server gave it.
private func moving(_ base: SQLiteStore) -> InterceptedStore {
    InterceptedStore(
        base,
        registering: { registration, uuid, platform in
            guard uuid == nil, try await base.holders(of: [registration.token], on: platform.key).isEmpty else {
                return
            }
            let known = try Registration(
                token: registration.token, about: Device.About(), customUserID: .clear, topics: .replace([]))
            _ = try await base.importDevices([DeviceImport(registration: known, uuid: UUID())], on: platform)
        })
}

/// Takes whatever a person enters.
private struct AnyCredentials: ProviderCredentials {
    func sealed(
        _ entered: [String: JSONValue], kind: PlatformKind, mode: BelfryService.Platform.Mode, platform: UUID,
        by author: CredentialsAuthor, for holder: ShareHolder
    ) async throws -> SealedCredentials { SealedCredentials(seal: Sealed(bytes: []), facts: .none) }
    func examine(_ platform: BelfryService.Platform) async throws -> ExaminedCredentials {
        ExaminedCredentials(facts: .none)
    }
    func parking(of kind: PlatformKind) -> Parking? { nil }
    func test(_ platform: BelfryService.Platform, devices: [DeviceToken]) async -> CredentialsTest { .works }
}

/// A request, line by line.
func request(_ head: String..., body: String = "") -> String { head.joined(separator: "\r\n") + "\r\n\r\n" + body }

/// A body as `HttpURLConnection` sends it when it is not told how long it is.
func chunked(_ parts: String...) -> String {
    parts.map { "\(String($0.utf8.count, radix: 16))\r\n\($0)\r\n" }.joined() + "0\r\n\r\n"
}

import BelfryProviders
import BelfryService
import BelfrySimulators
import NIOPosix

/// All simulated providers of the demo, and their shares of each hundred devices.
struct DemoProviders: Sendable {
    let all: [(provider: any DemoProvider, share: Int)]

    static let group = MultiThreadedEventLoopGroup.singleton

    init() async throws {
        let gcm = try await GCMSimulator.start(group: Self.group)
        all = [
            (try await DemoAPNs(), 40),
            (try Self.fcm(await FCMSimulator.start(group: Self.group)), 30),
            (try await DemoWebPush(), 10),
            (Self.gcm(gcm), 4),
            (try Self.wns(await WNSSimulator.start(group: Self.group)), 3),
            (try Self.mpns(await MPNSSimulator.start(group: Self.group)), 2),
            (try Self.pap(await PAPSimulator.start(group: Self.group)), 2),
            (Self.hms(try await HMSSimulator.start(group: Self.group)), 4),
            (try Self.adm(await ADMSimulator.start(group: Self.group)), 3),
            (try Self.webhook(await WebhookSimulator.start(group: Self.group)), 2),
        ]
    }

    func shutdown() async throws {
        for (provider, _) in all { try await provider.shutdown() }
    }

    static func randomHex(bytes: Int) -> String {
        (0..<bytes).reduce(into: "") { text, _ in
            let byte = UInt8.random(in: 0...255)
            text += (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
    }

    private static func fcm(_ simulator: FCMSimulator) throws -> any DemoProvider {
        DemoService("FCM", .androidFCM, simulator, gone: "UNREGISTERED", refused: "INVALID_ARGUMENT") {
            FCMPlatformCredentials(
                serviceAccount: $0.serviceAccountJSON, endpoint: $0.url, trustRootsPEM: $0.trustRootPEM)
        }
    }

    private static func gcm(_ simulator: GCMSimulator) -> any DemoProvider {
        DemoService("GCM", .android, simulator, gone: "NotRegistered", refused: "InvalidRegistration") {
            AndroidPlatformCredentials.gcm(
                GCMPlatformCredentials(
                    key: GCMConfiguration().serverKey, endpoint: $0.sendURL, trustRootsPEM: $0.trustRootPEM))
        }
    }

    private static func wns(_ simulator: WNSSimulator) throws -> any DemoProvider {
        let store = WNSConfiguration().store
        return try DemoService(
            "WNS", .windows8, simulator, gone: "Gone", refused: "dropped", address: { simulator.channel($0) }
        ) {
            try WNSPlatformCredentials(
                entered: [
                    "package_sid": .string(store.clientID), "client_secret": .string(store.clientSecret),
                    "token_url": .string($0.storeTokenURL), "domain": .string("localhost"),
                    "trust_root": .string($0.trustRootPEM),
                ])
        }
    }

    private static func mpns(_ simulator: MPNSSimulator) throws -> any DemoProvider {
        try DemoService(
            "MPNS", .windowsPhone, simulator, gone: "Expired", refused: "Suppressed",
            address: { simulator.channel($0) }
        ) {
            try MPNSPlatformCredentials(
                entered: ["domain": .string("localhost"), "trust_root": .string($0.trustRootPEM)])
        }
    }

    private static func pap(_ simulator: PAPSimulator) throws -> any DemoProvider {
        let configuration = PAPConfiguration()
        return try DemoService("BlackBerry PAP", .bb10, simulator, gone: "2002", refused: "2001") {
            try PAPPlatformCredentials(
                entered: [
                    "application_id": .string(configuration.applicationID),
                    "password": .string(configuration.password), "url": .string($0.sendURL),
                    "trust_root": .string($0.trustRootPEM),
                ])
        }
    }

    private static func hms(_ simulator: HMSSimulator) -> any DemoProvider {
        let app = HMSConfiguration().credentials
        return DemoService("HMS Push Kit", .huawei, simulator, refused: "illegal") {
            HMSPlatformCredentials(
                appID: app.clientID, appSecret: app.clientSecret, endpoint: $0.url, tokenURL: $0.tokenURL,
                trustRootsPEM: $0.trustRootPEM)
        }
    }

    private static func adm(_ simulator: ADMSimulator) throws -> any DemoProvider {
        let app = ADMConfiguration().credentials
        return try DemoService(
            "ADM", .amazon, simulator, gone: "Unregistered", refused: "InvalidRegistrationId"
        ) {
            try ADMPlatformCredentials(
                entered: [
                    "client_id": .string(app.clientID), "client_secret": .string(app.clientSecret),
                    "endpoint": .string($0.url), "trust_root": .string($0.trustRootPEM),
                ])
        }
    }

    private static func webhook(_ simulator: WebhookSimulator) throws -> any DemoProvider {
        try DemoService("webhook", .webhook, simulator) {
            try WebhookPlatformCredentials(
                entered: [
                    "url": .string("\($0.url)/hook"),
                    "secret": .string(String(decoding: WebhookConfiguration().secret, as: UTF8.self)),
                    "trust_root": .string($0.trustRootPEM),
                ])
        }
    }
}

/// A simulated provider of the demo, and the platform in front of it.
protocol DemoProvider: Sendable {
    var name: String { get }
    var kind: PlatformKind { get }
    var credentials: any PlatformCredentials { get }
    /// Whether it has answers for a device that is gone, and for one that it refuses.
    var knows: Set<DemoCrowd.Fate> { get }

    /// A number of registration tokens, all different.
    func tokens(_ count: Int) -> [String]
    /// Scripts the answers for the tokens.
    func arrange(_ fates: [String: DemoCrowd.Fate], now: Instant)
    /// The number of devices notified, by the provider's own count.
    var told: Int { get }
    func shutdown() async throws
}

struct DemoAPNs: DemoProvider {
    private let simulator: APNsSimulator
    private let key: APNsSimulator.IssuedKey

    private static let topic = "org.example.belfry-demo"

    init() async throws {
        key = APNsSimulator.IssuedKey()
        var configuration = APNsSimulator.Configuration()
        configuration.authentication = .tokens([key.known])
        configuration.topics = [Self.topic]
        simulator = try await APNsSimulator.start(configuration, group: DemoProviders.group)
    }

    let name = "APNs"
    let kind = PlatformKind.ios
    let knows: Set<DemoCrowd.Fate> = [.gone, .refused]

    var credentials: any PlatformCredentials {
        APNsPlatformCredentials(
            identity: .key(p8: key.p8, keyID: key.keyID, teamID: key.teamID), topic: Self.topic,
            endpoint: "https://localhost:\(simulator.port)", trustRootsPEM: simulator.trustRootPEM)
    }

    func tokens(_ count: Int) -> [String] { (0..<count).map { _ in DemoProviders.randomHex(bytes: 32) } }

    func arrange(_ fates: [String: DemoCrowd.Fate], now: Instant) {
        simulator.script.set(
            ServiceScript(
                verdicts: fates.compactMapValues { fate in
                    switch fate {
                    case .taken: nil
                    case .gone:
                        ScriptedAnswer("Unregistered", status: 410, timestamp: now.milliseconds + 60 * 60 * 1_000)
                    case .refused: ScriptedAnswer("BadDeviceToken", status: 400)
                    }
                }))
    }

    var told: Int { simulator.ledger.totals().told }

    func shutdown() async throws { try await simulator.shutdown() }
}

/// Any provider except APNs.
struct DemoService<S: SimulatedService>: DemoProvider {
    let name: String
    let kind: PlatformKind
    let credentials: any PlatformCredentials
    let simulator: ServiceSimulator<S>
    /// The provider's own answer for a fate.
    let words: [DemoCrowd.Fate: ScriptedAnswer]
    /// The registration token of a device by its name in script and ledger.
    let address: @Sendable (String) -> String

    init(
        _ name: String, _ kind: PlatformKind, _ simulator: ServiceSimulator<S>, gone: String? = nil,
        refused: String? = nil, address: @escaping @Sendable (String) -> String = { $0 },
        credentials: (ServiceSimulator<S>) throws -> any PlatformCredentials
    ) rethrows {
        self.name = name
        self.kind = kind
        self.simulator = simulator
        self.address = address
        words = [.gone: gone, .refused: refused].compactMapValues { $0.map { ScriptedAnswer($0) } }
        self.credentials = try credentials(simulator)
    }

    var knows: Set<DemoCrowd.Fate> { Set(words.keys) }

    func tokens(_ count: Int) -> [String] { (0..<count).map { _ in address(DemoProviders.randomHex(bytes: 16)) } }

    func arrange(_ fates: [String: DemoCrowd.Fate], now: Instant) {
        let prefix = address("").count
        simulator.script.answer(
            Dictionary(
                uniqueKeysWithValues: fates.compactMap { token, fate in
                    words[fate].map { (String(token.dropFirst(prefix)), $0) }
                }))
    }

    var told: Int { simulator.ledger.totals().told }

    func shutdown() async throws { try await simulator.shutdown() }
}

/// Its tokens are created by the service, and are JSON.
struct DemoWebPush: DemoProvider {
    private let simulator: WebPushSimulator
    let credentials: any PlatformCredentials

    init() async throws {
        simulator = try await WebPushSimulator.start(group: DemoProviders.group)
        credentials = try WebPushPlatformCredentials(
            entered: ["subject": .string("mailto:demo@belfry.example"), "trust_root": .string(simulator.trustRootPEM)])
    }

    let name = "Web Push"
    let kind = PlatformKind.web
    let knows: Set<DemoCrowd.Fate> = [.gone]

    func tokens(_ count: Int) -> [String] { simulator.subscribe(count).map(\.json) }

    func arrange(_ fates: [String: DemoCrowd.Fate], now: Instant) {
        let gone = fates.filter { $0.value == .gone }.keys
        simulator.script.answer(ScriptedAnswer("Gone"), for: gone.compactMap(Self.id))
    }

    /// The name of a subscription in script and ledger: the end of its endpoint.
    private static func id(of subscription: String) -> String? {
        subscription.split(separator: "\"").first { $0.hasPrefix("https://") }?.split(separator: "/").last
            .map { String($0) }
    }

    var told: Int { simulator.ledger.totals().told }

    func shutdown() async throws { try await simulator.shutdown() }
}

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

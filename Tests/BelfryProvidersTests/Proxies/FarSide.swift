import BelfryService
import BelfrySimulators

@testable import BelfryProviders

/// The simulators that stand behind a proxy in tests: two that are spoken to over HTTP/2 by the batch, three over
/// HTTP/1.1.
enum FarSide: String, Sendable, CaseIterable {
    case apns, fcm, webpush, wns, webhook

    var family: ProviderFamily {
        switch self {
        case .apns: .apns
        case .fcm: .fcm
        case .webpush: .webpush
        case .wns: .wns
        case .webhook: .webhook
        }
    }

    struct Place: Sendable {
        let provider: any DrainableProvider
        let platform: Platform
        let tokens: [String]
        let port: Int
        let told: @Sendable () -> Int
    }

    /// Starts the simulator and makes its provider.
    func with(_ providers: TestProviders, _ body: (Place) async throws -> Void) async throws {
        switch self {
        case .apns: try await withAPNs(providers, body)
        case .fcm:
            try await withService(FCMSimulator.self, FCMConfiguration(), .androidFCM, providers, body) { simulator in
                (["service_account": simulator.serviceAccountJSON, "endpoint": simulator.url], ["one", "two"])
            }
        case .webpush:
            try await withService(WebPushSimulator.self, WebPushConfiguration(), .web, providers, body) { simulator in
                ([:], simulator.subscribe(2).map(\.json))
            }
        case .wns:
            try await withService(WNSSimulator.self, WNSConfiguration(), .windows8, providers, body) { simulator in
                let own = WNSConfiguration().store
                return (
                    [
                        "package_sid": own.clientID, "client_secret": own.clientSecret,
                        "token_url": simulator.storeTokenURL, "domain": "localhost",
                    ], ["one", "two"].map(simulator.channel)
                )
            }
        case .webhook:
            let secret = "a secret of this test, long enough"
            var configuration = WebhookConfiguration()
            configuration.secret = Array(secret.utf8)
            try await withService(WebhookSimulator.self, configuration, .webhook, providers, body) { simulator in
                (["url": "\(simulator.url)/hook", "secret": secret], ["one", "two"])
            }
        }
    }

    private func withService<Service: SimulatedService>(
        _ type: ServiceSimulator<Service>.Type, _ configuration: Service.Configuration, _ kind: PlatformKind,
        _ providers: TestProviders, _ body: (Place) async throws -> Void,
        entered: (ServiceSimulator<Service>) -> ([String: String], [String])
    ) async throws {
        let simulator = try await type.start(configuration)
        do {
            var (fields, tokens) = entered(simulator)
            fields["trust_root"] = simulator.trustRootPEM
            let platform = try providers.platform(kind, fields)
            let provider = try await Providers.make(platform, with: providers.dependencies)
            try await body(
                Place(
                    provider: provider, platform: platform, tokens: tokens, port: simulator.port,
                    told: { Int(simulator.ledger.totals().told) }))
            await provider.shutdown(within: .seconds(1))
        } catch {
            try await simulator.shutdown()
            throw error
        }
        try await simulator.shutdown()
    }

    private func withAPNs(_ providers: TestProviders, _ body: (Place) async throws -> Void) async throws {
        let key = APNsSimulator.IssuedKey()
        var configuration = APNsSimulator.Configuration()
        configuration.authentication = .tokens([key.known])
        configuration.topics = ["org.example.system"]
        let simulator = try await APNsSimulator.start(configuration)
        do {
            let platform = try providers.platform(
                .ios,
                [
                    "topic": "org.example.system", "apns_key": key.p8, "key_id": key.keyID, "team_id": key.teamID,
                    "endpoint": "https://localhost:\(simulator.port)", "trust_root": simulator.trustRootPEM,
                ])
            let provider = try await Providers.make(platform, with: providers.dependencies)
            let tokens = ["1", "2"].map { String(repeating: $0, count: 32) }
            try await body(
                Place(
                    provider: provider, platform: platform, tokens: tokens, port: simulator.port,
                    told: { Int(simulator.ledger.totals().told) }))
            await provider.shutdown(within: .seconds(1))
        } catch {
            try await simulator.shutdown()
            throw error
        }
        try await simulator.shutdown()
    }
}

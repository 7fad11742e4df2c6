import BelfryService
import BelfrySimulators

@testable import BelfryProviders

/// Each provider that is posted to, with its simulator behind one face.
enum Posted: String, CaseIterable {
    case web, wns, mpns, adm, pap, webhook, gcm, hms

    /// Whether devices name the hosts that are spoken to.
    var isNamedByDevices: Bool { [.web, .wns, .mpns].contains(self) }

    var hasTokenService: Bool { [.wns, .adm, .hms].contains(self) }

    var kind: PlatformKind {
        switch self {
        case .web: .web
        case .wns: .windows8
        case .mpns: .windowsPhone
        case .adm: .amazon
        case .pap: .bb10
        case .webhook: .webhook
        case .gcm: .android
        case .hms: .huawei
        }
    }

    /// A simulator that runs.
    struct RunningSimulator: Sendable {
        let kind: PlatformKind
        /// Without `trust_root`.
        let fields: [String: String]
        let trustRoot: String
        let token: String
        let sendPath: String
        let tokenPath: String
        let script: ServiceCurrentScript
        let told: @Sendable () -> Int
        /// The last request of a device.
        let last: @Sendable () -> LedgerRequest?
        let stopListening: @Sendable () async throws -> Void

        func provider(_ providers: TestProviders, trustRoot: String? = nil) throws -> any DrainableProvider {
            try providers.provider(kind, fields.merging(["trust_root": trustRoot ?? self.trustRoot]) { $1 })
        }
    }

    func play(_ body: (RunningSimulator) async throws -> Void) async throws {
        switch self {
        case .web:
            try await play(WebPushSimulator.self, WebPushConfiguration(), body) { simulator in
                (["subject": "mailto:ops@example.com"], simulator.subscribe().json, "/", "")
            }
        case .wns:
            let own = WNSConfiguration()
            try await play(WNSSimulator.self, own, body) { simulator in
                (
                    [
                        "package_sid": own.store.clientID, "client_secret": own.store.clientSecret,
                        "token_url": simulator.storeTokenURL, "domain": "localhost",
                    ], simulator.channel("t"), simulator.channel("t"), simulator.storeTokenURL
                )
            }
        case .mpns:
            try await play(MPNSSimulator.self, MPNSConfiguration(), body) { simulator in
                (["domain": "localhost"], simulator.channel("t"), "/", "")
            }
        case .adm:
            let own = ADMConfiguration().credentials
            try await play(ADMSimulator.self, ADMConfiguration(), body) { simulator in
                (
                    ["client_id": own.clientID, "client_secret": own.clientSecret, "endpoint": simulator.url], "t",
                    "/messaging/", simulator.tokenURL
                )
            }
        case .pap:
            let own = PAPConfiguration()
            try await play(PAPSimulator.self, own, body) { simulator in
                (
                    ["application_id": own.applicationID, "password": own.password, "url": simulator.sendURL], "t", "/",
                    ""
                )
            }
        case .webhook:
            var own = WebhookConfiguration()
            own.secret = Array("a secret of this test, long enough".utf8)
            try await play(WebhookSimulator.self, own, body) { simulator in
                (
                    ["url": "\(simulator.url)/hook", "secret": "a secret of this test, long enough"], "t", "/", ""
                )
            }
        case .gcm:
            let own = GCMConfiguration()
            try await play(GCMSimulator.self, own, body) { simulator in
                (["gcm_api_key": own.serverKey, "endpoint": "\(simulator.url)/gcm/send"], "t", "/", "")
            }
        case .hms:
            let own = HMSConfiguration().credentials
            try await play(HMSSimulator.self, HMSConfiguration(), body) { simulator in
                (
                    [
                        "app_id": own.clientID, "app_secret": own.clientSecret, "endpoint": simulator.url,
                        "token_url": simulator.tokenURL,
                    ], "t", "/v1/", simulator.tokenURL
                )
            }
        }
    }

    /// Runs the simulator for as long as `body` takes.
    private func play<Service: SimulatedService>(
        _ type: ServiceSimulator<Service>.Type, _ configuration: Service.Configuration,
        _ body: (RunningSimulator) async throws -> Void,
        _ describe: (ServiceSimulator<Service>) -> (
            fields: [String: String], token: String, sendPath: String, tokenPath: String
        )
    ) async throws {
        var configuration = configuration
        configuration.listening.ledgerDetail = .payloads
        let simulator = try await type.start(configuration)
        do {
            let own = describe(simulator)
            let path = { (url: String) in String(url.replacing(simulator.url, with: "").prefix { $0 != "?" }) }
            try await body(
                RunningSimulator(
                    kind: kind, fields: own.fields, trustRoot: simulator.trustRootPEM, token: own.token,
                    sendPath: path(own.sendPath), tokenPath: path(own.tokenPath), script: simulator.script,
                    told: { simulator.ledger.totals().told },
                    last: { simulator.ledger.tokens().last?.lastRequest },
                    stopListening: { try await simulator.stopListening() }))
        } catch {
            try await simulator.shutdown()
            throw error
        }
        try await simulator.shutdown()
    }
}

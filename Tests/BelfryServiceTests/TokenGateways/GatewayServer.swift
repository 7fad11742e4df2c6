import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing

@testable import BelfryService

/// The gateways for servers that give device tokens, over a store in memory: an application with platforms of iOS, PushKit and FCM, and an open
/// gateway.
struct GatewayServer {
    let store: SQLiteStore
    let clock: ManualClock
    let application: BelfryService.Application
    let platforms: [PlatformKind: BelfryService.Platform]
    private let client: any TestClientProtocol

    static let key = "0123456789abcdef0123456789abcdef"
    static let appleToken = "51d97df57d8914fd5b5b04b9811ff019e2c4d6198007608ca6bd448f4c3192b6"
    /// The same in Base64, as Matrix's apps for iOS write it.
    static let applePushkey = "Udl99X2JFP1bWwS5gR/wGeLE1hmAB2CMpr1Ej0wxkrY="
    static let googleToken = "APA91bG9aqWvmnxnYBZWG9hxvtkgzTXSopfiufzmc6tP3Kb"

    /// - Parameters:
    ///   - names: of platforms, as the server has them.
    ///   - wait: how long an answer waits for a verdict.
    static func with(
        _ kind: OpenEndpoint.Kind, _ names: [String: PlatformKind] = [:], wait: Duration = .zero,
        shares: ConcurrencyLimiter = ConcurrencyLimiter(), quotas: Quotas = Quotas(),
        _ play: @escaping @Sendable (GatewayServer) async throws -> Void
    ) async throws {
        let clock = ManualClock(at: Instant(milliseconds: 1_500_000_000_000))
        let store = try SQLiteStore.temporary(clock: clock, quotas: quotas)
        let vault = PlaintextVault()
        let application = try await store.create(.test(vault))
        var platforms: [PlatformKind: BelfryService.Platform] = [:]
        for kind in [PlatformKind.ios, .apple(.voip), .androidFCM] {
            platforms[kind] = try await store.create(.test(kind, of: application))
        }
        let options = try names.mapValues { try #require(platforms[$0]).uuid.lowercased }
        _ = try await store.create(
            try NewOpenEndpoint(
                kind: kind, application: application.key, keyHash: SecretHash.of(key), options: options))
        let services = Services(store, vault: vault, clock: clock, shares: shares)
        let router = ResponseMiddleware.router(clock: clock)
        MatrixRoutes(services, verdictWait: wait).add(to: router)
        MattermostRoutes(services, verdictWait: wait).add(to: router)
        RocketChatRoutes(services, verdictWait: wait).add(to: router)
        GorushRoutes(services, verdictWait: wait).add(to: router)
        SIPRoutes(services, verdictWait: wait).add(to: router)
        let all = platforms
        try await Hummingbird.Application(router: router).test(.router) { client in
            try await play(
                GatewayServer(store: store, clock: clock, application: application, platforms: all, client: client))
        }
    }

    /// Posts a body.
    ///
    /// - Parameter answer: the provider's, which comes while the request waits for it.
    func post(
        _ path: String, _ body: String, headers: HTTPFields = [:], settling answer: Answer? = nil
    ) async throws -> (status: Int, json: JSONValue) {
        guard let answer else { return try await exchange(path, body, headers) }
        async let response = exchange(path, body, headers)
        while try await store.number("SELECT count(*) FROM batch WHERE is_open = true") == 0 { await Task.yield() }
        try await settle(answer)
        return try await response
    }

    /// The status of a HEAD.
    func head(_ path: String) async throws -> Int { try await client.execute(uri: path, method: .head).status.code }

    private func exchange(
        _ path: String, _ body: String, _ more: HTTPFields
    ) async throws -> (status: Int, json: JSONValue) {
        var headers: HTTPFields = [.contentType: "application/json"]
        headers.append(contentsOf: more)
        let response = try await client.execute(
            uri: path, method: .post, headers: headers, body: ByteBuffer(string: body))
        return (response.status.code, try JSONValue(json: Array(response.body.readableBytesView)))
    }

    /// Answers all devices that wait.
    func settle(_ answer: Answer) async throws { try await store.deliver { _, _ in answer } }

    func devices(_ kind: PlatformKind) async throws -> [Device] {
        try await store.allDevices().filter { $0.platformKey == platforms[kind]?.key }
    }

    var pushes: [Push] {
        get async throws { try await store.allPushes() }
    }

    /// The payload of the last push for Apple's devices.
    var payload: JSONObject {
        get async throws { try #require(try await pushes.last?.content.apple).payload }
    }

    /// The data of the last push for others.
    var data: JSONObject {
        get async throws { try #require(try await pushes.last?.content.shared).data }
    }
}

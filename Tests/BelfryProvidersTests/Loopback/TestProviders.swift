import BelfryService
import BelfryTesting
import Foundation
import Logging
import NIOPosix
import Outbound

@testable import BelfryProviders

/// The dependencies of providers on this machine: real HTTP, and a clock at the time of day, which push services compare.
struct TestProviders: Sendable {
    let dependencies: ProviderDependencies
    let clock: ManualClock
    let log: CapturedLog

    var errors: [String] { log.lines(atLeast: .error) }

    /// Makes one, and shuts its HTTP clients down.
    static func run(
        allowed: [String] = ["127.0.0.0/8", "::1"], proxies: ProxyPlan = ProxyPlan(), deadline: Duration = .seconds(30),
        _ body: (TestProviders) async throws -> Void
    ) async throws {
        let group = MultiThreadedEventLoopGroup.singleton
        var options = ProviderOptions()
        options.posting.allowed = allowed.compactMap(AddressBlock.init)
        options.posting.deadline = deadline
        options.proxies = proxies
        let clock = ManualClock(at: Instant(milliseconds: Int64(Date().timeIntervalSince1970) * 1_000))
        let log = CapturedLog()
        let routes = OutboundRoutes.open(options, clock: clock, on: group, logger: log.logger)
        let dependencies = ProviderDependencies(
            vault: PlaintextVault(), clock: clock, options: options, eventLoopGroup: group, routes: routes,
            logger: log.logger
        )
        do {
            try await body(TestProviders(dependencies: dependencies, clock: clock, log: log))
        } catch {
            await routes.close()
            throw error
        }
        await routes.close()
    }

    /// From fields as a person enters them, through seal and table as the server does it.
    func provider(_ kind: PlatformKind, _ entered: [String: String]) throws -> any DrainableProvider {
        guard let credentials = kind.provider else { throw ProviderError.credentials("none") }
        let platform = try platform(kind, entered)
        return try credentials.init(opening: platform, with: dependencies.vault)
            .makeProvider(for: platform, with: dependencies)
    }

    func platform(_ kind: PlatformKind, _ entered: [String: String]) throws -> Platform {
        let uuid = UUID()
        let sealed = try CredentialsService(dependencies: dependencies).sealed(
            entered.mapValues { .string($0) }, kind: kind, mode: .production, platform: uuid, by: .operator)
        return Platform(
            key: Key(1), uuid: uuid, applicationKey: Key(1), kind: kind, mode: .production, name: "p", secretHash: [],
            credentials: sealed.seal, credentialsVersion: 1, parked: nil, createdAt: clock.now)
    }

    func push(
        _ custom: JSONObject = [:], body: String? = "hello", lane: Lane = .normal, lasting: Duration? = nil
    ) -> Push {
        Push(
            key: Key(1), receiptID: UUID(), applicationKey: Key(1), content: Push.Content(body: body, custom: custom),
            audience: .list(.active), lane: lane, guarantee: .atLeastOnce, acceptedAt: clock.now,
            expiresAt: lasting.map { clock.now + $0 })
    }

    func recipients(_ tokens: [String]) -> [Recipient] {
        tokens.enumerated().map { Recipient(device: Key(Int64($0 + 1)), token: DeviceToken(bytes: Array($1.utf8))) }
    }

    /// Sends to the tokens and answers by token.
    func send(_ push: Push, to tokens: [String], by provider: any DrainableProvider) async -> [Outcome] {
        await provider.send(push, to: recipients(tokens))
    }
}

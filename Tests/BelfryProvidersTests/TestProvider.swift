import BelfryService
import BelfryTesting
import FoundationEssentials
import Logging
import NIOPosix
import Outbound

@testable import BelfryProviders

/// A provider made as the server makes it, for a platform of one kind, in front of a simulator.
struct TestProvider: Sendable {
    let credentialsService: CredentialsService
    let platform: Platform
    let provider: any DrainableProvider
    let clock: ManualClock

    /// Takes the credentials in, makes the provider, and ends all when `body` is done.
    static func with(
        _ kind: PlatformKind, _ credentials: any PlatformCredentials, deadline: Duration = .seconds(20),
        change: (inout ProviderOptions) -> Void = { _ in }, _ body: (TestProvider) async throws -> Void
    ) async throws {
        var options = ProviderOptions()
        (options.fcm.deadline, options.gcm.deadline, options.hms.deadline) = (deadline, deadline, deadline)
        options.posting.allowed = ["127.0.0.0/8", "::1"].compactMap(AddressBlock.init)
        change(&options)
        let clock = ManualClock()
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let group = MultiThreadedEventLoopGroup.singleton
        let routes = OutboundRoutes.open(options, clock: clock, on: group, logger: logger)
        let dependencies = ProviderDependencies(
            vault: PlaintextVault(), clock: clock, options: options, eventLoopGroup: group, routes: routes,
            logger: logger)
        do {
            let credentialsService = CredentialsService(dependencies: dependencies)
            let uuid = UUID()
            let platform = Platform(
                key: Key(1), uuid: uuid, applicationKey: Key(1), kind: kind, mode: .production, name: "x",
                secretHash: [],
                credentials: try credentialsService.sealed(
                    credentials.entered, kind: kind, mode: .production, platform: uuid, by: .operator
                ).seal,
                credentialsVersion: 1, parked: nil, createdAt: .zero)
            let provider = try await Providers.make(platform, with: dependencies)
            do {
                try await body(
                    TestProvider(
                        credentialsService: credentialsService, platform: platform, provider: provider, clock: clock))
            } catch {
                await provider.shutdown(within: .seconds(1))
                throw error
            }
            await provider.shutdown(within: .seconds(1))
        } catch {
            await routes.close()
            throw error
        }
        await routes.close()
    }

    /// Sends one batch to the devices behind the tokens.
    func send(
        _ tokens: [String], content: Push.Content = Push.Content(body: "hello"), expiresIn: Duration? = nil
    ) async -> [Outcome] {
        let push = Push(
            key: Key(1), receiptID: UUID(words: 3, 1), applicationKey: Key(1), content: content,
            audience: .list(.active), lane: .normal, guarantee: .atLeastOnce, acceptedAt: clock.now,
            expiresAt: expiresIn.map { clock.now + $0 })
        let recipients = tokens.enumerated().map {
            Recipient(device: Key(Int64($0.offset) + 1), token: DeviceToken(bytes: Array($0.element.utf8)))
        }
        return await provider.send(push, to: recipients)
    }
}

extension Push.Content {
    /// The message as an update of an earlier push, which had no collapse key.
    func following(receipt: UUID) -> Push.Content {
        var content = self
        content.follows = FollowedPush(receipt, Push.Content(body: "earlier"))
        return content
    }
}

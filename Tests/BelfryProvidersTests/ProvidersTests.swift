import BelfryService
import BelfrySimulators
import BelfryTesting
import FoundationEssentials
import Logging
import NIOPosix
import Synchronization
import Testing

@testable import BelfryProviders

@Suite struct ProvidersTests {
    /// Asks for the room of all providers while it opens a seal, as workers of other platforms do.
    private final class AskingVault: Vault {
        private let asked = Mutex<(providers: Providers?, times: Int)>((nil, 0))

        var timesOpened: Int { asked.withLock { $0.times } }

        func ask(_ providers: Providers) { asked.withLock { $0.providers = providers } }

        func seal(_ secret: [UInt8], for purpose: String) throws -> Sealed {
            try PlaintextVault().seal(secret, for: purpose)
        }

        func open(_ sealed: Sealed, for purpose: String) throws -> [UInt8] {
            let providers = asked.withLock {
                $0.times += 1
                return $0.providers
            }
            _ = providers?.room()
            return try PlaintextVault().open(sealed, for: purpose)
        }
    }

    private func platform(
        _ credentialsService: CredentialsService, version: Int64, key: Int64 = 1
    ) throws -> Platform {
        let uuid = UUID(words: 1, 1)
        let entered: [String: JSONValue] = ["app_id": .string("1"), "app_secret": .string("s")]
        return Platform(
            key: Key(key), uuid: uuid, applicationKey: Key(1), kind: .huawei, mode: .production, name: "x",
            secretHash: [],
            credentials: try credentialsService.sealed(
                entered, kind: .huawei, mode: .production, platform: uuid, by: .operator
            ).seal,
            credentialsVersion: version, parked: nil, createdAt: .zero)
    }

    @Test func `a provider is made once per credentials version, concurrently`() async throws {
        let (clock, vault) = (ManualClock(), AskingVault())
        let logger = Logger(label: "providers") { _ in SwiftLogNoOpLogHandler() }
        let group = MultiThreadedEventLoopGroup.singleton
        let routes = OutboundRoutes.open(ProviderOptions(), clock: clock, on: group, logger: logger)
        let dependencies = ProviderDependencies(
            vault: vault, clock: clock, options: ProviderOptions(), eventLoopGroup: group, routes: routes,
            logger: logger)
        let providers = Providers(dependencies: dependencies)
        vault.ask(providers)
        let credentialsService = CredentialsService(dependencies: dependencies)
        let first = try platform(credentialsService, version: 1)
        for _ in 0..<3 { _ = try await providers.provider(for: first) }
        #expect(vault.timesOpened == 1)
        _ = try await providers.provider(for: try platform(credentialsService, version: 2))
        #expect(vault.timesOpened == 2)
        #expect(providers.room().count == 1)
        // One that was deleted is asked for no more, and makes way for others.
        for (key, hours, known) in [(2, 4, [1, 2]), (2, 3, [1, 2]), (3, 0, [2, 3])] as [(Int64, Int64, Set<Int64>)] {
            clock.advance(by: .seconds(hours * 3_600))
            _ = try await providers.provider(for: try platform(credentialsService, version: 1, key: key))
            #expect(Set(providers.room().keys.map(\.rawValue)) == known)
        }
        await providers.shutdown(within: .seconds(1))
        await routes.close()
    }

    @Test func `an issuer's private address needs the operator's permission`() async throws {
        let logger = Logger(label: "providers") { _ in SwiftLogNoOpLogHandler() }
        let routes = OutboundRoutes.open(
            ProviderOptions(), clock: ManualClock(), on: MultiThreadedEventLoopGroup.singleton, logger: logger)
        // Nothing listens there: it is told from a refusal by its words.
        func fault(isPrivate: Bool) async -> String? {
            do throws(IssuerUnreachable) {
                _ = try await routes.ask("http://127.0.0.1:1/", form: nil, authorization: nil, isPrivate: isPrivate)
                return nil
            } catch {
                return error.description
            }
        }
        #expect(await fault(isPrivate: false) == "the address of the host is not public")
        #expect(await fault(isPrivate: true)?.hasPrefix("no connection") == true)
        await routes.close()
    }

    @Test func `an issuer is trusted by named certificates only`() async throws {
        let logger = Logger(label: "providers") { _ in SwiftLogNoOpLogHandler() }
        let routes = OutboundRoutes.open(
            ProviderOptions(), clock: ManualClock(), on: MultiThreadedEventLoopGroup.singleton, logger: logger)
        let (right, other) = (try await HMSSimulator.start(), try await HMSSimulator.start())
        func status(_ roots: String?) async -> Int? {
            try? await routes.ask(
                "\(right.url)/.well-known/openid-configuration", form: nil, authorization: nil, isPrivate: true,
                trustRoots: roots
            ).status
        }
        #expect(await status(right.trustRootPEM) == 404)
        #expect(await status(other.trustRootPEM) == nil)
        #expect(await status(nil) == nil)
        #expect(await status("no certificate") == nil)
        try await right.shutdown()
        try await other.shutdown()
        await routes.close()
    }
}

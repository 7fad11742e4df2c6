import BelfryServer
import BelfryService
import FoundationEssentials

/// Runs the demo against a running server: registers devices, sends the example pushes, and compares.
struct DemoRun: Sendable {
    let providers: DemoProviders
    let operatorService: OperatorService
    let addresses: Server.Addresses
    let dataDirectory: String

    private static let name = "Belfry demo"

    /// Returns whether every count was the expected one.
    func play(devices count: Int, staysUp: Bool) async throws -> Bool {
        let names = providers.all.map(\.provider.name).joined(separator: ", ")
        print("Belfry serves on \(addresses.http), with simulated providers: \(names).\n")
        let application = try await operatorService.createApplication(name: Self.name)
        var platforms: [PlatformKind: CreatedPlatform] = [:]
        for (provider, _) in providers.all {
            platforms[provider.kind] = try await operatorService.createPlatform(
                of: application.application, kind: provider.kind, mode: .development,
                name: "\(provider.name) (simulated)", credentials: provider.credentials)
        }
        let crowd = DemoCrowd(count: count, providers: providers, now: SystemClock().now)
        let client = DemoClient(base: addresses.http, application: application, platforms: platforms)
        let result = await Result { try await play(with: client, crowd: crowd, staysUp: staysUp) }
        try await client.shutdown()
        return try result.get()
    }

    private func play(with client: DemoClient, crowd: DemoCrowd, staysUp: Bool) async throws -> Bool {
        let addressee = try await client.register(crowd)
        var rows: [DemoRow] = []
        for push in DemoPush.all(crowd: crowd, addressee: addressee, now: SystemClock().now) {
            print("→ \(push.name)")
            let receiptID = try await client.push(push.body)
            rows.append(DemoRow(push: push, receipt: try await follow(receiptID)))
        }
        let platforms = try await platformRows(of: rows, client, crowd)
        print("")
        DemoRow.show(rows)
        print("")
        DemoPlatformRow.show(platforms)
        print("")
        let othersAreTold = try await DemoOtherClients(
            client: client, operatorService: operatorService, apple: providers.all[0].provider
        ).play()
        let isRight =
            othersAreTold && rows.allSatisfy(\.isRight) && platforms.allSatisfy(\.isRight)
        print(isRight ? "\n✓ Every device has the answer it must have." : "\n✗ Some counts are not what they must be.")
        if staysUp {
            client.explain(addressee: addressee, management: addresses.management, dataDirectory: dataDirectory)
        }
        return isRight
    }

    private func platformRows(
        of rows: [DemoRow], _ client: DemoClient, _ crowd: DemoCrowd
    ) async throws -> [DemoPlatformRow] {
        var found: [Key<Platform>: DemoTally] = [:]
        for row in rows {
            for (platform, counts) in try await operatorService.store.answerCounts(of: row.receipt.push.key) {
                found[platform, default: DemoTally()] += DemoTally(counts)
            }
        }
        return providers.all.map { provider, _ in
            var expected = DemoTally()
            for row in rows { expected += row.push.expected(on: provider.kind) }
            let key = client.platforms[provider.kind]?.platform.key
            return DemoPlatformRow(
                provider: provider, registered: crowd.members.count { $0.kind == provider.kind }, expected: expected,
                found: key.flatMap { found[$0] } ?? DemoTally())
        }
    }

    private func follow(_ receiptID: UUID) async throws -> Receipt {
        try await Follower(backend: LocalBackend(service: operatorService), isQuiet: false).follow(receiptID)
        return try await operatorService.receipt(receiptID)
    }
}

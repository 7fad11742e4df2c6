import AsyncHTTPClient
import BelfryCore
import BelfryProviders
import BelfryServer
import BelfrySimulators
import Foundation

/// Plays the demo against a running server: registers devices, sends the example pushes, and compares.
struct DemoStage: Sendable {
    let simulator: DemoProvider
    let administration: Administration
    let addresses: Server.Addresses
    let dataDirectory: String

    private static let name = "Belfry demo"

    /// Returns whether every count was what it must be.
    func play(devices count: Int, staysUp: Bool) async throws -> Bool {
        print("Belfry serves on \(addresses.http), a simulated APNs on port \(simulator.simulator.port).\n")
        try await clearEarlierDemos()
        let application = try await administration.createApplication(name: Self.name)
        let platform = try await createPlatform(of: application.application)
        let crowd = DemoCrowd(count: count)
        simulator.simulator.script.set(crowd.script(now: SystemClock().now))
        let client = DemoClient(base: addresses.http, application: application, platform: platform)
        let result = await Result { try await play(with: client, crowd: crowd, staysUp: staysUp) }
        try await client.shutdown()
        return try result.get()
    }

    private func play(with client: DemoClient, crowd: DemoCrowd, staysUp: Bool) async throws -> Bool {
        let addressee = try await client.register(crowd)
        var rows: [DemoRow] = []
        for push in DemoPush.all(crowd: crowd, addressee: addressee, now: SystemClock().now) {
            print("→ \(push.name)")
            let sent = ContinuousClock.now
            let receiptID = try await client.push(push.body)
            let receipt = try await follow(receiptID)
            rows.append(DemoRow(push: push, receipt: receipt, took: .now - sent))
        }
        print("")
        DemoRow.show(rows)
        let isRight = rows.allSatisfy(\.isRight)
        print(isRight ? "\n✓ Every device has the answer it must have." : "\n✗ Some counts are not what they must be.")
        if staysUp {
            client.explain(addressee: addressee, management: addresses.management, dataDirectory: dataDirectory)
        }
        return isRight
    }

    private func follow(_ receiptID: UUID) async throws -> Receipt {
        try await Follower(desk: LocalDesk(administration: administration), isQuiet: false).follow(receiptID)
        guard let receipt = try await administration.store.receipt(receiptID) else {
            throw StoreError.unknown("receipt \(receiptID.lowercased)")
        }
        return receipt
    }

    private func clearEarlierDemos() async throws {
        for application in try await administration.store.applications() where application.name == Self.name {
            try await administration.store.delete(application.key, force: true)
        }
    }

    private func createPlatform(of application: Application) async throws -> Administration.CreatedPlatform {
        try await administration.createPlatform(
            of: application, kind: .ios, mode: .development, name: "iOS (simulated)",
            credentials: APNsPlatformCredentials(
                identity: .key(p8: simulator.key.p8, keyID: simulator.key.keyID, teamID: simulator.key.teamID),
                topic: DemoProvider.topic, endpoint: "https://localhost:\(simulator.simulator.port)",
                trustRootsPEM: simulator.simulator.trustRootPEM))
    }
}

import BelfryCore
import BelfryProviders
import BelfryServer
import BelfrySimulators
import BelfryTesting
import Foundation
import Testing

/// Platforms whose provider this version does not have.
extension ServerTests {
    @Suite struct UnservedPlatformTests {
        @Test(arguments: PlatformKind.allCases.filter { $0.provider == nil })
        func `its pushes are accepted and wait, with the reason in their receipts and in the health`(
            kind: PlatformKind
        ) async throws {
            try await House.open { house in
                let created = try await house.administration.createPlatform(
                    of: house.application.application, kind: kind, mode: .production, name: "others", credentials: nil)
                let app = Caller(
                    base: house.addresses.http, user: created.platform.uuid.lowercased, secret: created.secret)
                let registered = try await app.send("POST", "/v1/registration", #"{"registration_token":"abc"}"#)
                #expect(registered.status == 200, "\(registered)")
                let crowd = try await house.crowd(3)
                let receipt = try await house.sender.pushToAll("Hello")
                try await eventually("the phones are told") {
                    house.simulator.ledger.totals().told == crowd.count
                }
                let parked = try await house.receipt(receipt)
                #expect(parked.state == .parked)
                #expect(parked.parked.map(\.detail) == ["this version has no provider for \(kind.rawValue)"])
                let health = try await house.sender.send("GET", "/healthcheck")
                #expect(health.status == 200 && health.body.contains("but those of 1 parked platforms"), "\(health)")
            }
        }

        @Test func `the command line makes one without credentials, and shows that it waits`() async throws {
            try await Estate.with { estate in
                let create = ["platform", "create", "--app", estate.application, "--mode", "production", "--name", "x"]
                let made = try await estate.run(create + ["--type", "android-fcm", "--json"])
                #expect(made.status == 0 && made.out.contains("platform_secret"), "\(made)")
                let shown = try await estate.run(["app", "show", estate.application])
                #expect(shown.out.contains("this version has no provider for android-fcm"), "\(shown)")
                let refused = try await estate.run(create + ["--type", "bb10", "--topic", "org.example"])
                #expect(refused.status != 0)
                let missing = try await estate.run(create + ["--type", "ios"])
                #expect(missing.status != 0 && missing.err.contains("--topic"), "\(missing)")
            }
        }
    }
}

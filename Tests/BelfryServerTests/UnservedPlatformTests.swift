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
                let created = try await house.operatorService.createPlatform(
                    of: house.application.application, kind: kind, mode: .production, name: "others", credentials: nil)
                let app = Caller(
                    base: house.addresses.http, user: created.platform.uuid.lowercased, secret: created.secret)
                let registered = try await app.send(
                    "POST", "/v1/registration", #"{"registration_token":"\#(token(for: kind))"}"#)
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
                #expect(
                    health.status == 200 && !health.body.contains("park"),
                    "what tenants have is nobody's business: \(health)")
            }
        }

        private func token(for kind: PlatformKind) -> String {
            switch kind {
            case .windows8, .windowsPhone: "https://db3.notify.windows.com/abc"
            case .web:
                #"{\"endpoint\":\"https://push.example.net/abc\",\"keys\":{\"auth\":\"BTBZMqHH6r4Tts7J_aSIgg\","#
                    + #"\"p256dh\":\"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4\"}}"#
            default: "abc"
            }
        }

        @Test func `the command line makes one without credentials, and shows that it waits`() async throws {
            try await Estate.with { estate in
                let create = ["platform", "create", "--app", estate.application, "--mode", "production", "--name", "x"]
                let made = try await estate.run(create + ["--type", "android-baidu", "--json"])
                #expect(made.status == 0 && made.out.contains("platform_secret"), "\(made)")
                let shown = try await estate.run(["app", "show", estate.application])
                #expect(shown.out.contains("this version has no provider for android-baidu"), "\(shown)")
                let refused = try await estate.run(create + ["--type", "android-baidu", "--topic", "org.example"])
                #expect(refused.status != 0)
                let missing = try await estate.run(create + ["--type", "ios"])
                #expect(missing.status != 0 && missing.err.contains("--topic"), "\(missing)")
            }
        }
    }
}

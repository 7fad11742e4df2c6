import BelfryProviders
import BelfryServer
import BelfryService
import BelfrySimulators
import BelfryTesting
import Foundation
import Testing

/// Platforms whose provider this version does not have.
extension ServerTests {
    @Suite struct UnservedPlatformTests {
        @Test(arguments: PlatformKind.allCases.filter { $0.provider == nil })
        func `its pushes wait, with reasons in receipts and health`(
            kind: PlatformKind
        ) async throws {
            try await TestServer.open { server in
                let created = try await server.operatorService.createPlatform(
                    of: server.application.application, kind: kind, mode: .production, name: "others", credentials: nil)
                let app = Caller(
                    base: server.addresses.http, user: created.platform.uuid.lowercased, secret: created.secret)
                let registered = try await app.send(
                    "POST", "/v1/registration", #"{"registration_token":"\#(token(for: kind))"}"#)
                #expect(registered.status == 200, "\(registered)")
                let crowd = try await server.crowd(3)
                let receipt = try await server.sender.pushToAll("Hello")
                try await eventually("the phones are told") {
                    server.simulator.ledger.totals().told == crowd.count
                }
                let parked = try await server.receipt(receipt)
                #expect(parked.state == .parked)
                #expect(parked.parked.map(\.parking.cause) == [.noProvider])
                #expect(parked.parked.map(\.parking.detail) == ["this version has no provider for \(kind.rawValue)"])
                let health = try await server.sender.send("GET", "/healthcheck")
                #expect(
                    health.status == 200 && !health.body.contains("park"),
                    "what tenants have is not told: \(health)")
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

        @Test func `a command makes one without credentials, shown as waiting`() async throws {
            try await TestInstallation.with { installation in
                let create = [
                    "platform", "create", "--app", installation.application, "--mode", "production", "--name", "x",
                ]
                let made = try await installation.run(create + ["--type", "android-baidu", "--json"])
                #expect(made.status == 0 && made.out.contains("platform_secret"), "\(made)")
                let shown = try await installation.run(["app", "show", installation.application])
                #expect(shown.out.contains("this version has no provider for android-baidu"), "\(shown)")
                let refused = try await installation.run(
                    create + ["--type", "android-baidu", "--topic", "org.example"])
                #expect(refused.status != 0)
                let missing = try await installation.run(create + ["--type", "ios"])
                #expect(missing.status != 0 && missing.err.contains("--topic"), "\(missing)")
            }
        }
    }
}

import BelfryProviders
import BelfryServer
import BelfryService
import BelfrySimulators
import BelfryTesting
import Foundation
import Testing

/// A push to Android devices through the whole server.
extension ServerTests {
    @Suite struct FCMTests {
        @Test func `FCM delivers on Android and deactivates only dead tokens' devices`() async throws {
            let simulator = try await FCMSimulator.start()
            let result = await Result {
                try await TestServer.open { server in
                    let created = try await server.operatorService.createPlatform(
                        of: server.application.application, kind: .androidFCM, mode: .production, name: "Android",
                        credentials: FCMPlatformCredentials(
                            serviceAccount: simulator.serviceAccountJSON, endpoint: simulator.url,
                            trustRootsPEM: simulator.trustRootPEM))
                    let app = Caller(
                        base: server.addresses.http, user: created.platform.uuid.lowercased, secret: created.secret)
                    for token in ["fine", "dead", "doubtful"] {
                        let reply = try await app.send(
                            "POST", "/v1/registration", #"{"os":"android-fcm","registration_token":"\#(token)"}"#)
                        #expect(reply.status == 200, "\(reply)")
                    }
                    simulator.script.answer([
                        "dead": ScriptedAnswer("UNREGISTERED"), "doubtful": ScriptedAnswer("INVALID_ARGUMENT"),
                    ])
                    let id = try await server.sender.push(
                        #"{"message":{"body":"Hello"},"target":{"platforms":["android-fcm"]}}"#)
                    let receipt = try await server.settled(id)
                    #expect(receipt.devices == 3)
                    #expect(simulator.ledger.totals().told == 1)
                    let store = server.store
                    #expect(try await store.deviceCount(on: created.platform.key) == 3)
                    let second = try await server.sender.push(
                        #"{"message":{"body":"Again"},"target":{"platforms":["android-fcm"]}}"#)
                    #expect(try await server.settled(second).devices == 2)
                    #expect(simulator.ledger.token(Array("fine".utf8))?.told == 2)
                }
            }
            try await simulator.shutdown()
            try result.get()
        }
    }
}

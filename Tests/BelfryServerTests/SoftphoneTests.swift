import BelfryServer
import BelfryService
import BelfrySimulators
import Foundation
import Testing

/// Softphones and their back end, through the whole server to APNs.
extension ServerTests {
    @Suite struct SoftphoneTests {}
}

extension ServerTests.SoftphoneTests {
    /// The token of the guide's sample, and its decoded form.
    private static let token = "Udl99X2JFP1bWwS5gR/wGeLE1hmAB2CMpr1Ej0wxkrY="
    private static let hex = "51d97df57d8914fd5b5b04b9811ff019e2c4d6198007608ca6bd448f4c3192b6"

    @Test func `a call reaches APNs as PushKit with topic, priority, expiry`() async throws {
        try await TestServer.open(simulate: { $0.listening.ledgerDetail = .payloads }) { server in
            let application = server.application.application
            let platform = try await server.operatorService.createPlatform(
                of: application, kind: .apple(.voip), mode: .development, name: "Calls",
                credentials: TestServer.credentials(server.key, of: server.simulator)
            ).platform
            try await server.store.set(
                AcrobitsAppID(name: "phone.calls", applicationKey: application.key, platformKey: platform.key))
            _ = try await server.store.create(
                try NewOpenEndpoint(
                    kind: .acrobitsMediator, application: application.key, keyHash: [1], allowed: ["127.0.0.0/8"],
                    isPlain: true))
            let before = Int64(Date().timeIntervalSince1970)
            let call =
                #"{"verb":"NotifyIncomingCall","AppId":"phone.calls","DeviceToken":"\#(Self.token)","Selector":"S1","Id":"77"}"#
            let answer = try await server.sender.send("POST", "/pnm2/send", call)
            #expect(answer.status == 200 && answer.body == #"{"code":200,"response":"Your message was sent."}"#)
            let bytes = try #require([UInt8](hex: Self.hex.utf8))
            let told = try await eventually("the call is told") { server.simulator.ledger.token(bytes)?.lastRequest }
            #expect(told.header("apns-push-type") == "voip")
            #expect(told.header("apns-topic") == "\(TestServer.topic).voip")
            #expect(told.header("apns-priority") ?? "10" == "10")
            let end = try #require(told.header("apns-expiration").flatMap { Int64($0) })
            let now = Int64(Date().timeIntervalSince1970)
            #expect(end == 0 || (before...(now + 65)).contains(end))
            let payload = try JSONValue(json: told.payload.utf8)
            #expect(payload["s"] == .string("S1") && payload["Id"] == .string("77"))
        }
    }

    @Test func `a message for an unknown app id is relayed back`() async throws {
        try await TestServer.open { far in
            try await open(far, "phone")
            let address = far.addresses.http
            try await TestServer.open(configure: { $0.mediatorRelayURL = address }) { near in
                try await open(near, "other")
                for (path, body) in [
                    (
                        "/pnm2/send",
                        #"{"verb":"NotifyTextMessage","AppId":"phone","DeviceToken":"\#(Self.hex)","Selector":"S"}"#
                    ),
                    ("/pnm2", "verb=NotifyTextMessage&AppId=phone&DeviceToken=\(Self.hex)"),
                ] {
                    let answer = try await near.sender.send("POST", path, body)
                    #expect(answer.status == 200 && answer.body.contains(#""code":200"#), "\(answer)")
                }
                let unknown = #"{"verb":"NotifyTextMessage","AppId":"x","DeviceToken":"\#(Self.hex)","Selector":"S"}"#
                let refused = try await near.sender.send("POST", "/pnm2/send", unknown)
                #expect(refused.status == 400 && refused.body.contains(#""code":400"#), "\(refused)")
            }
            let bytes = try #require([UInt8](hex: Self.hex.utf8))
            try await eventually("both messages are told") { far.simulator.ledger.token(bytes)?.told == 2 }
        }
    }

    @Test func `a mediator that cannot be reached is said so`() async throws {
        try await TestServer.open(configure: { $0.mediatorRelayURL = "http://127.0.0.1:9" }) { server in
            try await open(server, "phone")
            let call = #"{"verb":"NotifyTextMessage","AppId":"x","DeviceToken":"\#(Self.hex)","Selector":"S"}"#
            let answer = try await server.sender.send("POST", "/pnm2/send", call)
            #expect(answer.status == 502 && answer.body.contains(#""code":500"#), "\(answer)")
        }
    }

    /// Lets callers of this machine send to the server's iOS platform by an app id.
    private func open(_ server: TestServer, _ appID: String) async throws {
        let application = server.application.application
        try await server.store.set(
            AcrobitsAppID(
                name: appID, applicationKey: application.key, platformKey: server.platform.platform.key))
        _ = try await server.store.create(
            try NewOpenEndpoint(
                kind: .acrobitsMediator, application: application.key, keyHash: Array(appID.utf8),
                allowed: ["127.0.0.0/8"], isPlain: true))
    }
}

import BelfryServer
import BelfryService
import BelfrySimulators
import Foundation
import Testing

/// Chat servers that give device tokens, through the whole server to APNs.
extension ServerTests {
    @Suite struct TokenGatewayTests {}
}

extension ServerTests.TokenGatewayTests {
    private static let hex = "51d97df57d8914fd5b5b04b9811ff019e2c4d6198007608ca6bd448f4c3192b6"
    private static let app = "org.example.phone"

    /// A gateway's request for a token, and what it answers to a dead one.
    struct GatewayCase: Sendable, CustomTestStringConvertible {
        let kind: OpenEndpoint.Kind
        /// Behind the path of its settings.
        let path: String
        let body: String
        let accepted: String
        let dead: (status: Int, body: String)

        var testDescription: String { kind.rawValue }
    }

    private static let exchanges = [
        GatewayCase(
            kind: .matrix, path: "",
            body:
                #"{"notification":{"event_id":"$1","room_id":"!r","type":"m.room.message","sender":"@a:b","prio":"high","counts":{"unread":1},"devices":[{"app_id":"\#(app)","pushkey":"\#(hex)","pushkey_ts":1,"data":{}}]}}"#,
            accepted: #"{"rejected":[]}"#, dead: (200, #"{"rejected":["\#(hex)"]}"#)),
        GatewayCase(
            kind: .mattermost, path: "/api/v1/send_push",
            body:
                #"{"ack_id":"a","platform":"apple_rn-v2","server_id":"s","device_id":"\#(hex)","type":"message","message":"Hi","version":"v2"}"#,
            accepted: #"{"status":"OK"}"#, dead: (200, #"{"status":"REMOVE"}"#)),
        GatewayCase(
            kind: .rocketChat, path: "/push/apn/send",
            body:
                #"{"token":"\#(hex)","options":{"title":"general","text":"Hi","payload":{"rid":"G"},"topic":"\#(app)"}}"#,
            accepted: #"{"success":true}"#,
            dead: (406, #"{"error":"The token is dead, or was never one","success":false}"#)),
        GatewayCase(
            kind: .gorush, path: "/api/push",
            body: #"{"notifications":[{"tokens":["\#(hex)"],"platform":1,"message":"Hi"}]}"#,
            accepted: #"{"counts":1,"logs":[],"success":"ok"}"#,
            dead: (
                200,
                #"{"counts":1,"logs":[{"error":"Unregistered","message":"Hi","platform":"ios","token":"\#(hex)","type":"failed-push"}],"success":"ok"}"#
            )),
    ]

    @Test(arguments: exchanges)
    func `a message reaches APNs, and a dead token is named`(exchange: GatewayCase) async throws {
        try await TestServer.open(simulate: { $0.listening.ledgerDetail = .payloads }) { server in
            let application = server.application.application
            let made = try await server.operatorService.services.openEndpoints.create(
                exchange.kind, of: application, options: [Self.app: server.platform.platform.uuid.lowercased],
                by: .local(systemUser: "test"))
            let path = Self.path(exchange, key: made.key)
            let answer = try await server.sender.send("POST", path, exchange.body)
            #expect(answer.status == 200 && answer.body == exchange.accepted, "\(answer)")
            let bytes = try #require([UInt8](hex: Self.hex.utf8))
            let told = try await eventually("the device is told") { server.simulator.ledger.token(bytes)?.lastRequest }
            #expect(told.header("apns-topic") == TestServer.topic && told.header("apns-push-type") == "alert")
            #expect(try JSONValue(json: told.payload.utf8)["receiptId"] == nil)
            let since = Int64(Date().timeIntervalSince1970 * 1_000) - 86_400_000
            server.simulator.script.answer(ScriptedAnswer(.unregistered, timestamp: since), for: [Self.hex])
            // Another event, that is not taken for a repetition.
            let second = exchange.body.replacing("$1", with: "$2")
            let dead = try await server.sender.send("POST", path, second)
            #expect(dead.status == exchange.dead.status && dead.body == exchange.dead.body, "\(dead)")
            // It registered here after that time, so that its device stays active; the next answer says it all the same.
            let again = try await server.sender.send("POST", path, second.replacing("$2", with: "$3"))
            #expect(again.status == exchange.dead.status && again.body == exchange.dead.body, "\(again)")
            #expect(server.simulator.ledger.token(bytes)?.told == 1)
        }
    }

    private static func path(_ exchange: GatewayCase, key: String) -> String {
        exchange.kind.callerPath(key: key) + exchange.path
    }
}

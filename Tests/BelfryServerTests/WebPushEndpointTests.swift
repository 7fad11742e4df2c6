import BelfryServer
import BelfrySimulators
import Foundation
import Testing

@testable import BelfryService

/// A message of an application server, through the whole server to APNs.
extension ServerTests {
    @Suite struct WebPushEndpointTests {}
}

extension ServerTests.WebPushEndpointTests {
    @Test func `a message reaches APNs for an extension to decrypt`() async throws {
        try await TestServer.open(simulate: { $0.listening.ledgerDetail = .payloads }) { server in
            try await server.store.edit(server.application.application.key, ApplicationEdit(webPush: .on))
            let device = try #require(try await server.crowd(1).devices.first)
            let made = try await server.app.send("POST", "/v1/registration/\(device.uuid.uuidString)/endpoints")
            #expect(made.status == 201, "\(made)")
            let reply = try JSONValue(json: made.body.utf8)
            let url = try #require(reply["endpoint"]?.stringValue)
            let id = try #require(reply["endpoint_id"]?.wholeNumber)
            let base = server.addresses.http
            #expect(url.hasPrefix("\(base)/wp/"), "\(url)")
            let headers = ["TTL": "60", "Urgency": "low", "Topic": "news", "Content-Encoding": "aes128gcm"]
            let answer = try await server.app.send(
                "POST", String(url.dropFirst(base.utf8.count)), "ciphertext", headers: headers)
            #expect(answer.status == 201 && answer.headers["ttl"] == "60", "\(answer)")
            let token = try #require(device.token?.bytes)
            let told = try await eventually("the message is told") { server.simulator.ledger.token(token)?.lastRequest }
            #expect(told.header("apns-push-type") == "alert" && told.header("apns-priority") == "5")
            #expect(told.header("apns-collapse-id") == "\(id)-news")
            let payload = try JSONValue(json: told.payload.utf8)
            #expect(payload["webpush"] == .string("Y2lwaGVydGV4dA") && payload["webpush_endpoint"] == .string("\(id)"))
            #expect(payload["aps"]?["mutable-content"] == .integer(1))
            let location = String(try #require(answer.headers["location"]).dropFirst(base.utf8.count))
            _ = try await eventually("its state is known", every: .milliseconds(250)) {
                try await server.app.send("GET", location).body == #"{"state":"accepted"}"# ? true : nil
            }
        }
    }
}

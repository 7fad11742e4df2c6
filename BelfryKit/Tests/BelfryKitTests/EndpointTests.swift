import BelfryKit
import Foundation
import Testing

@Suite struct EndpointTests {
    @Test func `an endpoint is asked for, and ended`() async throws {
        let phone = ScriptedPhone(
            ScriptedServer([
                .init(body: #"{"device_uuid":"d-1"}"#),
                .init(status: 201, body: #"{"endpoint_id":7,"endpoint":"https://push.example.org/wp/abc"}"#),
                .init(status: 204, body: ""), .init(status: 201, body: "{}"),
            ]))
        defer { phone.wipe() }
        let app = try phone.start()
        await #expect(throws: BelfryError.unregistered) { try await app.makeEndpoint() }
        try await app.register(phone.wish())
        let endpoint = try await app.makeEndpoint(vapidPublicKey: "BKey")
        #expect(endpoint.id == "7" && endpoint.url.absoluteString == "https://push.example.org/wp/abc")
        #expect(phone.server.asked.last?.path == "/v1/registration/d-1/endpoints")
        #expect(phone.server.asked.last?.member("vapid_public_key") as? String == "BKey")
        try await app.endEndpoint("7")
        #expect(phone.server.asked.last?.path == "/v1/registration/d-1/endpoints/7")
        #expect(phone.server.asked.last?.method == "DELETE")
        await #expect(throws: BelfryError.unreadable("no endpoint")) { try await app.makeEndpoint() }
    }
}

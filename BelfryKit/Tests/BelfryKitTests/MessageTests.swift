import BelfryKit
import Foundation
import Testing

@Suite struct MessageTests {
    @Test func `the latest messages are read in every server form`()
        async throws
    {
        let payloads = [
            #"{"aps":{"alert":{"title":"Town","body":"Hall"}},"order":17}"#, #"{"aps":{"alert":"Plain"}}"#,
            #"{"message":"Of Android"}"#, #"{"body":"Of another"}"#, #"{"aps":{"content-available":1}}"#,
        ]
        let messages = payloads.enumerated().map { number, payload in
            #"{"receipt_id":"r\#(number)","accepted_at":\#(1_700_000_000_000 + number),"expires_at":null,"#
                + #""payload":\#(payload)}"#
        }
        let phone = ScriptedPhone(
            ScriptedServer([
                .init(body: #"{"device_uuid":"d-1"}"#),
                .init(body: #"{"messages":[\#(messages.joined(separator: ",")),{"receipt_id":7}]}"#),
            ]))
        defer { phone.wipe() }
        let app = try phone.start()
        await #expect(throws: BelfryError.unregistered) { try await app.fetchMessages() }
        try await app.register(phone.wish())
        let found = try await app.fetchMessages(limit: 1_000)
        #expect(phone.server.asked.last?.path == "/v1/registration/d-1/messages")
        #expect(phone.server.asked.last?.query == "limit=20")
        #expect(found.map(\.receiptID) == ["r0", "r1", "r2", "r3", "r4"])
        #expect(found.map(\.title) == ["Town", nil, nil, nil, nil])
        #expect(found.map(\.body) == ["Hall", "Plain", "Of Android", "Of another", nil])
        #expect(found[0].acceptedAt == 1_700_000_000_000 && found[0].expiresAt == nil)
        let payload = try JSONSerialization.jsonObject(with: found[0].payload) as? [String: Any]
        #expect(payload?["order"] as? Int == 17)
    }

    @Test func `a device unknown to the server is a typed error`() async throws {
        let phone = ScriptedPhone(
            ScriptedServer([
                .init(body: #"{"device_uuid":"d-1"}"#), .init(status: 404, body: #"{"message":"no device"}"#),
            ]))
        defer { phone.wipe() }
        let app = try phone.start()
        try await app.register(phone.wish())
        await #expect(throws: BelfryError.refused(status: 404, reason: "no device")) { try await app.fetchMessages() }
    }
}

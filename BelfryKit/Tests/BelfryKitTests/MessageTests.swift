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

    @Test func `whole numbers of a payload keep their digits`() async throws {
        let payload = #"{"big":9007199254740993,"half":0.5,"low":-9223372036854775808}"#
        let phone = ScriptedPhone(
            ScriptedServer([
                .init(body: #"{"device_uuid":"d-1"}"#),
                .init(body: #"{"messages":[{"receipt_id":"r","accepted_at":1,"payload":\#(payload)}]}"#),
            ]))
        defer { phone.wipe() }
        let app = try phone.start()
        try await app.register(phone.wish())
        let found = try #require(try await app.fetchMessages().first)
        for member in [#""big":9007199254740993"#, #""half":0.5"#, #""low":-9223372036854775808"#] {
            #expect(String(decoding: found.payload, as: UTF8.self).contains(member))
        }
    }

    @Test func `a payload is read, an encrypted one for its receipt`() throws {
        let push: [AnyHashable: Any] = [
            "aps": ["alert": ["title": "Town", "body": "Hall"]], "link": "https://a.example", "receiptId": "r",
        ]
        #expect(
            PushMessage(push, receivedAt: 7)
                == PushMessage(receiptID: "r", title: "Town", body: "Hall", link: "https://a.example", receivedAt: 7))
        let sealed = push.merging(["encrypted": "DGv6"]) { $1 }
        #expect(PushMessage(sealed, receivedAt: 7) == PushMessage(receiptID: "r", receivedAt: 7))
        #expect(PushMessage(["aps": ["alert": "Plain"], "receiptId": "r"])?.body == "Plain")
        #expect(PushMessage(["aps": [String: String]()]) == nil)
    }

    @Test(arguments: [nil, "emma", "ben"])
    func `texts are forgotten with their user`(next: String?) async throws {
        let phone = ScriptedPhone()
        defer { phone.wipe() }
        let app = try phone.start()
        try await app.register(phone.wish(user: "emma"))
        try await app.received(PushMessage(receiptID: "r1", title: "Hello", receivedAt: phone.now))
        let reports = ExtensionReports(try phone.configuration(), transport: phone.server, clock: { phone.now })
        try reports.received(PushMessage(receiptID: "r2", body: "Emma", receivedAt: phone.now))
        try await app.register(phone.wish(topics: ["sport"], user: next))
        let kept = await app.latestMessages
        #expect(kept.map(\.receiptID) == ["r1", "r2"])
        #expect(kept.compactMap { $0.title ?? $0.body } == (next == "emma" ? ["Hello", "Emma"] : []))
        try await app.unregister()
        #expect(await app.latestMessages.allSatisfy { $0.title == nil && $0.body == nil })
        // It is known all the same.
        try await app.received(PushMessage(receiptID: "r1", title: "Hello", receivedAt: phone.now))
        #expect(await app.latestMessages.count == 2)
    }
}

import BelfryKit
import Foundation
import Testing

@Suite struct EventTests {
    /// The events that were reported, as they were sent.
    private func reported(to server: ScriptedServer) -> [[[String: String]]] {
        server.asked.filter { $0.path == "/v1/analytics" }.map { $0.member("events") as? [[String: String]] ?? [] }
    }

    @Test func `push events survive restarts and go in one request`() async throws {
        let phone = ScriptedPhone()
        defer { phone.wipe() }
        let app = try phone.start()
        try await app.received(PushMessage(receiptID: "r1", receivedAt: phone.now))
        try await app.opened(receiptID: "r1")
        try await app.received(PushMessage(receiptID: "r2", receivedAt: phone.now))
        try await app.dismissed(receiptID: "r2")
        let next = try phone.start()
        #expect(await next.waitingEvents == 4)
        try await next.register(phone.wish())
        let sent = try #require(reported(to: phone.server).first)
        #expect(reported(to: phone.server).count == 1)
        let types = ["received", "opened", "received", "dismissed"]
        #expect(sent.map { $0["eventType"] } == types.map { "pcf_push_event_type_push_notification_\($0)" })
        #expect(sent.map { $0["receiptId"] } == ["r1", "r1", "r2", "r2"])
        #expect(Set(sent.map { $0["deviceUuid"] }) == ["d-1"])
        #expect(await next.waitingEvents == 0)
    }

    @Test func `an unanswered batch is sent again unchanged`() async throws {
        let phone = ScriptedPhone(
            ScriptedServer([.init(body: #"{"device_uuid":"d-1"}"#), .init(), .init(status: 503)]))
        defer { phone.wipe() }
        let app = try phone.start()
        try await app.received(PushMessage(receiptID: "r", receivedAt: phone.now))
        await #expect(throws: BelfryError.busy(retryAfter: nil)) { try await app.register(phone.wish()) }
        var later = ScriptedPhone(phone.server, folder: phone.folder, identity: phone.identity)
        later.now += 86_400_000
        try await later.start().resume()
        let batches = reported(to: phone.server)
        #expect(batches.count == 2 && batches[0] == batches[1])
    }

    @Test(arguments: [400, 413])
    func `a batch that the server refuses blocks no other`(status: Int) async throws {
        let refusal = ScriptedServer.Answer(status: status, body: #"{"message":"no"}"#)
        let phone = ScriptedPhone(ScriptedServer([.init(body: #"{"device_uuid":"d-1"}"#), .init(), refusal]))
        defer { phone.wipe() }
        let app = try phone.start()
        for number in 0..<101 { try await app.opened(receiptID: "r\(number)") }
        try await app.register(phone.wish())
        #expect(reported(to: phone.server).map(\.count) == [100, 1])
        #expect(await app.waitingEvents == 0)
    }

    @Test func `offline, the last thousand events are kept, sent in hundreds`() async throws {
        let phone = ScriptedPhone()
        defer { phone.wipe() }
        let app = try phone.start()
        for number in 0..<1_010 { try await app.opened(receiptID: "r\(number)") }
        #expect(await app.waitingEvents == 1_000)
        try await app.register(phone.wish())
        let batches = reported(to: phone.server)
        #expect(batches.map(\.count) == Array(repeating: 100, count: 10))
        #expect(batches.last?.last?["receiptId"] == "r1009")
    }

    @Test func `the latest fifty pushes are kept`() async throws {
        let phone = ScriptedPhone()
        defer { phone.wipe() }
        let app = try phone.start()
        for number in 0..<60 {
            try await app.received(PushMessage(receiptID: "r\(number)", title: "t", body: "b", receivedAt: phone.now))
        }
        let kept = await (try phone.start()).latestMessages
        #expect(kept.map(\.receiptID) == (10..<60).map { "r\($0)" })
        #expect(kept.last?.body == "b")
    }

    @Test func `equal events in one moment count as two`() async throws {
        let phone = ScriptedPhone()
        defer { phone.wipe() }
        let app = try phone.start()
        for _ in 0..<3 { try await app.opened(receiptID: "r") }
        try await app.register(phone.wish())
        try await app.opened(receiptID: "r")
        try await app.resume()
        let times = reported(to: phone.server).flatMap(\.self).compactMap { $0["eventTime"].flatMap { Int64($0) } }
        #expect(Set(times) == Set((0..<4).map { phone.now - $0 }))
    }
}

import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

/// Updates and retractions of pushes through the admin API.
@Suite struct FollowUpAPITests {
    private struct Fixture {
        let server: TestAdminServer
        let here: TestAdminServer.TestResources

        init() async throws {
            server = try await TestAdminServer()
            here = try await server.resources("here")
        }

        /// Sends a push, and delivers it where an answer is given.
        func send(_ message: String = #"{"body":"Hi"}"#, _ answer: Answer? = .accepted) async throws -> String {
            let sent = try await server.send(
                .post, "apps/\(here.application.uuid.lowercased)/pushes",
                #"{"message":\#(message),"target":{"topics":["news"]}}"#)
            if let answer { try await server.store.deliver { _, _ in answer } }
            return try #require(sent["receipt_id"]?.stringValue, "\(sent)")
        }

        func update(_ id: String, _ message: String = #"{"body":"Hello"}"#) async throws -> TestAnswer {
            try await server.send(.post, "pushes/\(id)/update", #"{"message":\#(message)}"#)
        }

        func retract(_ id: String) async throws -> TestAnswer { try await server.send(.post, "pushes/\(id)/retract") }

        func push(_ reply: TestAnswer) async throws -> Push {
            let id = try #require(reply["receipt_id"]?.stringValue, "\(reply)")
            return try #require(try await server.store.allPushes().first { $0.receiptID.lowercased == id })
        }
    }

    @Test func `an update goes to devices of the first push`() async throws {
        let fixture = try await Fixture()
        _ = try await fixture.server.store.register(.sample(2), as: nil, on: fixture.here.platform)
        let first = try await fixture.send()
        let reply = try await fixture.update(first)
        #expect(reply.status == 201 && reply["devices"] == .integer(1), "\(reply)")
        #expect(reply["other_devices"] == .integer(0))
        let update = try await fixture.push(reply)
        #expect(update.content.body == "Hello" && update.content.follows?.receiptID.lowercased == first)
        var told: Set<Key<Device>> = []
        try await fixture.server.store.deliver { batch, device in
            if batch.pushKey == update.key { told.insert(device) }
            return .accepted
        }
        #expect(told == [fixture.here.device.key])
        #expect(try await fixture.server.audited().first == "push.update")
        let shown = try await fixture.server.send(.get, "pushes/\(first)")
        #expect(
            shown.text.contains(#""followed_by":[{"#) && shown.text.contains(update.receiptID.lowercased), "\(shown)")
        #expect(shown["follows"] == nil)
        let own = try await fixture.server.send(.get, "pushes/\(update.receiptID.lowercased)")
        #expect(
            own["follows"]?["receipt_id"] == .string(first) && own["follows"]?["kind"] == .string("update"), "\(own)")
        #expect(own["followed_by"] == .array([]))
    }

    @Test(arguments: ["update", "retract"])
    func `cancelled devices hear nothing more, capped ones an update`(path: String) async throws {
        let fixture = try await Fixture()
        let (server, here) = (fixture.server, fixture.here)
        var answers: [Key<Device>: Answer] = [here.device.key: .accepted]
        let others: [UInt8: Answer] = [2: .skipped(.cancelled), 3: .skipped(.capped), 4: .gone]
        for (number, answer) in others {
            let device = try await server.store.register(.sample(number), as: nil, on: here.platform)
            answers[device.key] = answer
        }
        let sent = try await server.send(
            .post, "apps/\(here.application.uuid.lowercased)/pushes",
            #"{"message":{"body":"Hi"},"target":{"everyone":true}}"#)
        let first = try #require(sent["receipt_id"]?.stringValue, "\(sent)")
        try await server.store.deliver { _, device in answers[device] ?? .skipped(.cancelled) }
        let reply = try await path == "update" ? fixture.update(first) : fixture.retract(first)
        let second = try await fixture.push(reply)
        var told: Set<Answer> = []
        try await server.store.deliver { batch, device in
            if batch.pushKey == second.key { told.insert(answers[device] ?? .pending) }
            return .accepted
        }
        let expected: Set<Answer> = path == "update" ? [.accepted, .skipped(.capped)] : [.accepted]
        #expect(told == expected)
        #expect(reply["devices"] == .integer(Int64(told.count)), "\(reply)")
    }

    @Test func `an update takes a template and its own urgency`() async throws {
        let fixture = try await Fixture()
        let first = try await fixture.send()
        let reply = try await fixture.server.send(
            .post, "pushes/\(first)/update", #"{"template":"welcome","urgency":"bulk","kind":"news"}"#)
        let update = try await fixture.push(reply)
        #expect(update.content.body == "Hi" && update.lane == .bulk && update.content.pacing.kind == "news")
        #expect(update.content.follows?.receiptID.lowercased == first)
    }

    @Test(arguments: [
        (#"{}"#, "message is missing"), (#"{"message":{"body":"x"},"target":{"everyone":true}}"#, "target"),
        (#"{"message":{"body":"x"},"send_at":"2100-01-01T00:00:00Z"}"#, "send_at"),
        (#"{"message":{}}"#, "has neither body"),
        (#"{"message":{"body":"x","collapse_key":"other"}}"#, "message.collapse_key is not that of the push"),
    ])
    func `a wrong update is refused and nothing sent`(body: String, words: String) async throws {
        let fixture = try await Fixture()
        let first = try await fixture.send()
        let count = try await fixture.server.store.allPushes().count
        let reply = try await fixture.server.send(.post, "pushes/\(first)/update", body)
        #expect(reply.status == 400 && reply.text.contains(words), "\(reply)")
        #expect(try await fixture.server.store.allPushes().count == count)
    }

    @Test func `a retraction cancels the rest and removes what left`() async throws {
        let fixture = try await Fixture()
        let waiting = try await fixture.send(#"{"body":"Hi"}"#, nil)
        let cancelled = try await fixture.retract(waiting)
        #expect(cancelled.status == 201 && cancelled["receipt_id"] == .null, "\(cancelled)")
        #expect(cancelled["cancelled"]?["fan_outs"] == .integer(1))
        #expect(try await fixture.server.audited().first == "push.cancel")
        let first = try await fixture.send()
        let reply = try await fixture.retract(first)
        #expect(reply.status == 201 && reply["devices"] == .integer(1), "\(reply)")
        let retraction = try await fixture.push(reply)
        #expect(retraction.content.follows?.isRetraction == true && retraction.content.body == nil)
        #expect(try await fixture.server.audited().first == "push.retract")
        let shown = try await fixture.server.send(.get, "pushes/\(first)")
        #expect(shown.text.contains(#""kind":"retraction""#), "\(shown)")
        let again = try await fixture.retract(retraction.receiptID.lowercased)
        #expect(again.status == 409 && again.text.contains("is a retraction"), "\(again)")
        #expect(try await fixture.update(retraction.receiptID.lowercased).status == 409)
    }

    @Test func `a push that no device shows is not followed`() async throws {
        let fixture = try await Fixture()
        let refused = try await fixture.send(#"{"body":"Hi"}"#, .refused(.badToken))
        for reply in [try await fixture.update(refused), try await fixture.retract(refused)] {
            #expect(reply.status == 409 && reply.text.contains("went to no device"), "\(reply)")
        }
        let silent = try await fixture.send(
            #"{"apns":{"type":"background","payload":{"aps":{"content-available":1}}}}"#)
        for reply in [try await fixture.update(silent), try await fixture.retract(silent)] {
            #expect(reply.status == 409 && reply.text.contains("no device that the push went to can"), "\(reply)")
        }
    }

    @Test func `readers, strangers and unknown pushes get nowhere`() async throws {
        let fixture = try await Fixture()
        let first = try await fixture.send()
        let reader = try await fixture.server.key(.readOnly, .tenant(fixture.here.tenant.key))
        let other = try await fixture.server.store.create(NewTenant(uuid: .init(), name: try Name("other")))
        let stranger = try await fixture.server.key(.sender, .tenant(other.key))
        for (path, body) in [("update", #"{"message":{"body":"x"}}"#), ("retract", nil)] {
            #expect(try await fixture.server.send(.post, "pushes/\(first)/\(path)", as: reader, body).status == 403)
            #expect(try await fixture.server.send(.post, "pushes/\(first)/\(path)", as: stranger, body).status == 404)
            #expect(try await fixture.server.send(.post, "pushes/\(UUID().lowercased)/\(path)", body).status == 404)
        }
    }

    @Test func `links go with either push`() async throws {
        let fixture = try await Fixture()
        _ = try await fixture.update(try await fixture.send())
        #expect(try await fixture.server.store.number("SELECT count(*) FROM follow_up") == 1)
        try await fixture.server.store.delete(fixture.here.application.key, force: true)
        #expect(try await fixture.server.store.number("SELECT count(*) FROM follow_up") == 0)
    }
}

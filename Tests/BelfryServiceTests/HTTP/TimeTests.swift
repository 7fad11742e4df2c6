import BelfryTesting
import HTTPTypes
import Testing

@testable import BelfryService

/// Times that name no moment, or none at which anybody could get a push, are refused before anything is done.
@Suite struct TimeTests {
    private static let push = #""message":{"body":"x"},"target":{"everyone":true}"#

    @Test(arguments: [
        (#""send_at":"2226-11-31T08:00:00Z""#, "send_at is '2226-11-31T08:00:00Z': its month has no such day"),
        (#""send_at":"2226-11-30T08:99:00Z""#, "no day has such an hour, minute or second"),
        (#""send_at":"2226-11-30T99:00:00Z""#, "no day has such an hour, minute or second"),
        (#""send_at":"2226-11-30T08:00:00+01:99""#, "an offset is at most 23:59"),
        (#""send_at":"2226-11-30T08:00:00Zfoo""#, "nothing may stand behind the time zone"),
        (#""send_at":"0026-11-30T08:00:00Z""#, "send_at is 0026-11-30T08:00:00.000Z, which is over"),
        (#""send_at":"26-11-30T08:00:00Z""#, "send_at has to be a time such as"),
        (#""send_at":"12026-11-30T08:00:00Z""#, "send_at has to be a time such as"),
        (#""expires_at":"0026-11-30T08:00:00Z""#, "expires_at is 0026-11-30T08:00:00.000Z, which is over"),
        (
            #""send_at":"2226-11-30T08:00:00Z","expires_at":"2226-11-30T07:59:59Z""#,
            "expires_at is 2226-11-30T07:59:59.000Z, which is not after the time at which the push is sent"
        ),
    ])
    func `a push at no time is refused`(times: String, words: String) async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("shop")
        let application = "apps/\(resources.application.uuid.lowercased)"
        let before = try await server.store.allPushes().count
        let refused = try await server.send(.post, "\(application)/pushes", "{\(Self.push),\(times)}")
        #expect(refused.status == 400 && refused.message?.contains(words) == true, "\(refused)")
        #expect(try await server.store.allPushes().count == before)
    }

    @Test func `a schedule cannot be moved behind its expiry`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("shop")
        let application = "apps/\(resources.application.uuid.lowercased)"
        func time(_ seconds: Int64) -> String { (server.clock.now + .seconds(seconds)).text }
        let made = try await server.send(
            .post, "\(application)/pushes", #"{\#(Self.push),"send_at":"\#(time(60))","expires_at":"\#(time(600))"}"#)
        let schedule = "\(application)/schedules/\(try #require(made["schedule_id"]?.stringValue, "\(made)"))"
        for (change, isTaken) in [
            (#"{"send_at":"\#(time(600))"}"#, false), (#"{"expires_at":"\#(time(60))"}"#, false),
            (#"{"send_at":"\#(time(-301))"}"#, false), (#"{"send_at":"\#(time(700))","expires_at":null}"#, true),
        ] {
            let reply = try await server.send(.patch, schedule, change)
            #expect(reply.status == (isTaken ? 200 : 400), "\(change): \(reply)")
        }
    }

    @Test func `a send time that has just passed is now`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("shop")
        let sendAt = (server.clock.now + .seconds(-300)).text
        let sent = try await server.send(
            .post, "apps/\(resources.application.uuid.lowercased)/pushes", #"{\#(Self.push),"send_at":"\#(sendAt)"}"#)
        #expect(sent.status == 201 && sent["receipt_id"] != nil, "\(sent)")
    }
}

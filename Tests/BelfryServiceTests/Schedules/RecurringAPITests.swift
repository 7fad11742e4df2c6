import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

/// Recurring schedules in the admin API. The clock stands at 2023-11-14T22:13:20Z.
@Suite struct RecurringAPITests {
    private static let recurrence =
        #"{"rule":"FREQ=WEEKLY;BYDAY=MO,TH","start":"2023-11-14T09:00","time_zone":"Europe/Vienna","except":["2023-11-20"]}"#

    private static func body(_ recurrence: String = recurrence, _ more: String = "") -> String {
        #"{"message":{"body":"Hi"},"target":{"everyone":true},"recurrence":\#(recurrence)\#(more)}"#
    }

    private func made(_ server: TestAdminServer, _ body: String = body()) async throws -> (app: String, id: String) {
        let resources = try await server.resources("shop")
        let app = "apps/\(resources.application.uuid.lowercased)"
        let made = try await server.send(.post, "\(app)/pushes", body)
        #expect(made.status == 201, "\(made)")
        return (app, "\(app)/schedules/\(try #require(made["schedule_id"]?.stringValue, "\(made)"))")
    }

    @Test func `it shows its rule, words and next five times`() async throws {
        let server = try await TestAdminServer()
        let (app, id) = try await made(server)
        let shown = try await server.send(.get, id)
        #expect(shown["state"] == .string("waiting") && shown["due_at"] == .string("2023-11-16T08:00:00.000Z"))
        #expect(shown["history"] == .array([]) && shown["paused_at"] == nil)
        let expected = try JSONValue(
            json: """
                {"rule":"FREQ=WEEKLY;BYDAY=MO,TH","start":"2023-11-14T09:00","time_zone":"Europe/Vienna",
                "except":["2023-11-20"],"missed":"run_once",
                "words":"every Monday and Thursday at 09:00, Europe/Vienna, except on 2023-11-20",
                "next":["2023-11-16T08:00:00.000Z","2023-11-23T08:00:00.000Z","2023-11-27T08:00:00.000Z",
                "2023-11-30T08:00:00.000Z","2023-12-04T08:00:00.000Z"]}
                """.utf8)
        #expect(shown["recurrence"] == expected, "\(shown)")
        guard case .array(let list)? = try await server.send(.get, "\(app)/schedules")["schedules"] else {
            Issue.record("no list")
            return
        }
        #expect(list.contains { $0["recurrence"] == expected })
    }

    @Test func `an interrupted skip is not repeated`() async throws {
        let server = try await TestAdminServer()
        let (_, id) = try await made(server)
        func skip() async throws -> Int {
            try await server.send(.post, "\(id)/skip-next", headers: [.idempotencyKey: "a"]).status
        }
        #expect(try await skip() == 200)
        try await server.loseAnswers()
        #expect(try await skip() == 409)
        #expect(try await server.send(.get, id)["due_at"] == .string("2023-11-23T08:00:00.000Z"))
    }

    @Test func `a page follows where its last one moved on`() async throws {
        let server = try await TestAdminServer()
        let (app, id) = try await made(server)
        let later = #"{"rule":"FREQ=DAILY","start":"2023-11-17T09:00","time_zone":"Europe/Vienna"}"#
        #expect(try await server.send(.post, "\(app)/pushes", Self.body(later)).status == 201)
        func page(after cursor: String) async throws -> (id: String, cursor: String) {
            let page = try await server.send(.get, "\(app)/schedules?limit=1\(cursor)")
            guard case .array(let list)? = page["schedules"] else { return ("", "") }
            let next = page["next_cursor"]?.stringValue ?? ""
            return (list.first?["schedule_id"]?.stringValue ?? "", "&cursor=\(next)")
        }
        var last = try await page(after: "")
        if !id.hasSuffix(last.id) { last = try await page(after: last.cursor) }
        #expect(id.hasSuffix(last.id) && !last.id.isEmpty)
        #expect(try await server.send(.post, "\(id)/skip-next").status == 200)
        let following = try await server.send(.get, "\(app)/schedules?limit=1\(last.cursor)")
        #expect(following.text.contains("2023-11-17T08:00:00.000Z"), "\(following)")
        let schedule = try #require(id.split(separator: "/").last.flatMap { Key<Schedule>(id: String($0)) })
        let old = try await server.send(.get, "\(app)/schedules?cursor=\(Admin.Cursor(schedule.rawValue).text)")
        #expect(old.status == 200 && !old.text.contains("2023-11-17T08:00:00.000Z"), "\(old)")
    }

    @Test func `it is paused, resumed and skipped, each audited`() async throws {
        let server = try await TestAdminServer()
        let (_, id) = try await made(server)
        let paused = try await server.send(.post, "\(id)/pause", headers: [.idempotencyKey: "p"])
        #expect(paused["state"] == .string("paused") && paused["due_at"] == .null, "\(paused)")
        let repeated = try await server.send(.post, "\(id)/pause", headers: [.idempotencyKey: "p"])
        #expect(paused.headers[.eTag] != nil && repeated.headers[.eTag] == paused.headers[.eTag])
        let resumed = try await server.send(.post, "\(id)/resume")
        #expect(resumed["state"] == .string("waiting") && resumed["due_at"] == .string("2023-11-16T08:00:00.000Z"))
        let skipped = try await server.send(.post, "\(id)/skip-next")
        #expect(skipped["due_at"] == .string("2023-11-23T08:00:00.000Z"), "\(skipped)")
        #expect(skipped["recurrence"]?["except"] == .strings(["2023-11-16", "2023-11-20"]))
        let tag = try #require(resumed.headers[.eTag])
        #expect(try await server.send(.post, "\(id)/pause", headers: [.ifMatch: tag]).status == 412)
        #expect(
            try await server.audited().prefix(4)
                == ["schedule.skip_next", "schedule.resume", "schedule.pause", "schedule.create"])
        let resources = try await server.resources("other")
        let once = "apps/\(resources.application.uuid.lowercased)/schedules/\(resources.schedule.key.id)"
        let refused = try await server.send(.post, "\(once)/pause")
        #expect(refused.status == 400 && refused.message?.hasPrefix("schedule is sent once") == true, "\(refused)")
        let reader = try await server.key(.readOnly, .tenant(resources.tenant.key))
        #expect(try await server.send(.post, "\(once)/pause", as: reader).status == 403)
    }

    @Test func `its history has receipts and times`() async throws {
        let server = try await TestAdminServer()
        let (_, id) = try await made(server)
        server.clock.advance(by: .seconds(4 * 86_400))
        let due = try await server.store.dueSchedules(atMost: 9).filter { $0.recurrence != nil }
        let schedule = try #require(due.first)
        let new = try await PushBuilder(store: server.store, clock: server.clock).build(
            schedule.pushRequest, for: schedule.applicationKey)
        let push = try #require(try await server.store.release(schedule, as: new))
        let shown = try await server.send(.get, id)
        let expected = try JSONValue(
            json: """
                [{"due_at":"2023-11-16T08:00:00.000Z","at":"\(server.clock.now.text)","result":"sent",
                "receipt_id":"\(push.receiptID.lowercased)"}]
                """.utf8)
        #expect(shown["history"] == expected, "\(shown)")
        #expect(shown["due_at"] == .string("2023-11-23T08:00:00.000Z"))
    }

    private static let local = #"{"rule":"FREQ=WEEKLY;BYDAY=TH","start":"2023-11-14T09:00","local":true}"#

    @Test func `by the clocks of each recipient it shows local times`() async throws {
        let server = try await TestAdminServer()
        let (_, id) = try await made(server, Self.body(Self.local))
        let shown = try await server.send(.get, id)
        #expect(shown["due_at"] == .string("2023-11-15T19:00:00.000Z"), "\(shown)")
        let expected = try JSONValue(
            json: """
                {"rule":"FREQ=WEEKLY;BYDAY=TH","start":"2023-11-14T09:00","time_zone":"UTC","except":[],
                "missed":"run_once","local":true,"past":"skip",
                "words":"every Thursday at 09:00 of each recipient, UTC where none is known",
                "next":["2023-11-16T09:00","2023-11-23T09:00","2023-11-30T09:00","2023-12-07T09:00","2023-12-14T09:00"]}
                """.utf8)
        #expect(shown["recurrence"] == expected, "\(shown)")
        let zoned =
            #"{"rule":"FREQ=DAILY","start":"2023-11-01T18:30","local":"true","time_zone":"Europe/Vienna","past":"send"}"#
        let changed = try await server.send(.patch, id, #"{"recurrence":\#(zoned)}"#)
        // The 14th has come to some already, so it begins with the 15th.
        #expect(changed["due_at"] == .string("2023-11-15T04:30:00.000Z"), "\(changed)")
        #expect(changed["recurrence"]?["past"] == .string("send"))
    }

    @Test func `its history leads to the schedules of its times`() async throws {
        let server = try await TestAdminServer()
        let (app, id) = try await made(server, Self.body(Self.local))
        server.clock.advance(by: .seconds(86_400))
        let due = try await server.store.dueSchedules(atMost: 9).filter { $0.recurrence != nil }
        let schedule = try #require(due.first)
        let occurrence = try #require(schedule.occurrence(at: server.clock.now))
        #expect(try await server.store.start(occurrence, of: schedule))
        let shown = try await server.send(.get, id)
        let child = try #require(try await server.store.runs(of: schedule.key).first?.how.child)
        let expected = try JSONValue(
            json: """
                [{"due_at":"2023-11-15T19:00:00.000Z","at":"\(server.clock.now.text)","result":"started",
                "schedule_id":"\(child.id)","state":"waiting"}]
                """.utf8)
        #expect(shown["history"] == expected, "\(shown)")
        #expect(shown["due_at"] == .string("2023-11-22T19:00:00.000Z"))
        let time = try await server.send(.get, "\(app)/schedules/\(child.id)")
        #expect(time["local"]?["local"] == .string("2023-11-16T09:00"), "\(time)")
        #expect(time["local"]?["recurring_schedule_id"] == .string(schedule.key.id))
        #expect(time["message"] == shown["message"] && time["target"] == shown["target"])
        #expect(try await server.send(.delete, id).status == 204)
        #expect(try await server.send(.get, "\(app)/schedules/\(child.id)")["state"] == .string("cancelled"))
        #expect(try await server.audited().prefix(2) == ["schedule.cancel", "schedule.create"])
    }

    @Test func `a change gives it another recurrence, or takes it away`() async throws {
        let server = try await TestAdminServer()
        let (_, id) = try await made(server)
        let monthly =
            #"{"rule":"FREQ=MONTHLY;BYMONTHDAY=-1","start":"2023-11-01T18:30","time_zone":"UTC","missed":"skip"}"#
        let changed = try await server.send(.patch, id, #"{"recurrence":\#(monthly)}"#)
        #expect(changed["due_at"] == .string("2023-11-30T18:30:00.000Z"), "\(changed)")
        #expect(changed["recurrence"]?["missed"] == .string("skip"))
        let kept = try await server.send(.patch, id, #"{"message":{"body":"y"}}"#)
        #expect(kept["recurrence"] == changed["recurrence"] && kept["due_at"] == changed["due_at"])
        for body in [
            #"{"send_at":"2023-12-01T00:00:00Z"}"#, #"{"expires_at":"2023-12-01T00:00:00Z"}"#, #"{"recurrence":null}"#,
        ] {
            let refused = try await server.send(.patch, id, body)
            #expect(refused.status == 400, "\(refused)")
        }
        let once = try await server.send(.patch, id, #"{"recurrence":null,"send_at":"2023-12-01T00:00:00Z"}"#)
        #expect(once["recurrence"] == nil && once["due_at"] == .string("2023-12-01T00:00:00.000Z"), "\(once)")
    }

    @Test(arguments: [
        (#"{}"#, "", "recurrence.rule is missing"), (#"{"rule":"FREQ=DAILY"}"#, "", "recurrence.start is missing"),
        (#"{"rule":"FREQ=DAILY","start":"2023-11-15T09:00"}"#, "", "recurrence.time_zone is missing"),
        (
            #"{"rule":"FREQ=DAILY","start":"2023-11-15T09:00","time_zone":"CET1"}"#, "",
            "recurrence.time_zone is 'CET1', it has"
        ),
        (
            #"{"rule":"FREQ=DAILY","start":"2023-11-15T09:00","time_zone":"europe/vienna"}"#, "",
            "recurrence.time_zone is 'europe/vienna' (is Europe/Vienna meant?)"
        ),
        (#"{"rule":"FREQ=DAILY","start":"2023-11-15T09:00Z","time_zone":"UTC"}"#, "", "recurrence.start has to be"),
        (
            #"{"rule":"FREQ=DAILY;BYHOUR=9","start":"2023-11-15T09:00","time_zone":"UTC"}"#, "",
            "recurrence.rule has BYHOUR"
        ),
        (#"{"rule":"FREQ=DAILY","start":"2023-11-15T09:00","time_zone":"UTC","exept":[]}"#, "", "'recurrence.exept'"),
        (
            #"{"rule":"FREQ=MONTHLY;INTERVAL=12;BYMONTHDAY=31","start":"2018-02-01T09:00","time_zone":"UTC"}"#, "",
            "recurrence.rule fits no day"
        ),
        (
            #"{"rule":"FREQ=DAILY;COUNT=2","start":"2022-07-15T09:00","time_zone":"UTC"}"#, "",
            "recurrence has no time after"
        ),
        (
            #"{"rule":"FREQ=DAILY","start":"2023-11-15T09:00","time_zone":"UTC"}"#,
            #","send_at":"2023-11-15T09:00:00Z""#,
            "recurrence and send_at exclude"
        ),
        (
            #"{"rule":"FREQ=DAILY","start":"2023-11-15T09:00","time_zone":"UTC"}"#,
            #","expires_at":"2023-11-19T09:00:00Z""#, "expires_at is given, but the push recurs"
        ),
        (
            #"{"rule":"FREQ=DAILY","start":"2023-11-15T09:00","time_zone":"UTC","missed":"all"}"#, "",
            "recurrence.missed is 'all'"
        ),
        (
            #"{"rule":"FREQ=DAILY","start":"2023-11-15T09:00","time_zone":"UTC","past":"skip"}"#, "",
            "recurrence.past goes with local"
        ),
        (
            #"{"rule":"FREQ=DAILY;UNTIL=20240101T000000Z","start":"2023-11-15T09:00","local":true}"#, "",
            "recurrence.rule has UNTIL in UTC"
        ),
        (#"{"rule":"FREQ=DAILY","start":"2023-11-15T09:00","local":false}"#, "", "recurrence.time_zone is missing"),
        (
            #"{"rule":"FREQ=DAILY","start":"2023-11-15T09:00","local":true}"#,
            #","send_at":{"local":"2023-11-15T09:00"}"#, "recurrence and a local send_at exclude"
        ),
        (
            #"{"rule":"FREQ=DAILY;COUNT=1","start":"2023-11-13T09:00","local":true}"#, "",
            "recurrence has no time after"
        ),
    ])
    func `a recurrence not understood sends nothing`(recurrence: String, more: String, words: String) async throws {
        let server = try await TestAdminServer()
        let app = "apps/\(try await server.resources("shop").application.uuid.lowercased)"
        let reply = try await server.send(.post, "\(app)/pushes", Self.body(recurrence, more))
        #expect(reply.status == 400 && reply.message?.contains(words) == true, "\(reply)")
    }

    @Test func `PCF's API has only schedules that are sent once`() async throws {
        let server = try await TestServer()
        let recurrence = try Recurrence(
            rule: RecurrenceRule("FREQ=DAILY", field: "rule"), start: LocalTime("2023-11-15T09:00", field: "start"),
            zone: ZoneInfo("UTC", field: "zone"))
        let request = PushRequest(content: Push.Content(body: "Hi"), target: .everyone)
        let application = server.application
        let recurring = try await PushService(store: server.store).schedule(
            request, recurring: recurrence, for: application, by: TestAdminServer.author)
        #expect(try await server.send(.get, "/v1/schedules", as: .sender).json == .array([]))
        let once = try await server.push(#"{"message":{"body":"Hi"},"scheduleIn":900,"target":{"platform":"all"}}"#)
        guard case .array(let list) = try await server.send(.get, "/v1/schedules", as: .sender).json else {
            Issue.record("no list")
            return
        }
        #expect(list.compactMap { $0["schedule_id"] } == [once["schedule_id"]])
        for method in [HTTPRequest.Method.get, .put] {
            #expect(try await server.send(method, "/v1/schedules/\(recurring.key.id)", as: .sender, "{}").status == 404)
        }
    }
}

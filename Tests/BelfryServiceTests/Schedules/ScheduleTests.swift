import Testing

@testable import BelfryService

@Suite struct ScheduleTests {
    @Test(arguments: [1, 2, 3, 1_000_000, 0, -1, .max, .min] as [Int64])
    func `an id is 16 hex digits and yields its key`(raw: Int64) {
        let key = Key<Schedule>(raw)
        #expect(key.id.utf8.count == 16)
        #expect(Key(id: key.id) == key)
        #expect(Key(id: key.id.uppercased()) == key)
    }

    @Test func `ids do not count up`() {
        let ids = (1...100 as ClosedRange<Int64>).map { Key<Schedule>($0).id }
        #expect(ids.sorted() != ids)
        #expect(Set(ids).count == 100)
    }

    @Test(arguments: ["", "1", "fc226fbc1443ebf", "fc226fbc1443ebfe0", "fc226fbc1443ebfg", "+c226fbc1443ebfe"])
    func `anything else is no id`(text: String) {
        #expect(Key<Schedule>(id: text) == nil)
    }

    @Test func `a change leaves what it does not name`() throws {
        let pushRequest = PushRequest(
            content: Push.Content(body: "a"), target: try Target(topics: ["news"]), lane: .bulk,
            guarantee: .atMostOnce, expiresAt: Instant(milliseconds: 90))
        let schedule = Schedule(
            key: Key(1), applicationKey: Key(2), pushRequest: pushRequest, dueAt: Instant(milliseconds: 50),
            createdAt: .zero,
            version: 1, ending: nil)
        let later = try schedule.changed(by: Schedule.Change(dueAt: Instant(milliseconds: 60)), at: .zero)
        #expect(later.pushRequest == pushRequest)
        #expect(later.dueAt == Instant(milliseconds: 60))
        #expect(later.version == 2)
        let other = try schedule.changed(
            by: Schedule.Change(
                content: Push.Content(body: "b"), target: .everyone, expiresAt: Instant(milliseconds: 99)),
            at: .zero)
        #expect(other.dueAt == schedule.dueAt)
        #expect(other.pushRequest.content.body == "b" && other.pushRequest.target == .everyone)
        #expect(other.pushRequest.lane == .bulk && other.pushRequest.guarantee == .atMostOnce)
        #expect(other.pushRequest.expiresAt == Instant(milliseconds: 99))
    }

    @Test func `a change of one rule of pacing leaves the others`() throws {
        var content = Push.Content(body: "a")
        content.pacing = Pacing(kind: "news", perMinute: 60)
        content.pacing.unlessSent = try UnlessSent(JSONValue(json: #"{"within":"P1D"}"#.utf8), field: "unless_sent")
        let schedule = Schedule(
            key: Key(1), applicationKey: Key(2), pushRequest: PushRequest(content: content, target: .everyone),
            dueAt: Instant(milliseconds: 50), createdAt: .zero, version: 1, ending: nil)
        func pacing(_ change: Schedule.Change) throws -> Pacing {
            try schedule.changed(by: change, at: .zero).pushRequest.content.pacing
        }
        var expected = content.pacing
        #expect(try pacing(.init(content: Push.Content(body: "b"))) == expected)
        expected.kind = "sport"
        #expect(try pacing(.init(content: Push.Content(body: "b"), pacing: Pacing(kind: "sport"))) == expected)
        #expect(try pacing(.init(pacing: Pacing(kind: "sport"))) == expected)
        expected.perMinute = nil
        #expect(try pacing(.init(pacing: Pacing(kind: "sport"), removed: [.throttle])) == expected)
    }

    @Test func `behind a missed time stands one that is not`() throws {
        let recurrence = try Recurrence(
            rule: RecurrenceRule("FREQ=DAILY", field: ""), start: LocalTime("2026-12-07T09:00", field: ""),
            zone: ZoneInfo("UTC", field: ""), except: [], missed: .skip)
        let due = try Instant("2026-12-07T09:00:00Z", field: "")
        let schedule = Schedule(
            key: Key(1), applicationKey: Key(2),
            pushRequest: PushRequest(content: Push.Content(body: "a"), target: .everyone), dueAt: due, createdAt: .zero,
            version: 1, recurrence: recurrence, ending: nil)
        let now = due + .seconds(86_400 + 120)
        let next = schedule.finished(.missed, at: now)
        #expect(next.dueAt == due + .seconds(86_400) && !next.isMissed(at: now))
    }
}

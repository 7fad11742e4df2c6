import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

/// Schedules in the calendar and the list, changed, and after they ended.
@Suite struct SchedulePageTests {
    private func begin() async throws -> (TestDashboard, TestBrowser, TestContents, String) {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        return (dashboard, browser, contents, "/apps/\(contents.application.uuid.lowercased)/schedules")
    }

    @Test(arguments: [
        ("2024-02", 29, 3), ("2023-02", 28, 2), ("2100-02", 28, 0), ("2000-02", 29, 1), ("2026-11", 30, 6),
        ("1970-01", 31, 3), ("2025-12", 31, 0),
    ])
    func `a month has its days, and begins on its weekday`(text: String, days: Int, weekday: Int) throws {
        let month = try #require(Month(text))
        #expect(month.days == days && month.firstWeekday == weekday && month.text == text)
        #expect(month.next.previous == month && month.end == month.next.start)
    }

    @Test(arguments: ["", "2026", "2026-13", "2026-00", "26-01", "2026-1", "99999-01", "2026-01-01", "x-y"])
    func `an invalid month is refused`(text: String) { #expect(Month(text) == nil) }

    @Test func `the first and the last month have neighbours`() throws {
        let (first, last) = (try #require(Month("1970-01")), try #require(Month("9998-12")))
        #expect(first.previous == first && last.next == last)
    }

    @Test func `a schedule stands on its calendar day with a link`() async throws {
        let (dashboard, browser, contents, path) = try await begin()
        let due = try #require(Instant(text: "2199-02-28T23:59:00Z"))
        let schedule = try await PushService(store: dashboard.store).schedule(
            PushRequest(content: Push.Content(body: "Late milk"), target: .everyone), at: due,
            for: contents.application.key)
        let month = try await browser.get("\(path)?month=2199-02")
        let day = try #require(month.text.firstRange(of: "data-label=\"28 February 2199\""))
        let next = try #require(month.text.firstRange(of: "class=\"none\"", after: day.upperBound))
        let cell = month.text[day.upperBound..<next.lowerBound]
        #expect(
            cell.contains("23:59") && cell.contains("Late milk") && cell.contains("/schedules/\(schedule.key.id)\""))
        #expect(month.contains("month=2199-01") && month.contains("month=2199-03"))
        #expect(!(try await browser.get("\(path)?month=2199-03")).contains("<span>23:59</span>"))
        let page = try await browser.get("\(path)/\(schedule.key.id)")
        #expect(page.contains("Late milk") && page.contains("2199-02-28 23:59<") && page.contains(">Edit</a>"))
        #expect(page.contains("class=\"preview phone\""))
    }

    @Test func `a schedule is changed, unless somebody changed it meanwhile`() async throws {
        let (dashboard, browser, contents, path) = try await begin()
        let edit = "\(path)/\(contents.schedule.key.id)/edit"
        let form = try await browser.get(edit)
        #expect(
            form.contains(">\ndairy</textarea>")
                && form.contains("name=\"version\" value=\"\(contents.schedule.version)\""))
        let fields = [
            ("body", "Changed milk"), ("audience", "everyone"), ("send_at", "2199-01-31T08:30"), ("urgency", "bulk"),
        ]
        let send = fields + [("action", "send"), ("reviewed", "1")]
        let stale = try await browser.post(edit, send + [("version", "-7")])
        #expect(stale.status == .unprocessableContent && stale.contains("somebody else changed the schedule"))
        let now = send + [("version", "\(contents.schedule.version)")]
        let review = try await browser.post(edit, fields + [("version", "\(contents.schedule.version)")])
        #expect(review.contains("Save it for 1 device") && review.contains("-X PATCH"))
        #expect(try await browser.post(edit, now).location.hasSuffix("\(contents.schedule.key.id)?done=changed"))
        let changed = try #require(
            try await dashboard.store.schedule(contents.schedule.key, of: contents.application.key))
        #expect(changed.pushRequest.content.body == "Changed milk" && changed.pushRequest.lane == .bulk)
        #expect(changed.dueAt == Instant(text: "2199-01-31T08:30:00Z"))
        #expect(try await browser.post(edit, now).contains("somebody else changed the schedule"))
        let timeless = send.filter { $0.0 != "send_at" } + [("version", "\(changed.version)")]
        #expect(try await browser.post(edit, timeless).status == .unprocessableContent)
    }

    @Test func `a schedule by local clocks is changed but its time`() async throws {
        let (dashboard, browser, contents, path) = try await begin()
        let (store, application) = (dashboard.store, contents.application.key)
        let fields = [("audience", "everyone"), ("clock", "local"), ("action", "send"), ("reviewed", "1")]
        let time = ("send_at", "2199-01-31T08:30")
        let compose = path.replacing("/schedules", with: "/compose")
        let made = try await browser.post(compose, fields + [time, ("body", "Milk")])
        #expect(made.location.hasSuffix("?done=scheduled"))
        let all = try await store.schedules(of: application, after: nil, limit: 9)
        let schedule = try #require(all.first { $0.local != nil })
        let change = fields + [("body", "Fresh milk"), ("version", "\(schedule.version)")]
        let edit = "\(path)/\(schedule.key.id)/edit"
        let later = try await browser.post(edit, change + [("send_at", "2199-02-01T08:30")])
        #expect(later.status == .unprocessableContent && later.contains("cannot be changed"))
        #expect(try await browser.post(edit, change + [time]).location.hasSuffix("?done=changed"))
        let changed = try #require(try await store.schedule(schedule.key, of: application))
        #expect(changed.pushRequest.content.body == "Fresh milk" && changed.local == schedule.local)
    }

    @Test func `clearing the form clears a schedule's expiry and urgency`() async throws {
        let (dashboard, browser, contents, path) = try await begin()
        let store = dashboard.store
        let due = dashboard.clock.now + .seconds(86_400)
        let schedule = try await PushService(store: store).schedule(
            PushRequest(
                content: Push.Content(body: "Milk"), target: .everyone, lane: .bulk, expiresAt: due + .seconds(3_600)),
            at: due, for: contents.application.key)
        let edit = "\(path)/\(schedule.key.id)/edit"
        #expect(try await browser.get(edit).contains("<option value=\"bulk\" selected>"))
        let fields = [
            ("body", "Milk"), ("audience", "everyone"), ("send_at", String(due.text.prefix(16))), ("urgency", ""),
            ("expires_at", ""), ("action", "send"), ("reviewed", "1"), ("version", "\(schedule.version)"),
        ]
        #expect(try await browser.post(edit, fields).location.hasSuffix("?done=changed"))
        let changed = try #require(try await store.schedule(schedule.key, of: contents.application.key))
        #expect(changed.pushRequest.expiresAt == nil && changed.pushRequest.lane == nil)
        #expect(changed.version == schedule.version + 1)
    }

    @Test func `a plain form makes a recurring schedule`() async throws {
        let (dashboard, browser, contents, path) = try await begin()
        let compose = "/apps/\(contents.application.uuid.lowercased)/compose"
        let fields = [
            ("body", "Weekly milk"), ("audience", "everyone"), ("repeat", "weekly"), ("day-MO", "yes"),
            ("day-TH", "yes"), ("start", "2199-01-01T09:00"), ("time_zone", "Europe/Vienna"), ("except", "2199-01-07"),
        ]
        let review = try await browser.post(compose, fields)
        #expect(review.contains("every Monday and Thursday at 09:00, Europe/Vienna, except on 2199-01-07"))
        #expect(review.contains("2199-01-03 08:00<") && review.contains("Schedule it for 1 device"))
        let send = fields + [("action", "send"), ("reviewed", "1")]
        #expect(try await browser.post(compose, send).location.hasSuffix("?done=scheduled"))
        let schedules = try await dashboard.store.schedules(of: contents.application.key, after: nil, limit: 9)
        let schedule = try #require(schedules.first { $0.recurrence != nil })
        #expect(schedule.recurrence?.rule.text == "FREQ=WEEKLY;BYDAY=MO,TH")
        let page = "\(path)/\(schedule.key.id)"
        let shown = try await browser.get(page)
        #expect(shown.contains("every Monday and Thursday") && shown.contains("Skip the next"))
        #expect(shown.contains("2199-01-10 09:00") && shown.contains("No time has passed yet."))
        #expect(try await browser.post("\(page)/skip-next", []).location.hasSuffix("?done=skip-next"))
        #expect(try await browser.post("\(page)/pause", []).location.hasSuffix("?done=pause"))
        let paused = try await browser.get("\(page)?done=pause")
        #expect(paused.contains("Paused: it is not sent") && paused.contains("Resume") && paused.contains(">paused<"))
        #expect(try await browser.get(path).contains("every Monday and Thursday"))
        #expect(try await browser.post("\(page)/resume", []).location.hasSuffix("?done=resume"))
        let form = try await browser.get("\(page)/edit")
        #expect(
            form.contains("<option value=\"weekly\" selected>")
                && form.contains("name=\"day-TH\" value=\"yes\" checked"))
        let missing = try await browser.post(
            compose, [("body", "x"), ("audience", "everyone"), ("rule", "FREQ=DAILY")])
        #expect(missing.status == .unprocessableContent && missing.contains("leaves it out"))
    }

    @Test func `each recipient's time has a schedule in the history`() async throws {
        let (dashboard, browser, contents, path) = try await begin()
        let compose = "/apps/\(contents.application.uuid.lowercased)/compose"
        let fields = [
            ("body", "Weekly milk"), ("audience", "everyone"), ("repeat", "weekly"), ("day-TU", "yes"),
            ("start", "2199-01-08T09:00"), ("repeat_local", "yes"),
        ]
        let review = try await browser.post(compose, fields)
        #expect(review.contains("every Tuesday at 09:00 of each recipient, UTC where none is known"))
        #expect(review.contains("2199-01-08 09:00") && review.contains("Schedule it for 1 device"))
        let send = fields + [("action", "send"), ("reviewed", "1")]
        #expect(try await browser.post(compose, send).location.hasSuffix("?done=scheduled"))
        let schedules = try await dashboard.store.schedules(of: contents.application.key, after: nil, limit: 9)
        let schedule = try #require(schedules.first { $0.recurrence != nil })
        let page = "\(path)/\(schedule.key.id)"
        let before = try await browser.get(page)
        #expect(before.contains("By the clock of each recipient") && before.contains("2199-01-15 09:00"))
        #expect(before.contains("2199-01-07 19:00<") && before.contains("2199-01-08 21:00<"))
        let edit = try await browser.get("\(page)/edit")
        #expect(edit.contains("name=\"repeat_local\" value=\"yes\" checked"))
        // A script shows the fields of the choice alone.
        #expect(edit.contains(#"class="field check" data-only="repeat weekly""#))
        let occurrence = try #require(schedule.occurrence(at: schedule.dueAt))
        #expect(try await dashboard.store.start(occurrence, of: schedule))
        let child = try #require(try await dashboard.store.runs(of: schedule.key).first?.how.child)
        let shown = try await browser.get(page)
        #expect(shown.contains("on its way") && shown.contains("2199-01-08 09:00 of each recipient"))
        #expect(shown.contains("/schedules/\(child.id)\""))
        let time = try await browser.get("\(path)/\(child.id)")
        #expect(time.contains("a recurring schedule") && time.contains("/schedules/\(schedule.key.id)\""))
        #expect(time.contains("No time has passed yet."))
        #expect(
            try await browser.post("\(page)/cancel", [(DashboardRequest.confirmed, "yes")]).location.hasSuffix(
                "?done=cancelled"))
        #expect(try await browser.get("\(path)?state=ended").contains("/schedules/\(child.id)\""))
    }

    @Test(arguments: LocalDelivery.Past.allCases)
    func `the form of each recipient's clock gives it again`(past: LocalDelivery.Past) throws {
        let recurrence = try Recurrence(
            rule: RecurrenceRule("FREQ=DAILY", field: "rule"), start: LocalTime("2026-12-14T09:00", field: "start"),
            zone: ZoneInfo("Europe/Vienna", field: "zone"), past: past)
        var data = FormData()
        RecurrenceForm.show(recurrence.json, in: &data)
        let again = try #require(try RecurrenceForm.recurrence(data))
        var reader = JSONReader(Array(again.storedText.utf8))
        #expect(try Recurrence("recurrence", from: &reader) == recurrence)
    }

    @Test(arguments: [
        "FREQ=DAILY", "FREQ=DAILY;INTERVAL=3;UNTIL=20301231", "FREQ=WEEKLY", "FREQ=WEEKLY;BYDAY=TU,SU", "FREQ=MONTHLY",
        "FREQ=MONTHLY;BYMONTHDAY=-1", "FREQ=MONTHLY;INTERVAL=2;BYDAY=2MO", "FREQ=MONTHLY;BYDAY=-1MO",
        "FREQ=MONTHLY;BYDAY=3TU", "FREQ=DAILY;COUNT=9", "FREQ=WEEKLY;UNTIL=20301231T090000",
    ])
    func `the form of a rule gives it again`(rule: String) throws {
        let recurrence = try Recurrence(
            rule: RecurrenceRule(rule, field: "rule"), start: LocalTime("2026-12-14T09:00", field: "start"),
            zone: ZoneInfo("Europe/Vienna", field: "zone"), except: ["2026-12-24"], missed: .skip)
        var data = FormData()
        RecurrenceForm.show(recurrence.json, in: &data)
        let isPlain = !["FREQ=MONTHLY;BYDAY=3TU", "FREQ=DAILY;COUNT=9", "FREQ=WEEKLY;UNTIL=20301231T090000"].contains(
            rule)
        #expect((data["repeat"] != "rule") == isPlain)
        let again = try #require(try RecurrenceForm.recurrence(data))
        #expect(again["rule"].map { $0 } == .string(rule) && again["except"] == .strings(["2026-12-24"]))
    }

    @Test func `a schedule's result is on its page and list`() async throws {
        let (dashboard, browser, contents, path) = try await begin()
        let schedule = contents.schedule
        let draft = try await PushService(store: dashboard.store).preview(
            schedule.pushRequest, for: contents.application.key)
        let push = try #require(try await dashboard.store.release(schedule, as: draft))
        let list = try await browser.get("\(path)?state=ended")
        #expect(list.contains(">sent<") && list.contains("/pushes/\(push.receiptID.lowercased)"))
        #expect(list.contains("class=\"badge good\" href="), "in the calendar of this month")
        let page = try await browser.get("\(path)/\(schedule.key.id)")
        #expect(page.contains("its push") && page.contains("<dt>Devices</dt>") && !page.contains(">Edit</a>"))
        #expect(try await browser.get("\(path)/\(schedule.key.id)/edit").location.hasSuffix("?done=late"))
        let again = try await browser.get(
            "/apps/\(contents.application.uuid.lowercased)/compose?schedule=\(schedule.key.id)")
        #expect(again.contains(">\ndairy</textarea>"))
    }
}

extension String {
    fileprivate func firstRange(of text: String, after start: Index) -> Range<Index>? {
        self[start...].firstRange(of: text)
    }
}

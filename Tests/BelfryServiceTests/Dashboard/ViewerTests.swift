import BelfryTesting
import HTTPTypes
import Testing

@testable import BelfryService

/// Times by the clocks of the person who looks at a page.
@Suite struct ViewerTests {
    private func viewer(_ zone: String, now: String? = nil) throws -> Viewer {
        var viewer = Viewer()
        viewer.zone = try ZoneInfo(zone, field: "")
        viewer.now = now.flatMap(Instant.init(text:))
        return viewer
    }

    @Test(arguments: [
        ("2026-01-31T08:30", "2026-01-31T07:30:00.000Z"), ("2026-07-31 08:30", "2026-07-31T06:30:00.000Z"),
        ("2026-03-29T02:30", "2026-03-29T01:00:00.000Z"), ("2026-10-25T02:30", "2026-10-25T00:30:00.000Z"),
        ("2026-01-31T08:30:00Z", "2026-01-31T08:30:00.000Z"), ("2026-01-31T08:30:15.250", "2026-01-31T07:30:15.250Z"),
    ])
    func `a typed time is one of the viewer's clock`(typed: String, text: String) throws {
        var form = FormData()
        form.put("at", typed)
        let read = try Viewer.$current.withValue(viewer("Europe/Vienna")) { try form.instant("at") }
        #expect(read?.text == text)
    }

    @Test func `a field has the time that it gives again`() throws {
        try Viewer.$current.withValue(viewer("Asia/Kathmandu")) {
            for text in ["2026-01-31T18:30:00.000Z", "2026-01-31T18:30:15.000Z", "1969-12-31T18:30:15.250Z"] {
                let instant = try #require(Instant(text: text))
                var form = FormData()
                form.put("at", instant.fieldText)
                #expect(try form.instant("at") == instant, "\(instant.fieldText)")
            }
            #expect(Instant(text: "2026-01-31T18:30:00Z")?.fieldText == "2026-02-01T00:15")
            #expect(Instant.distantFuture.minute.hasPrefix("9999-12-31"))
        }
    }

    /// Clocks in Vienna show this time twice.
    @Test(arguments: ["2026-10-25T00:30:00.000Z", "2026-10-25T01:30:00.000Z"])
    func `an unchanged field keeps its time in a repeated hour`(text: String) throws {
        let instant = try #require(Instant(text: text))
        try Viewer.$current.withValue(viewer("Europe/Vienna")) { () throws in
            var page = HTMLWriter(Shell())
            Field.time("at", "At", instant).write(to: &page)
            #expect(page.text.contains(#"name="at_shown" value="\#(text)""#) && page.text.contains("2026-10-25T02:30"))
            var form = FormData()
            form.put("at", instant)
            form.put("until", "2026-10-25T02:30")
            #expect(try form.instant("at") == instant)
            #expect(try form.instant("until")?.text == "2026-10-25T00:30:00.000Z", "each field has its own")
            form.put("at", "2026-10-25T02:45")
            #expect(try form.instant("at")?.text == "2026-10-25T00:45:00.000Z")
        }
    }

    @Test func `days begin at the viewer's midnight`() throws {
        var form = FormData()
        form.put("day", "2026-03-29")
        let (start, end) = try Viewer.$current.withValue(viewer("Europe/Vienna")) {
            (try form.day("day"), try form.day("day", plus: 1))
        }
        #expect(start?.text == "2026-03-28T23:00:00.000Z" && end?.text == "2026-03-29T22:00:00.000Z")
    }

    @Test(arguments: [
        ("2026-01-31T08:29:30Z", "just now"), ("2026-01-31T08:30:01Z", "just now"),
        ("2026-01-31T08:30:30Z", "in a moment"), ("2026-01-31T08:27:00Z", "3 minutes ago"),
        ("2026-01-31T08:31:30Z", "in a minute"), ("2026-01-30T08:30:00Z", "24 hours ago"),
        ("2026-02-10T08:30:00Z", "in 10 days"), ("2025-01-31T08:30:00Z", nil),
    ])
    func `a time says how long ago it was`(text: String, words: String?) throws {
        let instant = try #require(Instant(text: text))
        var page = HTMLWriter(Shell())
        try Viewer.$current.withValue(viewer("Europe/Vienna", now: "2026-01-31T08:30:00Z")) {
            Value.time(instant).write(to: &page)
            #expect(page.text.contains(">\(instant.minute)\(words.map { " <small>\($0)</small>" } ?? "")</time>"))
        }
        #expect(page.text.contains("Europe/Vienna\""))
    }

    @Test func `the browser's zone counts until the person chooses one`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        func page(_ cookie: String) async throws -> TestPage {
            try await TestBrowser(dashboard: dashboard, session: "\(browser.session); belfry_zone=\(cookie)")
                .get("/account?done=zone")
        }
        #expect(try await browser.get("/account").contains("by the clocks of UTC."))
        #expect(try await page("America/New_York").contains("by the clocks of America/New_York."))
        #expect(try await page("../../../etc/passwd").contains("by the clocks of UTC."))
        let wrong = try await browser.post("/account/time-zone", [("time_zone", "Mars/Base")])
        #expect(wrong.status == .unprocessableContent && wrong.contains("has to be a time zone of the IANA database"))
        let saved = try await browser.post("/account/time-zone", [("time_zone", "Europe/Vienna")])
        #expect(saved.location.hasSuffix("/account?done=zone"))
        #expect(try await dashboard.store.auditLog().last?.change.action == "person.set_time_zone")
        #expect(try await page("America/New_York").contains("Saved: times are by the clocks of Europe/Vienna."))
        _ = try await browser.post("/account/time-zone", [("time_zone", "")])
        #expect(try await dashboard.person(of: browser).timeZone == nil)
    }

    @Test func `a form keeps the clocks by which it was typed`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        _ = try await browser.post("/account/time-zone", [("time_zone", "Europe/Vienna")])
        let contents = try await TestContents(dashboard, text: "dairy")
        let path = "/apps/\(contents.application.uuid.lowercased)"
        let fields = [
            ("body", "Later"), ("audience", "everyone"), ("send_at", "2199-01-31T08:30"), ("reviewed", "1"),
            ("action", "send"),
        ]
        #expect(try await browser.post("\(path)/compose", fields).location.contains("done=scheduled"))
        let older = [("zone", "America/New_York")]
        #expect(try await browser.post("\(path)/compose", fields + older).location.contains("done=scheduled"))
        let due = try await dashboard.store.schedules(of: contents.application.key, after: nil, limit: 9).map(\.dueAt)
        let texts = due.map(\.text)
        #expect(texts.contains("2199-01-31T07:30:00.000Z") && texts.contains("2199-01-31T13:30:00.000Z"))
        let list = try await browser.get("\(path)/schedules?month=2199-01")
        #expect(list.contains("2199-01-31 08:30<") && list.contains("<span>14:30</span>"))
        let again = try await browser.post("\(path)/compose", [("send_at", "2199-01-31T08:30")] + older)
        #expect(again.status == .unprocessableContent)
        #expect(again.contains(#"name="zone" value="America/New_York""#))
        #expect(again.contains("Time zone: America/New_York."))
        let late = try await browser.post("\(path)/compose", [("body", "Late"), ("send_at", "2001-01-31T08:30")])
        #expect(late.contains("is 2001-01-31 08:30, which is over"), "faults are by the viewer's clock")
    }
}

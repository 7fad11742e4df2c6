import Foundation
import Testing

@testable import BelfryService

@Suite struct RecurrenceTests {
    /// A recurrence in Vienna from 9 o'clock on Monday, 7 December 2026.
    private static func made(
        _ rule: String, start: String = "2026-12-07T09:00", _ zone: String = "Europe/Vienna", except: [String] = [],
        missed: Recurrence.Missed = .runOnce
    ) throws -> Recurrence {
        try Recurrence(
            rule: RecurrenceRule(rule, field: "recurrence.rule"), start: LocalTime(start, field: "recurrence.start"),
            zone: ZoneInfo(zone, field: "recurrence.time_zone"), except: except, missed: missed)
    }

    private static func days(_ recurrence: Recurrence, _ count: Int = 5) -> [String] {
        recurrence.times(after: .zero, atMost: count).map { recurrence.zone.local(at: $0).dayText }
    }

    @Test(arguments: [
        ("FREQ=DAILY", "every day", "2026-12-07 2026-12-08 2026-12-09"),
        ("FREQ=DAILY;INTERVAL=10", "every 10 days from 2026-12-07", "2026-12-07 2026-12-17 2026-12-27"),
        ("FREQ=WEEKLY", "every Monday", "2026-12-07 2026-12-14 2026-12-21"),
        ("FREQ=WEEKLY;BYDAY=MO,TH", "every Monday and Thursday", "2026-12-07 2026-12-10 2026-12-14"),
        ("FREQ=WEEKLY;BYDAY=SU,TU", "every Tuesday and Sunday", "2026-12-08 2026-12-13 2026-12-15"),
        (
            "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE,FR", "every 2 weeks from 2026-12-07 on Monday, Wednesday and Friday",
            "2026-12-07 2026-12-09 2026-12-11 2026-12-21"
        ),
        ("FREQ=MONTHLY", "on the 7th of every month", "2026-12-07 2027-01-07"),
        ("FREQ=MONTHLY;BYMONTHDAY=-1", "on the last day of every month", "2026-12-31 2027-01-31 2027-02-28"),
        ("FREQ=MONTHLY;BYMONTHDAY=15,1", "on the 15th and the 1st of every month", "2026-12-15 2027-01-01 2027-01-15"),
        ("FREQ=MONTHLY;BYMONTHDAY=31", "on the 31st of every month", "2026-12-31 2027-01-31 2027-03-31"),
        ("FREQ=MONTHLY;BYMONTHDAY=-30", "on the 30th last day of every month", "2027-01-02 2027-03-02 2027-04-01"),
        ("FREQ=MONTHLY;BYDAY=2MO", "on the 2nd Monday of every month", "2026-12-14 2027-01-11 2027-02-08"),
        ("FREQ=MONTHLY;BYDAY=-1FR", "on the last Friday of every month", "2026-12-25 2027-01-29 2027-02-26"),
        ("FREQ=MONTHLY;BYDAY=5MO", "on the 5th Monday of every month", "2027-03-29 2027-05-31"),
        (
            "FREQ=MONTHLY;BYDAY=TU", "on each Tuesday of every month",
            "2026-12-08 2026-12-15 2026-12-22 2026-12-29 2027-01-05"
        ),
        (
            "FREQ=MONTHLY;INTERVAL=3;BYDAY=1MO,-1FR",
            "on the 1st Monday and the last Friday of every 3rd month from 2026-12", "2026-12-07 2026-12-25 2027-03-01"
        ),
    ])
    func `rules have their days, and say them`(rule: String, words: String, expected: String) throws {
        let recurrence = try Self.made(rule)
        #expect(recurrence.words == "\(words) at 09:00, Europe/Vienna")
        let expected = expected.split(separator: " ").map(String.init)
        #expect(Self.days(recurrence, expected.count) == expected)
        #expect(try RecurrenceRule(recurrence.rule.text, field: "rule") == recurrence.rule)
    }

    @Test(arguments: [
        ("FREQ=DAILY;COUNT=2", "2 times from 2026-12-07", "2026-12-07 2026-12-08"),
        ("FREQ=WEEKLY;UNTIL=20261221", "until 2026-12-21", "2026-12-07 2026-12-14 2026-12-21"),
        ("FREQ=WEEKLY;UNTIL=20261221T090000", "until 2026-12-21T09:00", "2026-12-07 2026-12-14 2026-12-21"),
        ("FREQ=WEEKLY;UNTIL=20261221T075959Z", "until 2026-12-21T08:59:59", "2026-12-07 2026-12-14"),
        ("FREQ=WEEKLY;UNTIL=20261221T080000Z", "until 2026-12-21T09:00", "2026-12-07 2026-12-14 2026-12-21"),
    ])
    func `rules end by a count or a time`(rule: String, words: String, expected: String) throws {
        let recurrence = try Self.made(rule)
        #expect(recurrence.words.hasSuffix("Europe/Vienna, \(words)"))
        #expect(Self.days(recurrence, 9) == expected.split(separator: " ").map(String.init))
        #expect(recurrence.rule.text == rule)
    }

    @Test func `rules are written in one form`() throws {
        let rule = try RecurrenceRule("rrule:byday=th,MO,MO;wkst=MO;freq=weekly;interval=01", field: "rule")
        #expect(rule.text == "FREQ=WEEKLY;BYDAY=MO,TH")
        #expect(try RecurrenceRule("FREQ=MONTHLY;BYDAY=+2mo,-1FR", field: "rule").text == "FREQ=MONTHLY;BYDAY=2MO,-1FR")
    }

    @Test(arguments: [
        ("", "has the part ''"), ("FREQ", "has the part 'FREQ'"), ("FREQ=DAILY;", "has the part ''"),
        ("INTERVAL=2", "lacks FREQ"), ("FREQ=YEARLY", "has FREQ=YEARLY"), ("FREQ=HOURLY", "has FREQ=HOURLY"),
        ("FREQ=DAILY;FREQ=DAILY", "has FREQ twice"), ("FREQ=DAILY;BYHOUR=9", "has BYHOUR, which schedules do not take"),
        ("FREQ=MONTHLY;BYSETPOS=1", "has BYSETPOS"), ("FREQ=DAILY;BYMONTH=1", "has BYMONTH"),
        ("FREQ=DAILY;COLOUR=RED", "has 'COLOUR', which is no part"), ("FREQ=DAILY;EXDATE=20261224", "has EXDATE"),
        ("FREQ=DAILY;INTERVAL=0", "has INTERVAL=0: it has to be a number from 1 to 999"),
        ("FREQ=DAILY;INTERVAL=1000", "has INTERVAL=1000"), ("FREQ=DAILY;INTERVAL=+1", "has INTERVAL=+1"),
        ("FREQ=DAILY;COUNT=1001", "has COUNT=1001: it has to be a number from 1 to 1000"),
        ("FREQ=DAILY;COUNT=2;UNTIL=20270101", "has COUNT and UNTIL"), ("FREQ=DAILY;UNTIL=2027-01-01", "has UNTIL="),
        ("FREQ=DAILY;UNTIL=20270230", "has UNTIL=20270230: there is no such time"),
        ("FREQ=DAILY;UNTIL=20270201X100000", "has UNTIL="),
        ("FREQ=DAILY;BYDAY=MO", "has BYDAY=MO: FREQ=DAILY takes no"),
        ("FREQ=WEEKLY;BYDAY=1MO", "has BYDAY=1MO"), ("FREQ=WEEKLY;BYDAY=MO,", "has BYDAY=MO,"),
        ("FREQ=WEEKLY;BYMONTHDAY=1", "has BYMONTHDAY=1: only FREQ=MONTHLY"), ("FREQ=WEEKLY;WKST=SU", "has WKST=SU"),
        ("FREQ=MONTHLY;BYDAY=6MO", "has BYDAY=6MO"), ("FREQ=MONTHLY;BYDAY=0MO", "has BYDAY=0MO"),
        ("FREQ=MONTHLY;BYMONTHDAY=0", "has BYMONTHDAY=0"), ("FREQ=MONTHLY;BYMONTHDAY=32", "has BYMONTHDAY=32"),
        ("FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=FR", "has BYDAY and BYMONTHDAY"),
        ("FREQ=DAILY;X=\(String(repeating: "x", count: 300))", "is 313 bytes, the limit is 256"),
    ])
    func `other parts are refused by their names`(rule: String, words: String) {
        let fault = #expect(throws: InvalidInput.self) { try RecurrenceRule(rule, field: "recurrence.rule") }
        #expect(
            fault?.field == "recurrence.rule" && fault?.problem.hasPrefix(words) == true, "\(String(describing: fault))"
        )
    }

    @Test(arguments: [
        ("FREQ=MONTHLY;INTERVAL=12;BYMONTHDAY=31", "2027-02-10T09:00"),
        ("FREQ=MONTHLY;INTERVAL=24;BYMONTHDAY=29", "2027-02-10T09:00"),
        ("FREQ=MONTHLY;INTERVAL=2;BYMONTHDAY=31", "2027-02-10T09:00"),
        ("FREQ=MONTHLY;INTERVAL=12;BYDAY=5MO,5TU", "2027-02-10T09:00"),
        ("FREQ=MONTHLY;INTERVAL=12;BYMONTHDAY=29", "2027-02-10T09:00"),
    ])
    func `a rule without days is refused, a rare one taken`(rule: String, start: String) throws {
        let isRare = rule.hasSuffix("5TU") || rule == "FREQ=MONTHLY;INTERVAL=12;BYMONTHDAY=29"
        // Every second month from February on includes August.
        let hasDays = isRare || rule.contains("INTERVAL=2;")
        let made = try? Self.made(rule, start: start)
        #expect((made != nil) == hasDays)
        if let made { #expect(Self.days(made, 20).count == 20) }
    }

    @Test(.timeLimit(.minutes(20))) func `no rule costs more than a moment`() throws {
        let rules = [
            "FREQ=MONTHLY;INTERVAL=12;BYDAY=5MO;COUNT=1000", "FREQ=MONTHLY;INTERVAL=999;BYMONTHDAY=31;COUNT=1000",
            "FREQ=DAILY;INTERVAL=999;COUNT=1000", "FREQ=MONTHLY;BYDAY=5MO;COUNT=1000",
        ]
        for rule in rules {
            let recurrence = try Self.made(rule, start: "1984-02-10T09:00")
            #expect(recurrence.times(after: Instant(text: "8999-01-01T00:00:00Z") ?? .zero, atMost: 5).isEmpty)
        }
        let all = try Self.made("FREQ=DAILY", except: (7...31).map { "2026-12-\($0 < 10 ? "0" : "")\($0)" })
        #expect(Self.days(all, 1) == ["2027-01-01"])
        let many = (0..<367).map { _ in "2026-12-24" }
        #expect(throws: InvalidInput(field: "recurrence.except", "has 367 times, the limit is 366")) {
            try Self.made("FREQ=DAILY", except: many)
        }
    }

    @Test func `exceptions are left out, and named`() throws {
        let recurrence = try Self.made("FREQ=DAILY;COUNT=4", except: ["2026-12-10T09:00", "2026-12-08"])
        // Those that are left out count.
        #expect(Self.days(recurrence) == ["2026-12-07", "2026-12-09"])
        #expect(recurrence.words.hasSuffix(", except on 2026-12-08 and 2026-12-10"))
        #expect(recurrence.except.map { $0.text(at: recurrence.start) } == ["2026-12-08", "2026-12-10T09:00"])
        let many = try Self.made("FREQ=DAILY", except: (10...15).map { "2026-12-\($0)" })
        #expect(many.words.hasSuffix("except on 2026-12-10, 2026-12-11, 2026-12-12 and 3 other days"))
        #expect(throws: InvalidInput(field: "recurrence.except[0]", "is at 10:00, but it is sent at 09:00")) {
            try Self.made("FREQ=DAILY", except: ["2026-12-08T10:00"])
        }
        #expect(throws: InvalidInput.self) { try Self.made("FREQ=DAILY", except: ["2026-13-08"]) }
    }

    @Test func `a skipped time makes room among exceptions`() throws {
        let past = (0..<366).map { LocalTime(day: 20_000 + Int64($0), second: 0).dayText }
        let recurrence = try Self.made("FREQ=DAILY", except: past)
        let next = try #require(recurrence.next(after: .zero))
        let skipped = try recurrence.skipping(next)
        #expect(skipped.except.count == 1)
        #expect(Self.days(skipped, 1) == ["2026-12-08"])
    }

    @Test func `a local time has no zone`() throws {
        for text in ["2026-12-07T09:00Z", "2026-12-07T09:00:00Z", "2026-12-07", "2026-12-07T25:00", "9001-01-01T00:00"]
        {
            #expect(throws: InvalidInput.self, "\(text)") { try LocalTime(text, field: "recurrence.start") }
        }
        #expect(try LocalTime("2026-12-07 09:00:30", field: "start").text == "2026-12-07T09:00:30")
    }

    @Test(arguments: [
        "", "Vienna", "europe/vienna", "Europe", "../etc/passwd", "/etc/localtime", "right/UTC", "Europe/", "CEST",
    ])
    func `an unknown zone is refused`(name: String) {
        #expect(throws: InvalidInput.self) { try ZoneInfo(name, field: "recurrence.time_zone") }
    }

    @Test func `an old name without a file has the present one's`() throws {
        #expect(TimeZoneNames.links["Asia/Calcutta"] == "Asia/Kolkata")
        let vienna = try #require(ZoneInfo.file(of: "Europe/Vienna"))
        #expect(ZoneInfo.file(of: "Europe/Old", ["Europe/Old": "Europe/Vienna"]) == vienna)
        #expect(ZoneInfo.named(folded: "us/eastern")?.name == "US/Eastern")
    }

    // MARK: Clocks that change

    @Test(arguments: [
        // A gap from 2 to 3 o'clock, and an overlap.
        ("2027-03-28T02:30", "Europe/Vienna", "2027-03-28T01:00:00.000Z"),
        ("2027-10-31T02:30", "Europe/Vienna", "2027-10-31T00:30:00.000Z"),
        ("2090-03-26T02:30", "Europe/Vienna", "2090-03-26T01:00:00.000Z"),
        ("2027-10-31T01:59:59", "Europe/Vienna", "2027-10-30T23:59:59.000Z"),
        ("2027-03-14T02:00", "America/New_York", "2027-03-14T07:00:00.000Z"),
        ("2027-11-07T01:00", "America/New_York", "2027-11-07T05:00:00.000Z"),
        // Half an hour, an inverse summer, a whole day.
        ("2027-04-04T01:45", "Australia/Lord_Howe", "2027-04-03T14:45:00.000Z"),
        ("2027-07-01T09:00", "Europe/Dublin", "2027-07-01T08:00:00.000Z"),
        ("2011-12-30T09:00", "Pacific/Apia", "2011-12-30T10:00:00.000Z"),
        ("2027-01-01T00:00", "Asia/Kathmandu", "2026-12-31T18:15:00.000Z"),
        ("2027-01-01T00:00", "Etc/GMT+5", "2027-01-01T05:00:00.000Z"),
        ("2027-01-01T00:00", "UTC", "2027-01-01T00:00:00.000Z"),
    ])
    func `gaps end late, overlaps begin early`(local: String, zone: String, expected: String) throws {
        let zone = try ZoneInfo(zone, field: "zone")
        #expect(zone.instant(of: try LocalTime(local, field: "local")).text == expected)
    }

    @Test func `a day the clocks skip is sent once`() throws {
        let recurrence = try Self.made("FREQ=DAILY;COUNT=3", start: "2011-12-29T00:00", "Pacific/Apia")
        #expect(Self.days(recurrence) == ["2011-12-29", "2011-12-31"])
        let later = try Self.made("FREQ=DAILY;COUNT=3", start: "2011-12-29T09:00", "Pacific/Apia")
        #expect(
            later.times(after: .zero, atMost: 9).map { later.zone.local(at: $0).text } == [
                "2011-12-29T09:00", "2011-12-31T00:00", "2011-12-31T09:00",
            ])
        let skipped = try recurrence.skipping(try #require(recurrence.times(after: .zero, atMost: 2).last))
        #expect(Self.days(skipped) == ["2011-12-29"])
    }

    private static let zones = (FileManager.default.subpaths(atPath: "/usr/share/zoneinfo") ?? [])
        .filter { (try? ZoneInfo($0, field: "zone")) != nil }.sorted()

    /// Each zone in one of the years, at a time of day at which clocks change.
    @Test func `each local day has one instant, ascending`() throws {
        #expect(Self.zones.count > 300)
        for (index, name) in Self.zones.enumerated() {
            let zone = try ZoneInfo(name, field: "zone")
            let second = Int64(index % 14) * 900
            let first = RFC3339.days(Int64(1_970 + index * 47 % 141), 1, 1)
            var last = zone.instant(of: LocalTime(day: first - 1, second: second))
            for day in first..<(first + 365) {
                let local = LocalTime(day: day, second: second)
                let instant = zone.instant(of: local)
                check(instant, of: local, after: last, in: zone)
                last = instant
            }
        }
    }

    private func check(_ instant: Instant, of local: LocalTime, after last: Instant, in zone: ZoneInfo) {
        let shown = zone.local(at: instant)
        let before = zone.local(at: instant + .seconds(-1))
        guard shown.seconds == local.seconds else {
            // A gap: the second before shows an earlier time.
            if shown < local || before >= local || instant < last { Issue.record("\(zone.name) \(local.text)") }
            return
        }
        if instant <= last && zone.local(at: last).day == local.day - 1 { Issue.record("\(zone.name) \(local.text)") }
        for minutes in [30, 60, 120] where zone.local(at: instant + .seconds(-60 * minutes)) == local {
            Issue.record("\(zone.name) \(local.text) is shown earlier")
        }
    }
}

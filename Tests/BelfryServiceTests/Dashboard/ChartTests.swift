import Testing

@testable import BelfryService

@Suite struct ChartTests {
    @Test(arguments: [
        (0, 1), (1, 1), (2, 2), (3, 5), (9, 10), (11, 20), (21, 25), (26, 50), (201, 250), (399, 500), (501, 1_000),
        (Int.max, Int.max / 2),
    ])
    func `a chart ends at a round number above its highest`(value: Int, top: Int) {
        #expect(Chart.ceiling(value) == top)
    }

    private func html(_ part: any HTML) -> String {
        var page = HTMLWriter(Shell())
        part.write(to: &page)
        return page.text
    }

    @Test func `a chart says its numbers in titles and a table`() {
        let page = html(
            Chart(
                "Days", series: ["sent", "opened"],
                [.init("2026-01-30", [12_000, 7], previous: 3), .init("2026-01-31", [0, nil])]))
        #expect(page.contains("<title>2026-01-30: sent 12,000; opened 7; period before 3</title>"))
        #expect(page.contains("<title>2026-01-31: sent 0</title>"))
        #expect(page.contains(#"<td data-label="sent" class="number"><span dir="auto">12,000</span> </td>"#))
        #expect(page.contains("<span>20k</span><span>10k</span><span>0</span>"))
        #expect(page.contains(#"<rect class="series0""#) && !page.contains(#"<path class="series0""#))
    }

    @Test func `many points are lines, with gaps`() {
        let columns = (0..<31).map { Chart.Column("\($0)", [$0, $0 == 1 ? nil : 5]) }
        let page = html(Chart("Days", series: ["sent", "opened"], columns))
        #expect(page.contains(#"<path class="series1" d="M5.0 90.0h0M25.0 90.0h0L35.0 90.0"#))
        #expect(!page.contains(#"<rect class="series0""#))
    }

    @Test func `rates have a scale to a hundred percent`() {
        let page = html(Chart("Rates", series: ["opened"], [.init("a", [125]), .init("b", [1_400])], unit: .perMille))
        #expect(page.contains("<span>100 %</span><span>50 %</span><span>0 %</span>"))
        #expect(page.contains("opened 12.5 %") && page.contains("opened 140 %"))
        #expect(page.contains(#"d="M5.0 87.5h0L15.0 0.0""#))
    }

    // MARK: Periods

    @Test func `days are those of the viewer's zone`() throws {
        let zone = try ZoneInfo("Europe/Vienna", field: "")
        let now = try #require(Instant(text: "2026-03-29T10:00:00Z"))
        var counts = PeriodCounts(.week, until: now, in: zone)
        #expect(counts.from.text == "2026-03-22T23:00:00.000Z")
        let buckets = try [
            ("2026-03-28T22:00:00Z", 1), ("2026-03-28T23:00:00Z", 2), ("2026-03-29T09:00:00Z", 4),
            ("2026-03-21T23:00:00Z", 8), ("2026-03-15T22:00:00Z", 16),
        ].map { AnalyticsBucket(start: try #require(Instant(text: $0)), counts: [.sent: $1]) }
        counts.add(buckets, of: Key(1))
        #expect(counts.total(.sent) == 7)
        let page = html(counts.chart([.sent]))
        #expect(page.contains("<title>2026-03-29: sent 6; period before 8</title>"))
        #expect(page.contains("<title>2026-03-28: sent 1; period before 0</title>"))
        let head = "start,sent,joined,opted out,gone,lost otherwise,not delivered,half within ms,99 % within ms\r\n"
        #expect(
            counts.csv([.sent])
                == head + "2026-03-27T23:00:00.000Z,1,0,0,0,0,0,,\r\n2026-03-28T23:00:00.000Z,6,0,0,0,0,0,,\r\n")
    }

    @Test func `a rate is of what was sent then`() throws {
        let now = try #require(Instant(text: "2026-03-29T10:30:00Z"))
        var counts = PeriodCounts(.day, until: now, in: .utc)
        let start = Instant(milliseconds: now.milliseconds - 30 * 60_000)
        counts.add([AnalyticsBucket(start: start, counts: [.sent: 8, .opened: 1])], of: Key(1))
        let page = html(counts.rates())
        #expect(page.contains("<title>10:00: opened of sent 12.5 %</title>"))
        #expect(page.contains("<title>09:00: —</title>"))
        let empty = html(PeriodCounts(.day, until: now, in: .utc).rates())
        #expect(empty == #"<p class="hint">No app has reported a push as opened in this time.</p>"#)
    }

    @Test func `devices are counted back from now`() throws {
        let now = try #require(Instant(text: "2026-03-29T10:30:00Z"))
        var counts = PeriodCounts(.week, until: now, in: .utc)
        var (today, before) = (PlatformActivity(), PlatformActivity())
        today.add(5, .joined)
        today.add(2, .optedOut)
        today.add(1, .gone)
        today.add(3, .failed)
        today.add(9, acceptedWithin: .milliseconds(80))
        before.add(4, .joined)
        counts.add(
            [
                AnalyticsBucket(start: now + .seconds(-1_800), counts: [:], activity: today),
                AnalyticsBucket(start: now + .seconds(-7 * 86_400), counts: [:], activity: before),
            ], of: Key(1))
        let page = counts.activitySections(active: 10, registered: 20).map(html).joined()
        #expect(page.contains("<title>2026-03-29: active devices 10; period before 8</title>"))
        #expect(page.contains("<title>2026-03-28: active devices 8; period before 4</title>"))
        #expect(page.contains("<title>2026-03-29: joined 5; opted out 2; lost 1; period before 4</title>"))
        #expect(page.contains("<title>2026-03-29: accepted 75 %</title>"))
        #expect(page.contains("<title>2026-03-29: half within 50 ms; 99 % within 99 ms</title>"))
        let all = counts.activitySections(active: nil, registered: 20).map(html).joined()
        #expect(all.contains("<title>2026-03-28: devices, inactive included 15; period before 11</title>"))
    }

    @Test func `a platform without answers has no rate`() {
        let counts = PeriodCounts(.day, until: .zero, in: .utc)
        #expect(counts.activitySections(active: 0, registered: 0).count == 1)
    }
}

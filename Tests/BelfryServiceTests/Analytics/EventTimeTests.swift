import FoundationEssentials
import Testing

@testable import BelfryService

@Suite struct EventTimeTests {
    @Test(
        arguments: [
            ("1500000000", 1_500_000_000_000), ("1500000000123", 1_500_000_000_123),
            ("1500000000.25", 1_500_000_000_250),
            ("99999999999", 99_999_999_999_000), ("100000000000", 100_000_000_000), ("1", 1_000), ("0.0004", 0),
        ] as [(String, Int64)])
    func `seconds and milliseconds are told apart by their size`(text: String, milliseconds: Int64) {
        #expect(EventTime.parse(text) == Instant(milliseconds: milliseconds))
    }

    @Test(arguments: ["", "0", "-1", "+1", " 1", "1e9", "0x10", "nan", "inf", ".", "1.2.3", "999999999999999", "١"])
    func `anything else is no time`(text: String) {
        #expect(EventTime.parse(text) == nil)
    }

    @Test(
        arguments: [
            (-86_401_000, nil), (-86_400_000, -86_400_000), (0, 0), (5_000, 0), (86_400_000, 0), (86_400_001, nil),
        ] as [(Int64, Int64?)])
    func `an event counts by its own time, within bounds`(offset: Int64, counted: Int64?) {
        let now = Instant(milliseconds: 1_500_000_000_000)
        let event = AnalyticsEvent(kind: .heartbeat, time: now + .milliseconds(offset), device: .init())
        #expect(event.countedAt(now: now, lateMax: .seconds(86_400)) == counted.map { now + .milliseconds($0) })
    }

    @Test(arguments: [(5_000, 5_000), (0, 0), (-999, 0), (-1_000, nil)] as [(Int64, Int64?)])
    func `a device up to a second behind is on time`(offset: Int64, latency: Int64?) {
        let accepted = Instant(milliseconds: 1_500_000_000_000)
        let event = AnalyticsEvent(kind: .heartbeat, time: accepted + .milliseconds(offset), device: .init())
        #expect(event.latency(since: accepted) == latency.map { .milliseconds($0) })
    }
}

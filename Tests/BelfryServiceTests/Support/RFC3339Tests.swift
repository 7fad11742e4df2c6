import Testing

@testable import BelfryService

@Suite struct RFC3339Tests {
    @Test(arguments: [
        ("1970-01-01T00:00:00Z", 0), ("2023-11-14t22:13:20z", 1_700_000_000_000),
        ("2023-11-14T22:13:20.1239999999999Z", 1_700_000_000_123), ("2023-11-14T22:13:20.5Z", 1_700_000_000_500),
        ("2023-11-15T04:43:20+06:30", 1_700_000_000_000), ("2023-11-13T22:14:20-23:59", 1_700_000_000_000),
        ("2023-11-14T22:13:20-00:00", 1_700_000_000_000), ("2016-12-31T23:59:60Z", 1_483_228_800_000),
        ("2016-12-31T23:59:60.25Z", 1_483_228_800_250), ("1990-12-31T15:59:60-08:00", 662_688_000_000),
        ("2024-02-29T00:00:00Z", 1_709_164_800_000), ("0001-01-01T00:00:00Z", -62_135_596_800_000),
        ("1500-02-28T00:00:00Z", -14_826_758_400_000), ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
        ("1969-12-31T23:59:59.999Z", -1),
    ])
    func `a time is written so that it reads back`(text: String, milliseconds: Int64) {
        let instant = Instant(milliseconds: milliseconds)
        #expect(Instant(text: text) == instant)
        #expect(Instant(text: instant.text) == instant)
    }

    @Test(arguments: [
        ("2026-11-31T00:00:00Z", "its month has no such day"), ("2026-02-29T00:00:00Z", "its month has no such day"),
        ("2100-02-29T00:00:00Z", "its month has no such day"), ("2026-13-01T00:00:00Z", "no year has such a month"),
        ("2026-00-10T00:00:00Z", "no year has such a month"), ("2026-01-00T00:00:00Z", "its month has no such day"),
        ("2026-01-01T99:00:00Z", "no day has such an hour, minute or second"),
        ("2026-01-01T24:00:00Z", "no day has such an hour, minute or second"),
        ("2026-01-01T08:99:00Z", "no day has such an hour, minute or second"),
        ("2026-01-01T08:00:61Z", "no day has such an hour, minute or second"),
        ("2026-01-01T08:00:60Z", "no day has such an hour, minute or second"),
        ("2026-01-01T23:59:60+01:00", "no day has such an hour, minute or second"),
        ("2026-01-01T08:00:00+01:99", "an offset is at most 23:59"),
        ("2026-01-01T08:00:00+24:00", "an offset is at most 23:59"),
        ("2026-01-01T08:00:00+0100", "an offset has hours, a colon and minutes"),
        ("2026-01-01T08:00:00+01", "an offset has hours, a colon and minutes"),
        ("2026-01-01T08:00:00+01 x", "an offset has hours, a colon and minutes"),
        ("2026-01-01T08:00:00Zfoo", "nothing may stand behind the time zone"),
        ("2026-01-01T08:00:00Z ", "nothing may stand behind the time zone"),
        ("2026-01-01T08:00:00+01:000", "nothing may stand behind the time zone"),
        ("2026-01-01T08:00:00", "has no time zone: write 2026-01-01T08:00:00Z for UTC"),
        ("2026-01-01T08:00", "has no time zone: write 2026-01-01T08:00:00Z for UTC"),
        ("0000-01-01T00:00:00Z", "beyond the years 1 to 9999"),
        ("9999-12-31T23:59:60Z", "beyond the years 1 to 9999"),
        ("0001-01-01T00:00:00+00:01", "beyond the years 1 to 9999"),
        ("10000-01-01T00:00:00Z", "has to be a time such as"), ("26-01-01T00:00:00Z", "has to be a time such as"),
        ("2026-1-1T00:00:00Z", "has to be a time such as"), ("2026-01-01 08:00:00Z", "has to be a time such as"),
        ("2026-01-01T08:00:00.Z", "has to be a time such as"), ("2026-01-01T08:00:00,5Z", "has to be a time such as"),
        ("٢٠٢٦-01-01T08:00:00Z", "has to be a time such as"), (" 2026-01-01T08:00:00Z", "has to be a time such as"),
        ("20260101T080000Z", "has to be a time such as"), ("", "has to be a time such as"),
        ("now", "has to be a time such as"),
    ])
    func `an invalid time is refused with an explanation`(text: String, words: String) {
        #expect(Instant(text: text) == nil)
        let error = #expect(throws: InvalidInput.self) { try Instant(text, field: "send_at") }
        #expect(error?.field == "send_at" && error?.problem.contains(words) == true, "\(error as Any)")
    }

    @Test(arguments: [
        ("2026-01-31T08:30", "2026-01-31T08:30:00Z"), ("2026-01-31 08:30", "2026-01-31T08:30:00Z"),
        ("2026-01-31T08:30:15", "2026-01-31T08:30:15Z"), ("2026-01-31T08:30:15.250", "2026-01-31T08:30:15.250Z"),
        ("2026-01-31T08:30:00+01:00", "2026-01-31T07:30:00Z"), ("2026-01-31T08:30Z", nil), ("2026-11-31T08:30", nil),
        ("2026-01-31T08:60", nil), ("12026-01-31T08:30", nil), ("soon", nil),
    ])
    func `a form's time is in UTC`(text: String, expected: String?) throws {
        let read = try? Instant(local: text, field: "send_at")
        #expect(read == expected.flatMap { Instant(text: $0) })
    }

    @Test func `a day is its first moment`() throws {
        #expect(try Instant(day: "2026-01-31", field: "from") == Instant(text: "2026-01-31T00:00:00Z"))
        for text in ["2026-02-31", "2026-1-31", "2026-01-31T00", "31.01.2026", ""] {
            #expect(throws: InvalidInput.self) { try Instant(day: text, field: "from") }
        }
    }

    @Test func `milliseconds end with the year 9999`() throws {
        #expect(try Instant(253_402_300_799_999, field: "time").text == "9999-12-31T23:59:59.999Z")
        for milliseconds in [253_402_300_800_000, .max, .min] as [Int64] {
            #expect(throws: InvalidInput.self) { try Instant(milliseconds, field: "time") }
        }
    }

    @Test func `lists of others write times in more ways`() {
        let expected = Instant(text: "2019-06-11T17:46:59.061Z")
        for text in [
            "2019-06-11 17:46:59.061 UTC", "2019-06-11T18:46:59.061+0100", "2019-06-11T17:46:59.061", "1560275219061",
        ] {
            #expect(ImportTime.read(text) == expected, "\(text)")
        }
        for text in ["2019-06-31 17:46:59", "2019-06-11 17:46:59+0199", "2019-06-11 17:46:59 CET", "\u{301}"] {
            #expect(ImportTime.read(text) == nil, "\(text)")
        }
    }
}

@Suite struct PushTimesTests {
    private static let now = Instant(milliseconds: 1_700_000_000_000)

    @Test(arguments: [(0, true), (-300, true), (-301, false), (1_000_000, true)] as [(Int64, Bool)])
    func `a send time may lie five minutes back`(seconds: Int64, isTaken: Bool) {
        let sendAt = Self.now + .seconds(seconds)
        var fault: InvalidInput?
        do { try PushTimes.check(sendAt: sendAt, now: Self.now) } catch { fault = error }
        #expect((fault == nil) == isTaken)
        if let fault { #expect("\(fault)".contains("send_at is 2023-11-14T22:08:19.000Z, which is over"), "\(fault)") }
    }

    @Test(
        arguments: [(1, nil, true), (0, nil, false), (10, 10, false), (11, 10, true), (5, -5, true)]
            as [(Int64, Int64?, Bool)])
    func `a push expires after it is sent`(expiry: Int64, send: Int64?, isTaken: Bool) {
        let (expiresAt, sendAt) = (Self.now + .seconds(expiry), send.map { Self.now + .seconds($0) })
        #expect(
            ((try? PushTimes.check(expiresAt: expiresAt, sendAt: sendAt, now: Self.now)) != nil) == isTaken)
    }
}

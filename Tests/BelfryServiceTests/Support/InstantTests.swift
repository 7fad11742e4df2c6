import BelfryService
import Testing

@Suite struct InstantTests {
    @Test(
        arguments: [
            (0, .milliseconds(5), 5), (1_000, .seconds(-1), 0), (7, .zero, 7), (0, .microseconds(1_999), 1),
            (.max, .milliseconds(1), .max), (.max - 1, .seconds(1), .max), (.max, .zero, .max),
        ] as [(Int64, Duration, Int64)])
    func `a sum ends at the distant future`(start: Int64, duration: Duration, sum: Int64) {
        #expect(Instant(milliseconds: start) + duration == Instant(milliseconds: sum))
    }

    @Test func `a sum beyond the last time stops there`() {
        #expect(Instant.zero + .seconds(Int64.max) == .distantFuture)
        #expect(Instant.zero + .seconds(Int64.min) < .zero)
    }

    @Test func `a sum in the distant past stays in the past`() {
        #expect(Instant(milliseconds: .min) + .milliseconds(-1) == Instant(milliseconds: .min))
    }

    @Test func `a difference is a duration`() {
        #expect(Instant(milliseconds: 5_000) - Instant(milliseconds: 7_000) == .seconds(-2))
        #expect(Instant.distantFuture - Instant(milliseconds: -1) > .seconds(1))
        #expect(Instant(milliseconds: .min) - .distantFuture < .zero)
    }

    @Test func `instants are in the order of time`() {
        #expect(Instant.zero < Instant(milliseconds: 1))
        #expect(Instant(milliseconds: -1) < .zero)
        #expect(Instant(milliseconds: .max) == .distantFuture)
    }
}

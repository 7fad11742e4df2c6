import BelfryServer
import BelfryService
import Testing

@Suite struct ForwardTimeTests {
    private let start = Instant(milliseconds: 1_700_000_000_000)
    private let steady = ContinuousClock.now

    @Test func `it follows the wall clock, forward leaps too`() {
        var time = ForwardTime(wall: start, steady: steady)
        #expect(time.read(wall: start + .seconds(5), steady: steady + .seconds(5)).now == start + .seconds(5))
        let leap = time.read(wall: start + .seconds(3_600), steady: steady + .seconds(6))
        #expect(leap.now == start + .seconds(3_600) && leap.change == nil)
    }

    @Test func `a clock set back keeps going, says so, and follows`() {
        var time = ForwardTime(wall: start, steady: steady)
        let back = time.read(wall: start + .seconds(-3_590), steady: steady + .seconds(10))
        #expect(back.now == start + .seconds(10))
        #expect(back.change == .wentBack(.seconds(3_600)))
        let later = time.read(wall: start + .seconds(-3_500), steady: steady + .seconds(100))
        #expect(later.now == start + .seconds(55) && later.change == nil)
        let right = time.read(wall: start + .seconds(200), steady: steady + .seconds(200))
        #expect(right.now == start + .seconds(200) && right.change == .caughtUp)
    }

    @Test func `a clock left back is caught up with`() {
        var time = ForwardTime(wall: start, steady: steady)
        let behind = { (seconds: Int) in
            time.read(wall: start + .seconds(seconds - 7_200), steady: steady + .seconds(seconds))
        }
        #expect(behind(0).change == .wentBack(.seconds(7_200)))
        #expect(behind(14_300).now == start + .seconds(7_150))
        let caughtUp = behind(14_400)
        #expect(caughtUp.now == start + .seconds(7_200) && caughtUp.change == .caughtUp)
    }

    @Test func `a little setback is waited out`() {
        var time = ForwardTime(wall: start, steady: steady)
        #expect(time.read(wall: start + .seconds(10), steady: steady + .seconds(10)).now == start + .seconds(10))
        let little = time.read(wall: start + .milliseconds(9_500), steady: steady + .seconds(10))
        #expect(little.now == start + .seconds(10) && little.change == nil)
        #expect(
            time.read(wall: start + .seconds(11), steady: steady + .milliseconds(11_500)).now == start + .seconds(11))
    }

    @Test func `ten thousand readings in two seconds advance one second`() {
        var time = ForwardTime(wall: start, steady: steady)
        _ = time.read(wall: start + .seconds(-3_600), steady: steady)
        var now = start
        for step in 1...10_000 {
            now = time.read(wall: start + .seconds(-3_600), steady: steady + .microseconds(200 * step)).now
        }
        #expect(now == start + .seconds(1))
    }
}

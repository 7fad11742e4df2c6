import BelfryService
import BelfryTesting
import Testing

@Suite struct TokenBucketTests {
    private static let start = Instant(milliseconds: 1_000_000)

    @Test func `a burst passes, and the next request waits one token`() {
        let limit = RateLimit(perSecond: 3, burst: 5)
        var bucket = TokenBucket(limit, at: Self.start)
        for _ in 0..<5 { #expect(bucket.take(under: limit, at: Self.start) == nil) }
        #expect(bucket.take(under: limit, at: Self.start) == .milliseconds(334))
        #expect(bucket.take(under: limit, at: Self.start + .milliseconds(333)) == .milliseconds(1))
        #expect(bucket.take(under: limit, at: Self.start + .milliseconds(334)) == nil)
    }

    @Test(arguments: [(1, 1), (3, 7), (999, 1), (1_000_000, 1_000_000), (1, 1_000_000), (7, 50)])
    func `over time only burst plus rate may pass`(perSecond: Int, burst: Int) {
        let limit = RateLimit(perSecond: perSecond, burst: burst)
        var bucket = TokenBucket(limit, at: Self.start)
        var dice = SplitMix64(seed: UInt64(perSecond))
        var now = Self.start
        var passed = 0
        for _ in 0..<20_000 {
            now = now + .milliseconds(Int64(dice.next() % 20))
            if bucket.take(under: limit, at: now) == nil { passed += 1 }
            let elapsed = (now - Self.start).milliseconds
            #expect(Int64(passed) * 1_000 <= Int64(burst) * 1_000 + elapsed * Int64(perSecond))
        }
    }

    @Test func `a caller that waits as told is admitted`() {
        let limit = RateLimit(perSecond: 7, burst: 1)
        var bucket = TokenBucket(limit, at: Self.start)
        var now = Self.start
        for _ in 0..<100 {
            if let wait = bucket.take(under: limit, at: now) {
                now = now + wait
                #expect(bucket.take(under: limit, at: now) == nil)
            }
        }
    }

    @Test func `a clock jump neither gives nor takes beyond the burst`() {
        let limit = RateLimit(perSecond: 10, burst: 2)
        var bucket = TokenBucket(limit, at: Self.start)
        #expect(bucket.take(under: limit, at: Self.start + .seconds(-3_600)) == nil)
        #expect(bucket.take(under: limit, at: Self.start + .seconds(-3_600)) == nil)
        #expect(bucket.take(under: limit, at: Self.start + .seconds(-3_600)) == .milliseconds(100))
        for _ in 0..<2 { #expect(bucket.take(under: limit, at: .distantFuture) == nil) }
        #expect(bucket.take(under: limit, at: .distantFuture) != nil)
    }
}

@Suite struct GenerationsTests {
    @Test func `recent keys are remembered within bounded memory`() {
        var known = BoundedCache<Int, Int>(countMax: 100)
        for number in 0..<10_000 {
            known.set(number, for: number)
            known.set(-1, for: -1)
            #expect(known.count <= 100)
            #expect(known.value(for: -1) == -1)
            #expect(known.value(for: max(0, number - 40)) == max(0, number - 40))
        }
        #expect(known.value(for: 0) == nil)
        known.remove(-1)
        #expect(known.value(for: -1) == nil)
    }
}

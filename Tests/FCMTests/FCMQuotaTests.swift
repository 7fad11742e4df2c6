import Synchronization
import Testing

@testable import FCM
@testable import HTTP2Client

@Suite struct QuotaBucketTests {
    @Test func `a second's worth goes at once and the rest waits`() {
        var bucket = QuotaBucket(perMinute: 6_000, now: .zero)
        #expect(bucket.take(100, at: .zero, within: .seconds(10)) == .init(taken: 100, wait: .zero))
        #expect(bucket.take(50, at: .zero, within: .seconds(10)) == .init(taken: 50, wait: .milliseconds(500)))
        #expect(bucket.take(100, at: .zero, within: .seconds(10)) == .init(taken: 100, wait: .milliseconds(1_500)))
        #expect(bucket.take(50, at: .seconds(1), within: .seconds(10)) == .init(taken: 50, wait: .seconds(1)))
    }

    @Test func `a send takes what fits within its deadline`() {
        var bucket = QuotaBucket(perMinute: 60, now: .zero)
        #expect(bucket.take(21, at: .zero, within: .seconds(10)) == .init(taken: 11, wait: .seconds(10)))
        #expect(bucket.take(10, at: .zero, within: .seconds(10)).taken == 0)
        #expect(bucket.wait(for: 1, at: .zero) == .seconds(11))
        #expect(bucket.take(10, at: .seconds(11), within: .zero) == .init(taken: 1, wait: .zero))
    }

    @Test(arguments: [1, 30, 60, 1_000, 1_800])
    func `a full batch goes out at any rate`(perMinute: Int) {
        var bucket = QuotaBucket(perMinute: perMinute, now: .zero)
        var (now, left) = (Duration.zero, 500)
        for _ in 0..<500 where left > 0 {
            now += bucket.wait(for: 1, at: now)
            let step = bucket.take(left, at: now, within: .seconds(15))
            left -= step.taken
            now += step.wait
        }
        #expect(left == 0)
        // As fast as the quota allows, and no faster.
        let seconds = Double(500 - max(1, perMinute / 60)) / (Double(perMinute) / 60)
        let took = now / .seconds(1)
        #expect(abs(took - seconds) < 1 + seconds / 100, "\(now)")
    }

    @Test func `a minute takes at most quota plus one second's worth`() {
        var bucket = QuotaBucket(perMinute: 600, now: .zero)
        var (now, sent) = (Duration.zero, 0)
        while true {
            now += bucket.take(7, at: now, within: .seconds(100)).wait
            if now >= .seconds(60) { break }
            sent += 7
        }
        #expect(580...617 ~= sent, "\(sent)")
    }

    @Test func `a pause holds everything back and leaves no room`() {
        var bucket = QuotaBucket(perMinute: 60_000, now: .zero)
        bucket.pause(until: .seconds(30))
        #expect(bucket.room(at: .seconds(1)) == 0)
        #expect(bucket.take(1, at: .seconds(1), within: .seconds(10)).taken == 0)
        #expect(bucket.wait(for: 1, at: .seconds(1)) == .seconds(29))
        #expect(bucket.take(1, at: .seconds(25), within: .seconds(10)) == .init(taken: 1, wait: .seconds(5)))
        #expect(bucket.room(at: .seconds(30)) > 0)
    }

    @Test func `room is what would leave within a second`() {
        var bucket = QuotaBucket(perMinute: 6_000, now: .zero)
        #expect(bucket.room(at: .zero) == 200)
        _ = bucket.take(250, at: .zero, within: .seconds(10))
        #expect(bucket.room(at: .zero) == 0)
        #expect(bucket.room(at: .seconds(2)) == 150)
    }

    @Test func `a changed quota keeps usage and saves one second's worth`() {
        var bucket = QuotaBucket(perMinute: 6_000, now: .zero)
        #expect(bucket.take(150, at: .zero, within: .seconds(10)) == .init(taken: 150, wait: .milliseconds(500)))
        bucket.change(perMinute: 3_000, at: .zero)
        #expect(bucket.take(50, at: .zero, within: .seconds(10)) == .init(taken: 50, wait: .seconds(2)))
        #expect(bucket.room(at: .seconds(60)) == 100)
        bucket.change(perMinute: 6_000, at: .seconds(60))
        #expect(bucket.room(at: .seconds(60)) == 150)
        #expect(bucket.room(at: .seconds(61)) == 200)
    }

    @Test func `a batch sleeps for its turn`() async {
        let slept = Mutex<[Duration]>([])
        let quota = FCMQuota(perMinute: 60, now: { .zero }, sleep: { wait in slept.withLock { $0.append(wait) } })
        #expect(await quota.take(1, within: .seconds(10)).taken == 1)
        #expect(await quota.take(2, within: .seconds(10)).taken == 2)
        let late = await quota.take(20, within: .seconds(1))
        #expect(late.taken == 0 && late.rest == .seconds(3))
        #expect(slept.withLock(\.self) == [.seconds(2)])
    }
}

@Suite struct FCMBackOffTests {
    private static func tired(_ retryAfter: Duration?) -> FCMAnswer {
        .rejected(FCMRejection(status: 429, code: .quotaExceeded, retryAfter: retryAfter))
    }
    private static let taken = FCMAnswer.accepted(FCMReceipt(body: []))

    @Test func `the project waits when most devices are told to`() {
        #expect(
            FCMBackOff.pause(after: [Self.tired(.seconds(5)), Self.tired(.seconds(9)), Self.taken]) == .seconds(9))
        #expect(FCMBackOff.pause(after: [Self.tired(nil), Self.tired(nil)]) == .seconds(60))
        #expect(FCMBackOff.pause(after: [Self.tired(.seconds(5)), Self.taken, Self.taken]) == nil)
        #expect(FCMBackOff.pause(after: [Self.tired(.seconds(5))]) == nil)
        #expect(FCMBackOff.pause(after: []) == nil)
    }
}

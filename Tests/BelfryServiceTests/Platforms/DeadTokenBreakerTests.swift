import Testing

@testable import BelfryService

@Suite struct DeadTokenBreakerTests {
    private func batch(dead: Int, of count: Int, skipped: Int = 0) -> Settlement {
        let batch = Batch.sample(Array(repeating: .pending, count: count + skipped))
        let answers =
            Array(repeating: Answer.gone, count: dead) + Array(repeating: .accepted, count: count - dead)
            + Array(repeating: .skipped(.inactive), count: skipped)
        return Settlement(
            batch: batch, answers: answers, retryAt: nil,
            deadTokens: batch.devices.prefix(dead).map { Settlement.DeadToken(device: $0, since: .zero) })
    }

    @Test func `few answers prove nothing`() {
        var watch = DeadTokenBreaker(shareMax: 0.2, answersMin: 100)
        #expect(watch.observe(batch(dead: 99, of: 99)) == nil)
    }

    @Test func `a wave beyond the share is told in words`() {
        var watch = DeadTokenBreaker(shareMax: 0.2, answersMin: 100)
        #expect(
            watch.observe(batch(dead: 21, of: 100))
                == "21 of the last 100 devices were declared dead, the limit is 20 %"
        )
    }

    @Test func `the share itself is still believed`() {
        var watch = DeadTokenBreaker(shareMax: 0.2, answersMin: 100)
        #expect(watch.observe(batch(dead: 20, of: 100)) == nil)
    }

    @Test func `a wave adds up over batches`() {
        var watch = DeadTokenBreaker(shareMax: 0.2, answersMin: 100)
        let words = (0..<4).compactMap { _ in watch.observe(batch(dead: 15, of: 30)) }
        #expect(words.count == 1)
    }

    @Test func `devices not sent to do not dilute the share`() {
        var watch = DeadTokenBreaker(shareMax: 0.2, answersMin: 100)
        #expect(watch.observe(batch(dead: 50, of: 100, skipped: 1_000)) != nil)
    }

    @Test func `after a warning the count begins anew`() {
        var watch = DeadTokenBreaker(shareMax: 0.2, answersMin: 100)
        #expect(watch.observe(batch(dead: 100, of: 100)) != nil)
        #expect(watch.observe(batch(dead: 99, of: 99)) == nil)
    }

    @Test func `batches under way park too; another version counts anew`() {
        let breakers = DeadTokenBreakers(prototype: DeadTokenBreaker(shareMax: 0.2, answersMin: 100))
        func isBelieved(dead: Int, of count: Int, version: Int64, claimedAt: Int64 = 0, at now: Int64 = 0) -> Bool {
            breakers.observe(
                batch(dead: dead, of: count), on: .sample(version: version),
                claimedAt: Instant(milliseconds: claimedAt), at: Instant(milliseconds: now)
            ).parkRequest == nil
        }
        #expect(isBelieved(dead: 99, of: 99, version: 1))
        #expect(isBelieved(dead: 0, of: 100, version: 2), "they are other credentials")
        #expect(!isBelieved(dead: 60, of: 100, version: 2, at: 5))
        #expect(!isBelieved(dead: 30, of: 30, version: 2, claimedAt: 5, at: 9), "it was under way")
        #expect(isBelieved(dead: 10, of: 10, version: 2, claimedAt: 6, at: 9))
        #expect(isBelieved(dead: 0, of: 100, version: 2, claimedAt: 6, at: 9), "nothing under way was counted")
        #expect(isBelieved(dead: 0, of: 100, version: 3, claimedAt: 10, at: 12))
        #expect(!isBelieved(dead: 30, of: 30, version: 2, claimedAt: 5, at: 13), "it still is")
    }

    @Test func `a long good past does not hide a wave`() {
        var watch = DeadTokenBreaker(shareMax: 0.2, answersMin: 100)
        for _ in 0..<1_000 { #expect(watch.observe(batch(dead: 0, of: 100)) == nil) }
        let batches = (1...10).first { _ in watch.observe(batch(dead: 100, of: 100)) != nil }
        #expect(batches == 1)
    }
}

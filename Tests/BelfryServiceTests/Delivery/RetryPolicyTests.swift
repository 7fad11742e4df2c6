import BelfryService
import FoundationEssentials
import Testing

@Suite struct RetryPolicyTests {
    private let policy = RetryPolicy(firstDelay: .seconds(2), longestDelay: .seconds(60), window: .seconds(3_600))

    @Test(arguments: [
        (1, 2), (2, 4), (3, 8), (4, 16), (5, 32), (6, 60), (7, 60), (1_000, 60), (Int64.max, 60), (0, 2), (-3, 2),
    ])
    func `each wait doubles up to the longest`(attempt: Int64, seconds: Int) {
        #expect(policy.delay(after: attempt, asked: nil, jitter: 0) == .seconds(seconds))
    }

    @Test func `a provider's own figure is never undercut`() {
        #expect(policy.delay(after: 1, asked: .seconds(30), jitter: 0) == .seconds(30))
        #expect(policy.delay(after: 1, asked: .seconds(7_200), jitter: 0) == .seconds(7_200))
        #expect(policy.delay(after: 5, asked: .seconds(1), jitter: 0) == .seconds(32))
        #expect(policy.delay(after: 1, asked: .seconds(-5), jitter: 0) == .seconds(2))
    }

    @Test(arguments: [0.0, 0.25, 0.5, 0.999]) func `chance adds a quarter of the wait at most`(jitter: Double) {
        let wait = policy.delay(after: 4, asked: nil, jitter: jitter)
        #expect((Duration.seconds(16)...Duration.seconds(20)).contains(wait))
    }

    @Test func `a provider's absurd figure is a long wait`() {
        let wait = policy.delay(after: 1, asked: .seconds(Int64.max), jitter: 0.999)
        #expect(Instant(milliseconds: 1_700_000_000_000) + wait == .distantFuture)
    }

    @Test func `a push ends at its expiry or retry window`() {
        let accepted = Instant(milliseconds: 1_000)
        #expect(
            policy.end(of: .sample(acceptedAt: accepted, expiresAt: Instant(milliseconds: 5)))
                == Instant(milliseconds: 5))
        #expect(policy.end(of: .sample(acceptedAt: accepted)) == Instant(milliseconds: 3_601_000))
    }
}

import Synchronization
import Testing

@testable import HTTPExchange

@Suite struct AccessTokenScheduleTests {
    private static func grant(_ token: String, _ seconds: Int = 3_600) -> Result<AccessGrant, AccessTokenError> {
        .success(AccessGrant(token: token, lifetime: .seconds(seconds)))
    }
    private static let down = AccessTokenError(isRefusal: false, "down")

    @Test func `a token is used until five minutes before its end, and then fetched by one while others use it`() {
        var schedule = AccessTokenSchedule()
        #expect(schedule.ask(at: .zero) == .fetch)
        #expect(schedule.ask(at: .zero) == .wait)
        #expect(schedule.fetched(Self.grant("a"), at: .zero) == .use("a", generation: 1))
        #expect(schedule.ask(at: .seconds(3_299)) == .use("a", generation: 1))
        #expect(schedule.ask(at: .seconds(3_300)) == .fetch)
        #expect(schedule.ask(at: .seconds(3_301)) == .use("a", generation: 1))
        #expect(schedule.fetched(Self.grant("b"), at: .seconds(3_302)) == .use("b", generation: 2))
        #expect(schedule.ask(at: .seconds(3_303)) == .use("b", generation: 2))
    }

    @Test func `a refresh that fails leaves the old token in use until it ends, and is tried after a growing wait`() {
        var schedule = AccessTokenSchedule()
        _ = schedule.ask(at: .zero)
        _ = schedule.fetched(Self.grant("a"), at: .zero)
        #expect(schedule.ask(at: .seconds(3_300)) == .fetch)
        #expect(schedule.fetched(.failure(Self.down), at: .seconds(3_300)) == .use("a", generation: 1))
        #expect(schedule.ask(at: .milliseconds(3_300_500)) == .use("a", generation: 1))
        #expect(schedule.ask(at: .seconds(3_301)) == .fetch)
        #expect(schedule.fetched(.failure(Self.down), at: .seconds(3_595)) == .fail(Self.down))
        #expect(schedule.ask(at: .seconds(3_596)) == .fail(Self.down))
        #expect(schedule.ask(at: .seconds(3_597)) == .fetch)
    }

    @Test func `a server that names its figure is given it`() {
        var schedule = AccessTokenSchedule()
        _ = schedule.ask(at: .zero)
        let tired = AccessTokenError(isRefusal: false, "429", retryAfter: .seconds(40))
        _ = schedule.fetched(.failure(tired), at: .zero)
        #expect(schedule.ask(at: .seconds(39)) == .fail(tired))
        #expect(schedule.ask(at: .seconds(40)) == .fetch)
    }

    @Test func `of many answers that refuse one token the first replaces it`() {
        var schedule = AccessTokenSchedule()
        _ = schedule.ask(at: .zero)
        _ = schedule.fetched(Self.grant("a"), at: .zero)
        for _ in 0..<3 { schedule.reject(1) }
        #expect(schedule.ask(at: .zero) == .fetch)
        _ = schedule.fetched(Self.grant("b"), at: .zero)
        schedule.reject(1)
        #expect(schedule.ask(at: .zero) == .use("b", generation: 2))
    }

    @Test func `a token that lives short is used for most of its life`() {
        var schedule = AccessTokenSchedule()
        _ = schedule.ask(at: .zero)
        _ = schedule.fetched(Self.grant("a", 20), at: .zero)
        #expect(schedule.ask(at: .seconds(14)) == .use("a", generation: 1))
        #expect(schedule.ask(at: .seconds(15)) == .fetch)
        #expect(schedule.fetched(Self.grant("b", 0), at: .seconds(15)) == .use("b", generation: 2))
        #expect(schedule.ask(at: .seconds(15)) == .fetch)
    }
}

@Suite struct AccessTokenTests {
    @Test func `a hundred that need a token at once cause one request`() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let fetches = Mutex(0)
        let token = AccessToken(now: { .zero }) {
            fetches.withLock { $0 += 1 }
            for await _ in gate { break }
            return .success(AccessGrant(token: "a", lifetime: .seconds(3_600)))
        }
        let tokens = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<100 { group.addTask { try await token.current().token } }
            open.yield()
            open.finish()
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(tokens == ["a"])
        #expect(fetches.withLock(\.self) == 1)
    }

    @Test func `all that wait learn of a refusal`() async {
        let refusal = AccessTokenError(isRefusal: true, "invalid_grant")
        let fetches = Mutex(0)
        let token = AccessToken(now: { .zero }) {
            fetches.withLock { $0 += 1 }
            return .failure(refusal)
        }
        for _ in 0..<3 {
            await #expect(throws: refusal) { _ = try await token.current() }
        }
        #expect(fetches.withLock(\.self) == 1)
    }
}

@Suite struct RetryAfterTests {
    @Test(arguments: [
        ("120", Duration.seconds(120)), ("0", .zero), ("99999999", .seconds(86_400)),
        ("99999999999999999999", .seconds(86_400)), ("Sun, 06 Nov 1994 08:49:37 GMT", .seconds(37)),
        ("Sun, 06 Nov 1994 08:00:00 GMT", .zero), ("Sun, 06 Nov 1994 08:49:37", nil), ("-1", nil), ("", nil),
        ("1.5", nil),
        ("soon", nil), ("Sun, 06 Nov 1994 08:49:xx GMT", nil), ("Sun, 06 Foo 1994 08:49:37 GMT", nil),
        ("Tue, 29 Feb 2028 00:00:00 GMT", .seconds(86_400)),
    ])
    func `seconds and dates are read, all else is nothing`(text: String, wait: Duration?) {
        // Source: RFC 9110 §5.6.7, 784,111,777 is the date of its example.
        #expect(RetryAfter.duration(text, now: 784_111_740) == wait)
    }

    @Test func `dates after a leap day are right`() {
        #expect(RetryAfter.duration("Wed, 01 Mar 2028 00:00:10 GMT", now: 1_835_481_600) == .seconds(10))
    }
}

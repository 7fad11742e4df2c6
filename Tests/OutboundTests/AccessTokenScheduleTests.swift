import Testing

@testable import Outbound

@Suite struct AccessTokenScheduleTests {
    private static func grant(_ token: String, _ seconds: Int = 3_600) -> Result<AccessGrant, AccessTokenError> {
        .success(AccessGrant(token: token, lifetime: .seconds(seconds)))
    }
    private static let down = AccessTokenError(isRefusal: false, "down")

    @Test func `a token is refreshed by one caller five minutes early`() {
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

    @Test func `a failed refresh keeps the old token and backs off`() {
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

    @Test func `a server that asks for hours is asked sooner`() {
        var schedule = AccessTokenSchedule()
        _ = schedule.ask(at: .zero)
        let closed = AccessTokenError(isRefusal: false, "503", retryAfter: .seconds(43_200))
        _ = schedule.fetched(.failure(closed), at: .zero)
        #expect(schedule.ask(at: .seconds(599)) == .fail(closed))
        #expect(schedule.ask(at: .seconds(600)) == .fetch)
    }

    @Test func `many refusals of one token replace it once`() {
        var schedule = AccessTokenSchedule()
        _ = schedule.ask(at: .zero)
        _ = schedule.fetched(Self.grant("a"), at: .zero)
        for _ in 0..<3 { schedule.reject(1) }
        #expect(schedule.ask(at: .zero) == .fetch)
        _ = schedule.fetched(Self.grant("b"), at: .zero)
        schedule.reject(1)
        #expect(schedule.ask(at: .zero) == .use("b", generation: 2))
    }

    @Test func `a short-lived token is used most of its life`() {
        var schedule = AccessTokenSchedule()
        _ = schedule.ask(at: .zero)
        _ = schedule.fetched(Self.grant("a", 20), at: .zero)
        #expect(schedule.ask(at: .seconds(14)) == .use("a", generation: 1))
        #expect(schedule.ask(at: .seconds(15)) == .fetch)
        #expect(schedule.fetched(Self.grant("b", 0), at: .seconds(15)) == .use("b", generation: 2))
        #expect(schedule.ask(at: .seconds(15)) == .fetch)
    }
}

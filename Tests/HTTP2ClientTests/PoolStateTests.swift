import Testing

@testable import HTTP2Client

@Suite struct PoolStateTests {
    private let configuration = HTTP2PoolConfiguration()

    private func waiter(_ number: Int, count: Int = 10, urgent: Bool = false, lapsesAt: Duration = .seconds(30))
        -> PoolState.Waiter
    {
        PoolState.Waiter(number: number, count: count, isUrgent: urgent, lapsesAt: lapsesAt)
    }

    private func id(_ number: Int) -> PoolState.ID { PoolState.ID(number: number) }

    /// A pool with one open connection of 100 streams that has proven itself.
    private func warm(_ configuration: HTTP2PoolConfiguration? = nil) -> PoolState {
        var state = PoolState(configuration: configuration ?? self.configuration)
        _ = state.ask(waiter(0, count: 0), at: .zero)
        _ = state.opened(id(1), at: .zero)
        state.limited(id(1), to: 100)
        state.proven(id(1))
        return state
    }

    private let refused = HTTP2ConnectError(code: .unreachable, reason: "refused")

    @Test func `the first work opens a connection and uses it`() {
        var state = PoolState(configuration: configuration)
        #expect(state.ask(waiter(1), at: .zero) == (.wait, [.open(id(1))]))
        #expect(state.ask(waiter(2, urgent: true), at: .zero) == (.wait, []), "one opens at a time")
        #expect(
            state.opened(id(1), at: .zero) == [
                .resume(waiter: 2, with: .use(id(1))), .resume(waiter: 1, with: .use(id(1))),
            ])
    }

    @Test func `a pool with less patience than its back-off refuses work`() {
        var configuration = configuration
        configuration.outlastsBackOff = false
        var state = PoolState(configuration: configuration)
        _ = state.ask(waiter(1), at: .zero)
        #expect(
            state.failed(id(1), refused, at: .zero, chance: 0) == [
                .resume(waiter: 1, with: .refuse(HTTP2Fault(.connectFailed)))
            ])
        #expect(state.ask(waiter(2), at: .milliseconds(100)) == (.refuse(HTTP2Fault(.circuitOpen)), []))
        #expect(state.ask(waiter(3), at: .seconds(1)) == (.wait, [.open(id(2))]))
    }

    @Test func `an unused connection can be closed at once`() {
        var state = warm()
        _ = state.ask(waiter(1), at: .zero)
        #expect(state.closeIdle() == [])
        state.gaveBack(id(1), count: 10, at: .seconds(1))
        #expect(state.closeIdle() == [.drain(id(1))])
    }

    @Test func `waiting work opens connections, spaced and bounded`() {
        var configuration = configuration
        configuration.connectionsMax = 2
        var state = warm(configuration)
        #expect(state.ask(waiter(1, count: 100), at: .seconds(1)) == (.use(id(1)), []))
        #expect(state.ask(waiter(2, count: 1), at: .milliseconds(100)) == (.use(id(1)), []), "too soon")
        #expect(state.ask(waiter(3, count: 1), at: .seconds(1)) == (.use(id(1)), [.open(id(2))]))
        #expect(state.opened(id(2), at: .seconds(1)) == [])
        #expect(state.ask(waiter(4, count: 500), at: .seconds(2)) == (.use(id(2)), []), "two are the limit")
    }

    @Test func `work that keeps waiting opens another connection without being asked`() {
        var state = warm()
        _ = state.ask(waiter(1, count: 101), at: .zero)
        #expect(state.tick(at: .milliseconds(250)) == [])
        #expect(state.tick(at: .milliseconds(500)) == [.open(id(2))])
        #expect(state.tick(at: .milliseconds(750)) == [], "one opens at a time")
        _ = state.opened(id(2), at: .seconds(1))
        #expect(state.tick(at: .seconds(2)) == [], "the new one has streams to spare")
    }

    @Test func `an unproven connection gets little`() {
        var configuration = configuration
        configuration.connection.initialStreamLimit = 1
        var state = warm(configuration)
        _ = state.ask(waiter(1, count: 150), at: .seconds(1))
        _ = state.opened(id(2), at: .seconds(1))
        #expect(state.ask(waiter(2, count: 10), at: .seconds(1)).0 == .use(id(2)))
        #expect(state.ask(waiter(3, count: 10), at: .seconds(1)).0 == .use(id(1)))
        state.proven(id(2))
        #expect(state.ask(waiter(4, count: 10), at: .seconds(1)).0 == .use(id(2)))
    }

    @Test func `the first of several connections is for urgent work`() {
        var state = warm()
        _ = state.ask(waiter(1, count: 150), at: .seconds(1))
        #expect(state.ask(waiter(2, urgent: true), at: .seconds(1)).0 == .use(id(1)), "there is no other")
        _ = state.opened(id(2), at: .seconds(1))
        state.proven(id(2))
        state.limited(id(2), to: 100)
        state.gaveBack(id(1), count: 160, at: .seconds(1))
        for number in 3...5 {
            #expect(state.ask(waiter(number, count: 40), at: .seconds(1)).0 == .use(id(2)))
        }
        #expect(state.ask(waiter(6, urgent: true), at: .seconds(1)).0 == .use(id(1)))
        #expect(state.tick(at: .seconds(2)) == [.open(id(3))], "the others are full")
    }

    @Test func `a lost connection for urgent work is replaced as such`() {
        var state = warm()
        _ = state.ask(waiter(1, count: 150), at: .seconds(1))
        _ = state.opened(id(2), at: .seconds(1))
        state.proven(id(2))
        #expect(state.members.map(\.isForUrgent) == [true, false])
        _ = state.closed(id(1), .closed, at: .seconds(2), chance: 0)
        #expect(state.ask(waiter(2, urgent: true), at: .seconds(2)).0 == .use(id(2)), "there is no other")
        #expect(state.ask(waiter(3, count: 2_000), at: .seconds(2)).1 == [.open(id(3))])
        #expect(state.members.map(\.id) == [id(3), id(2)])
        #expect(state.members.map(\.isForUrgent) == [true, false])
        _ = state.opened(id(3), at: .seconds(3))
        #expect(state.ask(waiter(4), at: .seconds(3)).0 == .use(id(2)))
        #expect(state.ask(waiter(5, urgent: true), at: .seconds(3)).0 == .use(id(3)))
    }

    @Test func `room is one window in flight and one waiting`() {
        var state = PoolState(configuration: configuration)
        #expect(state.room(at: .zero) == 1_000)
        state = warm()
        #expect(state.room(at: .zero) == 200)
        _ = state.ask(waiter(1, count: 150), at: .zero)
        #expect(state.room(at: .zero) == 50)
        state.gaveBack(id(1), count: 150, at: .zero)
        #expect(state.room(at: .zero) == 200)
    }

    @Test func `a failed connect prevents attempts until the back-off ends`() {
        var state = PoolState(configuration: configuration)
        _ = state.ask(waiter(1, lapsesAt: .milliseconds(500)), at: .zero)
        _ = state.ask(waiter(2), at: .zero)
        #expect(
            state.failed(id(1), refused, at: .zero, chance: 0.5)
                == [.resume(waiter: 1, with: .refuse(HTTP2Fault(.connectFailed)))],
            "who cannot wait for the next attempt is told now")
        #expect(state.room(at: .zero) == 0)
        #expect(state.tick(at: .milliseconds(700)) == [])
        #expect(
            state.ask(waiter(3, lapsesAt: .milliseconds(740)), at: .milliseconds(700)).0
                == .refuse(HTTP2Fault(.circuitOpen)))
        #expect(state.tick(at: .milliseconds(750)) == [.open(id(2))])
        #expect(state.room(at: .milliseconds(750)) > 0)
    }

    @Test func `refused credentials reach all waiters until the next attempt`() {
        var state = PoolState(configuration: configuration)
        _ = state.ask(waiter(1), at: .zero)
        let error = HTTP2ConnectError(code: .tlsRefused, reason: "CERTIFICATE_REVOKED")
        #expect(
            state.failed(id(1), error, at: .zero, chance: 0)
                == [.resume(waiter: 1, with: .refuse(HTTP2Fault(.tlsRefused)))])
        #expect(state.ask(waiter(2, lapsesAt: .milliseconds(1)), at: .zero).0 == .refuse(HTTP2Fault(.tlsRefused)))
    }

    @Test func `a connection ending unproven counts as failed`() {
        var state = PoolState(configuration: configuration)
        _ = state.ask(waiter(1), at: .zero)
        _ = state.opened(id(1), at: .zero)
        let goAway = HTTP2Ending.goAway(errorCode: 0, debugData: [])
        state.draining(id(1))
        #expect(state.closed(id(1), goAway, at: .zero, chance: 0) == [])
        #expect(state.backOff.failures == 1)
        #expect(state.ask(waiter(2), at: .zero) == (.wait, []))
        var proven = warm()
        _ = proven.closed(id(1), goAway, at: .zero, chance: 0)
        #expect(proven.ask(waiter(3), at: .zero) == (.wait, [.open(id(2))]), "one that worked is replaced at once")
    }

    @Test func `a connection that ends refuses no waiters of another`() {
        var configuration = configuration
        configuration.outlastsBackOff = false
        var state = PoolState(configuration: configuration)
        _ = state.ask(waiter(1), at: .zero)
        _ = state.opened(id(1), at: .zero)
        state.draining(id(1))
        #expect(state.ask(waiter(2), at: .zero) == (.wait, [.open(id(2))]))
        let goAway = HTTP2Ending.goAway(errorCode: 0, debugData: [])
        #expect(state.closed(id(1), goAway, at: .zero, chance: 0) == [])
        #expect(state.backOff.failures == 1)
        #expect(state.opened(id(2), at: .zero) == [.resume(waiter: 2, with: .use(id(2)))])
    }

    @Test func `idle connections are closed, the last one much later`() {
        var state = warm()
        _ = state.ask(waiter(1, count: 101), at: .seconds(1))
        _ = state.opened(id(2), at: .seconds(1))
        #expect(state.tick(at: .seconds(700)) == [.drain(id(2))], "the other one is at work")
        state.gaveBack(id(1), count: 101, at: .seconds(700))
        #expect(state.tick(at: .seconds(5_000)) == [])
        #expect(state.tick(at: .seconds(90_000)) == [.drain(id(1))])
    }

    @Test func `waiters lapse and can be cancelled`() {
        var state = PoolState(configuration: configuration)
        _ = state.ask(waiter(1, lapsesAt: .seconds(1)), at: .zero)
        _ = state.ask(waiter(2), at: .zero)
        #expect(state.tick(at: .seconds(1)) == [.resume(waiter: 1, with: .refuse(HTTP2Fault(.deadline)))])
        #expect(state.cancel(waiter: 2) == [.resume(waiter: 2, with: .refuse(HTTP2Fault(.cancelled)))])
        #expect(state.cancel(waiter: 2) == [])
        #expect(state.opened(id(1), at: .seconds(2)) == [])
    }

    @Test func `a shut pool takes nothing and drops late connections`() {
        var state = warm()
        _ = state.ask(waiter(1, count: 101), at: .seconds(1))
        #expect(state.shut() == [.drain(id(1))])
        #expect(state.ask(waiter(2), at: .seconds(2)) == (.refuse(HTTP2Fault(.closing)), []))
        #expect(state.opened(id(2), at: .seconds(2)) == [.drain(id(2))])
        #expect(state.room(at: .seconds(2)) == 0)
    }

    @Test func `back-off doubles from one second to a minute, jittered`() {
        var backOff = BackOff(first: .seconds(1), longest: .seconds(60))
        var waits: [Duration] = []
        for _ in 0..<8 {
            backOff.failed(at: .zero, chance: 0)
            waits.append(backOff.nextAt)
        }
        #expect(waits == [0.5, 1, 2, 4, 8, 16, 30, 30].map { .seconds($0) })
        backOff.failed(at: .zero, chance: 0.999)
        #expect(backOff.nextAt > .seconds(59))
        backOff.succeeded()
        #expect(backOff.allows(at: .zero))
    }
}

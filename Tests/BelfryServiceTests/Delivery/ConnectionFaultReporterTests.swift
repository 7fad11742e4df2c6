import BelfryTesting
import Logging
import Testing

@testable import BelfryService

/// Reports to people of providers that cannot be reached, at intervals.
@Suite struct ConnectionFaultReporterTests {
    private let clock = ManualClock()
    private let store: SQLiteStore
    private let log = CapturedLog()

    init() throws { store = try .temporary(clock: clock) }

    private static let refused = ConnectionFault(.connect, "no connection: Connection refused")
    private static let untrusted = ConnectionFault(.tls, "the certificate is not trusted")

    @Test func `a failing platform logs once a minute and marks receipts`() async throws {
        let (platform, push) = try await claimed()
        let reporter = ConnectionFaultReporter(store: store, clock: clock, logger: log.logger)
        for second in 0..<61 {
            let fault = second < 30 ? Self.refused : Self.untrusted
            try await reporter.report([[.accepted], [.unreachable(fault)]], of: platform)
            #expect(try await store.connectionFaults(of: push.key).map(\.fault) == [fault])
            clock.advance(by: .seconds(1))
        }
        let lines = log.lines(atLeast: .warning)
        #expect(lines.count == 2)
        let first = try #require(lines.first)
        #expect(first.hasPrefix("a provider cannot be reached, its devices wait"))
        for part in ["detail=no connection: Connection refused", "fault=connect", "platform.type=ios"] {
            #expect(first.contains(part), "\(first)")
        }
        #expect(first.contains(platform.uuid.lowercased))
    }

    @Test func `a fault that is repeated is written once a second`() async throws {
        let (platform, push) = try await claimed()
        let reporter = ConnectionFaultReporter(store: store, clock: clock, logger: log.logger)
        let start = clock.now
        for _ in 0..<3 {
            try await reporter.report([[.unreachable(Self.refused)]], of: platform)
            clock.advance(by: .milliseconds(400))
        }
        #expect(try await store.connectionFaults(of: push.key).map(\.at) == [start])
        try await reporter.report([[.unreachable(Self.refused)]], of: platform)
        #expect(try await store.connectionFaults(of: push.key).map(\.at) == [clock.now])
    }

    @Test func `outcomes of a provider that answers are no faults`() async throws {
        let (platform, push) = try await claimed()
        let reporter = ConnectionFaultReporter(store: store, clock: clock, logger: log.logger)
        try await reporter.report(
            [
                [.accepted, .failed(retryAfter: nil), .unanswered],
                [.credentialsRefused("no"), .throttled(retryAfter: nil)],
            ],
            of: platform
        )
        #expect(try await store.connectionFaults(of: push.key).isEmpty)
        #expect(log.lines(atLeast: .warning).isEmpty)
    }

    /// A push whose one batch is being sent.
    private func claimed() async throws -> (Platform, Push) {
        let application = try await store.create(.numbered(1))
        let platform = try await store.create(.numbered(1, of: application.key))
        _ = try await store.register(.sample(1), as: nil, on: platform)
        let push = try await store.accept(.sample(1, to: platform))
        let fanOut = try #require(
            try await store.claimFanOuts(atMost: 1, lanes: Lane.allCases, for: .seconds(60)).first)
        let found = try await store.devices(in: fanOut, after: nil, limit: 10)
        #expect(try await store.advance(FanOutStep(fanOut: fanOut, batches: [found], isLast: true)))
        return (platform, push)
    }
}

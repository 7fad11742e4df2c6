import BelfryService
import BelfryTesting
import Testing

@Suite struct RetentionSweeperTests {
    private let clock = ManualClock()
    private let store: SQLiteStore

    init() throws { store = try .temporary(clock: clock) }

    private func retentionSweeper(_ store: any Store) -> RetentionSweeper {
        RetentionSweeper(store: store, clock: clock, options: RetentionSweeper.Options(), logger: CapturedLog().logger)
    }

    @Test func `answers go after a month, and their push after three`() async throws {
        let application = try await store.create(.numbered(1))
        let platform = try await store.create(.numbered(1, of: application.key))
        _ = try await store.register(.sample(1), as: nil, on: platform)
        let push = try await store.accept(.sample(to: platform))
        try await store.deliver { _, _ in .accepted }
        clock.advance(by: .seconds(29 * 86_400))
        try await retentionSweeper(store).round()
        #expect(try await store.number("SELECT count(*) FROM batch") == 1)
        clock.advance(by: .seconds(2 * 86_400))
        try await retentionSweeper(store).round()
        #expect(try await store.number("SELECT count(*) FROM batch") == 0)
        #expect(try await store.receipt(push.receiptID)?.counts == [.accepted: 1])
        clock.advance(by: .seconds(60 * 86_400))
        try await retentionSweeper(store).round()
        #expect(try await store.allPushes().isEmpty)
    }

    @Test func `it rests after each step`() async throws {
        let lines = DeletedRows.rowsMax * 3 + 1
        try await store.run(
            """
            WITH RECURSIVE line (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM line WHERE number < \(String(lines)))
            INSERT INTO audit (at_ms, action, subject, details) SELECT 0, 'a', 'b', '{}' FROM line
            """)
        let round = Task { [retentionSweeper = retentionSweeper(store)] in try await retentionSweeper.round() }
        for _ in 0..<3 {
            while clock.sleepers == 0 { await Task.yield() }
            #expect(clock.advanceToNextSleeper())
        }
        try await round.value
        #expect(try await store.number("SELECT count(*) FROM audit") == 0)
    }
}

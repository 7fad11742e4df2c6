import BelfryService
import Synchronization
import Testing

@Suite struct FairTurnsTests {
    @Test func `parties that wait are served in rounds`() {
        var turns = FairTurns<String>(places: 1, waitingMax: 10)
        #expect(turns.arrive("a") == .served(1))
        for (number, party) in ["a", "a", "a", "b", "c", "b"].enumerated() {
            #expect(turns.arrive(party) == .waits(number + 2))
        }
        var order: [Int] = []
        var serving = 1
        while let next = turns.finish(serving).first {
            order.append(next)
            serving = next
        }
        // a2, b5, c6, a3, b7, a4
        #expect(order == [2, 5, 6, 3, 7, 4])
        #expect(turns.waitingCount == 0)
    }

    @Test func `no party has all places`() {
        var turns = FairTurns<String>(places: 2, waitingMax: 10)
        #expect(turns.arrive("a") == .served(1))
        #expect(turns.arrive("a") == .waits(2))
        #expect(turns.arrive("b") == .served(3))
        #expect(turns.finish(3) == [])
        #expect(turns.arrive("c") == .served(4))
        #expect(turns.finish(1) == [2])
    }

    @Test func `a ticket that left is never called, and makes room`() {
        var turns = FairTurns<String>(places: 1, waitingMax: 2)
        _ = turns.arrive("a")
        #expect(turns.arrive("b") == .waits(2) && turns.arrive("c") == .waits(3))
        #expect(turns.arrive("d") == .turnedAway)
        #expect(turns.leave(2) && !turns.leave(2) && !turns.leave(1))
        #expect(turns.arrive("d") == .waits(4))
        #expect(turns.finish(1) == [3] && turns.finish(3) == [4] && turns.finish(4) == [])
    }
}

@Suite(.timeLimit(.minutes(20))) struct TurnQueueTests {
    /// Stays busy until it is ended.
    private final class Work: Sendable {
        private let gate = AsyncStream.makeStream(of: Void.self)
        private let begun = AsyncStream.makeStream(of: Void.self)

        func run() async {
            begun.continuation.finish()
            for await _ in gate.stream {}
        }

        func waitUntilItRuns() async { for await _ in begun.stream {} }
        func end() { gate.continuation.finish() }
    }

    @Test func `a caller that is cancelled leaves the queue at once`() async throws {
        let queue = FairQueue(FairTurns<String>(places: 1, waitingMax: 1))
        let work = Work()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await queue.run(for: "a") { await work.run() } }
            await work.waitUntilItRuns()
            let late = Task { try await queue.run(for: "b") {} }
            while queue.waitingCount == 0 { await Task.yield() }
            await #expect(throws: StoreError.self) { try await queue.run(for: "c") {} }
            late.cancel()
            await #expect(throws: CancellationError.self) { try await late.value }
            #expect(queue.waitingCount == 0)
            work.end()
            try await group.waitForAll()
        }
        #expect(try await queue.run(for: "d") { 7 } == 7)
    }

    @Test func `all waiters are served within the number of places`() async throws {
        let queue = FairQueue(FairTurns<Int>(places: 2, waitingMax: 100))
        let running = Running()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<60 {
                group.addTask {
                    try await queue.run(for: number % 5) {
                        running.begin()
                        await Task.yield()
                        running.end()
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(running.ended == 60 && running.most <= 2)
    }

    private final class Running: Sendable {
        private let counts = Mutex((now: 0, most: 0, ended: 0))

        var ended: Int { counts.withLock { $0.ended } }
        var most: Int { counts.withLock { $0.most } }

        func begin() { counts.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1), $0.ended) } }
        func end() { counts.withLock { $0 = ($0.now - 1, $0.most, $0.ended + 1) } }
    }
}

@Suite struct SearchBudgetTests {
    @Test func `a search ends with its time or its caller`() throws {
        let fresh = SearchBudget()
        try fresh.check()
        #expect(!fresh.isSpent)
        fresh.cancel()
        #expect(fresh.isSpent)
        #expect(throws: CancellationError.self) { try fresh.check() }
        let late = SearchBudget(.zero)
        #expect(late.isSpent)
        #expect(throws: InvalidInput.self) { try late.check() }
    }
}

import Synchronization

/// Small reads of one kind that wait together are one read: one trip to PostgreSQL, one change of threads for SQLite.
///
/// A read that finds nothing under way leaves at once; meanwhile the next gather. Entries are taken before their read begins, so each sees
/// rows that were committed before it was asked for.
package final class ReadCoalescer<Entry: Sendable, Answer: Sendable>: Sendable {
    private struct State {
        var waiting: [(entry: Entry, continuation: CheckedContinuation<Answer, any Error>)] = []
        var running = 0
    }

    private let state = Mutex(State())

    /// The most reads at once: while one is on its way, another may leave.
    private let runningMax = 2
    private let entriesMax = 64

    /// - Parameter together: reads for entries, and answers each, in order.
    func read(
        _ entry: Entry, together: @escaping @Sendable ([Entry]) async throws -> [Answer]
    ) async throws -> Answer {
        try await withCheckedThrowingContinuation { continuation in
            let leads = state.withLock { state in
                state.waiting.append((entry, continuation))
                guard state.running < runningMax else { return false }
                state.running += 1
                return true
            }
            if leads { Task { await readAll(together) } }
        }
    }

    private func readAll(_ together: @Sendable ([Entry]) async throws -> [Answer]) async {
        while true {
            let group = state.withLock { state in
                let group = state.waiting.prefix(entriesMax)
                state.waiting.removeFirst(group.count)
                if group.isEmpty { state.running -= 1 }
                return group
            }
            if group.isEmpty { return }
            do {
                let answers = try await together(group.map(\.entry))
                for (waiting, answer) in zip(group, answers) { waiting.continuation.resume(returning: answer) }
            } catch {
                for waiting in group { waiting.continuation.resume(throwing: error) }
            }
        }
    }
}

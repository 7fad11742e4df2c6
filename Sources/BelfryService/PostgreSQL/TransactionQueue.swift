import PostgreSQL
import Synchronization

/// Writes of one kind that wait together share a transaction, and so its trips and its wait for the disk.
///
/// While some are on their way, the next gather. A write that finds the queue idle leaves at once.
final class TransactionQueue<Entry: Sendable, Name: Hashable & Sendable, Answer: Sendable>: Sendable {
    private struct Waiting: Sendable {
        let entry: Entry
        let answer: @Sendable (Result<Answer, any Error>) -> Void
    }

    private struct State {
        var waiting: [Waiting] = []
        /// Transactions under way, and the entries that they have.
        var running = 0
        var entriesRunning = 0
    }

    private let state = Mutex(State())
    private let exclusive: @Sendable (Entry) -> [Name]
    private let write: @Sendable (PostgresWriteSession, [Entry]) throws -> [Result<Answer, any Error>]

    /// The most transactions at once: while one waits for the disk another is worked on.
    private let runningMax = 2
    /// The number of waiting entries that is worth a second transaction, whose trips cost as much for one entry. It waits for as many
    /// entries as the first one has, up to two handfuls: two transactions of a size overlap best, and a slow first one must not hold up
    /// many.
    private let handful = 16
    private let entriesMax = 256
    private let waitingMax = 10_000

    /// - Parameters:
    ///   - exclusive: what no two entries of one transaction may have in common.
    ///   - write: writes entries down, and says what came of each, in order.
    init(
        exclusive: @escaping @Sendable (Entry) -> [Name],
        write: @escaping @Sendable (PostgresWriteSession, [Entry]) throws -> [Result<Answer, any Error>]
    ) {
        self.exclusive = exclusive
        self.write = write
    }

    /// Returns when the entry is written down, and durable.
    func submit(_ entry: Entry, in store: PostgresStore) async throws -> Answer {
        do { return try await put(entry, in: store) } catch { throw error.asStoreError }
    }

    /// Like `submit`, with the database's own errors.
    func put(_ entry: Entry, in store: PostgresStore) async throws -> Answer {
        try await withCheckedThrowingContinuation { continuation in
            let isIn = state.withLock { state in
                guard state.waiting.count < waitingMax else { return false }
                state.waiting.append(Waiting(entry: entry) { continuation.resume(with: $0) })
                return true
            }
            guard isIn else { return continuation.resume(throwing: StoreError.overloaded(retryAfter: .seconds(1))) }
            runNext(in: store)
        }
    }

    private func runNext(in store: PostgresStore) {
        while let next = state.withLock({ next(of: &$0) }) { run(next, in: store) }
    }

    /// Entries for the next transaction; nil when none wait, or enough transactions are under way.
    private func next(of state: inout State) -> [Waiting]? {
        let least = state.running == 0 ? 1 : min(max(handful, state.entriesRunning), 2 * handful)
        guard state.running < runningMax, state.waiting.count >= least else { return nil }
        var taken: Set<Name> = []
        var next: [Waiting] = []
        var left: [Waiting] = []
        var seen = 0
        for waiting in state.waiting {
            guard next.count < entriesMax else { break }
            seen += 1
            let names = exclusive(waiting.entry)
            guard taken.isDisjoint(with: names) else {
                left.append(waiting)
                continue
            }
            next.append(waiting)
            taken.formUnion(names)
        }
        state.waiting.replaceSubrange(..<seen, with: left)
        state.running += 1
        state.entriesRunning += next.count
        return next
    }

    private func run(_ entries: [Waiting], in store: PostgresStore) {
        let write = write
        store.enqueueWrite { session in
            try write(session, entries.map(\.entry))
        } then: { [self] outcome in
            switch outcome {
            case .success(let results):
                for (waiting, result) in zip(entries, results) { waiting.answer(result) }
            case .failure(let error) where entries.count == 1 || !error.mayBeOfOne:
                for waiting in entries { waiting.answer(.failure(error)) }
            // One of them cannot be written, and the others need not suffer for it.
            case .failure: for waiting in entries { runAlone(waiting, in: store) }
            }
            state.withLock {
                $0.running -= 1
                $0.entriesRunning -= entries.count
            }
            runNext(in: store)
        }
    }

    private func runAlone(_ waiting: Waiting, in store: PostgresStore) {
        let write = write
        store.enqueueWrite { session in
            try write(session, [waiting.entry])
        } then: { outcome in
            waiting.answer(outcome.flatMap { $0[0] })
        }
    }
}

extension Error {
    /// Whether it may be about one of many writes, and not about the database.
    fileprivate var mayBeOfOne: Bool { (self as? PostgresError)?.isOfValues ?? true }
}

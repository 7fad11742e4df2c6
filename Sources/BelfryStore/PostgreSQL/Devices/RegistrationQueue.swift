import BelfryCore
import FoundationEssentials
import PostgreSQL
import Synchronization

/// Combines waiting registrations into one transaction, so that they share its round trips and its flush.
///
/// While some are being written, the next gather. Two of one device or one token are never in the same transaction.
final class RegistrationQueue: Sendable {
    fileprivate struct Waiting: Sendable {
        let entry: RegistrationEntry
        let answer: @Sendable (Result<RegisteredDevice, any Error>) -> Void
    }

    fileprivate struct State {
        var waiting: [Waiting] = []
        var running = 0
    }

    private let state = Mutex(State())

    /// While one transaction waits for its flush another does its work.
    private static let runningMax = 2
    /// Waiting registrations that are worth a second transaction: its round trips cost the same for one.
    private static let handful = 16
    private static let entriesMax = 256
    private static let waitingMax = 10_000

    func register(_ entry: RegistrationEntry, in store: PostgresStore) async throws -> RegisteredDevice {
        try await withCheckedThrowingContinuation { continuation in
            let isIn = state.withLock { state in
                guard state.waiting.count < Self.waitingMax else { return false }
                state.waiting.append(Waiting(entry: entry) { continuation.resume(with: $0) })
                return true
            }
            guard isIn else {
                return continuation.resume(throwing: StoreError.overloaded(retryAfter: .seconds(1)))
            }
            runNext(in: store)
        }
    }

    private func runNext(in store: PostgresStore) {
        while let batch = state.withLock({
            $0.next(Self.entriesMax, runningMax: Self.runningMax, handful: Self.handful)
        }) {
            run(batch, in: store)
        }
    }

    private func run(_ batch: [Waiting], in store: PostgresStore) {
        store.enqueueWrite { session in
            var registrar = PostgresRegistrar(session: session, entries: batch.map(\.entry))
            return try registrar.register()
        } then: { [self] outcome in
            switch outcome {
            case .success(let results): for (waiting, result) in zip(batch, results) { waiting.answer(result) }
            case .failure(let error) where batch.count == 1 || !error.mayBeOfOne:
                for each in batch { each.answer(.failure(error.asStoreError)) }
            // One of them cannot be written, and must not fail the others.
            case .failure: for each in batch { runAlone(each, in: store) }
            }
            state.withLock { $0.running -= 1 }
            runNext(in: store)
        }
    }

    private func runAlone(_ waiting: Waiting, in store: PostgresStore) {
        store.enqueueWrite { session in
            var registrar = PostgresRegistrar(session: session, entries: [waiting.entry])
            return try registrar.register()
        } then: { outcome in
            waiting.answer(outcome.mapError { $0.asStoreError }.flatMap { $0[0] })
        }
    }
}

extension RegistrationQueue.State {
    /// The registrations of the next transaction; nil when there are none, or enough transactions are running.
    fileprivate mutating func next(_ entriesMax: Int, runningMax: Int, handful: Int) -> [RegistrationQueue.Waiting]? {
        guard running < runningMax, waiting.count >= (running == 0 ? 1 : handful) else { return nil }
        var devices: Set<DeviceName> = []
        var tokens: Set<UUID> = []
        var batch: [RegistrationQueue.Waiting] = []
        var left: [RegistrationQueue.Waiting] = []
        for each in waiting {
            let entry = each.entry
            let isFree =
                batch.count < entriesMax && !tokens.contains(entry.tokenHash)
                && !(entry.named.map { devices.contains($0) } ?? false)
            guard isFree else {
                left.append(each)
                continue
            }
            batch.append(each)
            tokens.insert(entry.tokenHash)
            if let named = entry.named { devices.insert(named) }
        }
        waiting = left
        running += 1
        return batch
    }
}

extension Error {
    /// Whether the error may concern one of many writes, and not the database.
    fileprivate var mayBeOfOne: Bool {
        guard let error = self as? PostgresError else { return true }
        return error.isOfValues
    }
}

package import PostgreSQL
import Synchronization

extension PostgresStore {
    /// Runs `body` inside a transaction of its own and returns when that is durable.
    ///
    /// `body` may run more than once: after a deadlock, or when the connection turned out to be broken. The changes of
    /// an earlier run were rolled back then.
    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (PostgresWriteSession) throws -> Value
    ) async throws -> Value {
        do { return try await commit(body) } catch { throw error.asStoreError }
    }

    /// Retries an idempotent write while the database is unreachable.
    func retrying<Value>(_ write: () async throws -> Value) async throws -> Value {
        let end = ContinuousClock.now + Self.insistence
        while true {
            do {
                return try await write()
            } catch let error as PostgresError where error.isOfConnection && ContinuousClock.now < end {
                try await Task.sleep(for: Self.pause)
            } catch {
                throw error.asStoreError
            }
        }
    }

    private static let insistence = Duration.seconds(60)
    private static let pause = Duration.milliseconds(250)

    private func commit<Value: Sendable>(
        _ body: @escaping @Sendable (PostgresWriteSession) throws -> Value
    ) async throws -> Value {
        let signature = PendingAuditEntry.pending.flatMap { $0.isKept ? nil : $0 }
        let (value, effects) = try await run(Transaction(store: self, body: body, signature: signature))
        publish(effects)
        return value
    }

    /// Runs it on another connection if the first one broke before its commit was sent. It is not cancelled with its
    /// caller, who could not know the result then.
    private func run<Value: Sendable>(_ transaction: Transaction<Value>) async throws -> (Value, Effects) {
        do {
            return try await pool.run(isCancellable: false) { try transaction.run(on: $0) }
        } catch let error as PostgresError where error.code == .connectionLost && !transaction.isCommitting {
            return try await pool.run(isCancellable: false) { try transaction.run(on: $0) }
        }
    }

    /// Starts a write, and returns at once. Its audit line is not written. Errors are passed on unchanged.
    func enqueueWrite<Value: Sendable>(
        _ body: @escaping @Sendable (PostgresWriteSession) throws -> Value,
        then: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        attempt(Transaction(store: self, body: body, signature: nil), isLast: false, then)
    }

    private func attempt<Value: Sendable>(
        _ transaction: Transaction<Value>, isLast: Bool, _ then: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        pool.enqueue {
            try transaction.run(on: $0)
        } then: { [self] outcome in
            switch outcome {
            case .success(let (value, effects)):
                publish(effects)
                then(.success(value))
            case .failure(let error as PostgresError)
            where error.code == .connectionLost && !transaction.isCommitting && !isLast:
                attempt(transaction, isLast: true, then)
            case .failure(let error): then(.failure(error))
            }
        }
    }

    /// Reads from one snapshot.
    package func read<Value: Sendable>(_ body: @escaping @Sendable (Connection) throws -> Value) async throws -> Value {
        try await reading { connection in
            try connection.begin(PostgresSessionStatements.snapshot)
            let value = try body(connection)
            try connection.prepared(PostgresSessionStatements.commit).run()
            return value
        }
    }

    /// Reads the rows that are committed when each statement begins.
    package func readCommitted<Value: Sendable>(_ body: @escaping @Sendable (Connection) throws -> Value) async throws
        -> Value
    {
        try await reading { connection in
            guard connection.isPooled else { return try body(connection) }
            // Settings reach as far as a transaction there.
            try connection.begin(PostgresSessionStatements.begin)
            let value = try body(connection)
            try connection.prepared(PostgresSessionStatements.commit).run()
            return value
        }
    }

    private func reading<Value: Sendable>(_ body: @escaping @Sendable (Connection) throws -> Value) async throws
        -> Value
    {
        do {
            do {
                return try await pool.run(body)
            } catch let error as PostgresError where error.code == .connectionLost {
                return try await pool.run(body)
            }
        } catch {
            throw error.asStoreError
        }
    }
}

/// A write and its attempts.
private final class Transaction<Value: Sendable>: Sendable {
    private let store: PostgresStore
    private let body: @Sendable (PostgresWriteSession) throws -> Value
    private let signature: PendingAuditEntry?
    private let hasSentCommit = Atomic(false)

    /// How often a transaction that conflicts with another is tried.
    private static var attemptsMax: Int { 6 }

    init(
        store: PostgresStore, body: @escaping @Sendable (PostgresWriteSession) throws -> Value,
        signature: PendingAuditEntry?
    ) {
        self.store = store
        self.body = body
        self.signature = signature
    }

    /// Whether its commit was sent, so that it may have succeeded.
    var isCommitting: Bool { hasSentCommit.load(ordering: .acquiring) }

    func run(on connection: Connection) throws -> (Value, Effects) {
        var attempt = 1
        while true {
            do {
                return try attemptOnce(on: connection)
            } catch let error as PostgresError where error.meetsAnother && attempt < Self.attemptsMax {
                guard connection.rollBack() else { throw error }
                attempt += 1
            }
        }
    }

    private func attemptOnce(on connection: Connection) throws -> (Value, Effects) {
        hasSentCommit.store(false, ordering: .releasing)
        store.observer.writesWaiting(store.pool.waitingCount)
        let begun = ContinuousClock.now
        let session = try store.begin(on: connection)
        let value = try body(session)
        try signature?.write(in: session)
        // What was sent and not answered yet may still fail; a commit would then not be one.
        hasSentCommit.store(true, ordering: .releasing)
        store.observer.transactionEnded(after: begun.duration(to: .now))
        try session.commit()
        signature?.noteCommit()
        if let found = session.found { session.topicCache.learn(found.topics, since: found.topicDeletions) }
        return (value, session.effects)
    }
}

extension PostgresError {
    /// Whether the transaction conflicted with another one, and may succeed when it is retried.
    fileprivate var meetsAnother: Bool { isWorthRepeating || sqlState == .uniqueViolation }
}

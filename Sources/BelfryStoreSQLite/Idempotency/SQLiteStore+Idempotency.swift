package import BelfryCore
package import FoundationEssentials
import GRDB

extension SQLiteStore: IdempotencyStore {
    /// How many old records a reservation clears away. More than the one it adds, so that they become fewer.
    private static let clearedMax = 4

    package func reserve(_ reservation: Reservation) async throws -> IdempotencyVerdict {
        try await writer.write { session in
            let now = session.clock.now
            let old = try session.prepared(IdempotencyStatements.byName)
                .first(reservation.name, as: IdempotencyRecord.init)
            let verdict = IdempotencyVerdict(old, for: reservation, at: now)
            if case .first = verdict, old == nil { try session.check(reservation.account) }
            try session.clearIdempotency(until: now + (.zero - IdempotencyRecord.lifetime), atMost: Self.clearedMax)
            switch verdict {
            case .first:
                let (name, caller) = (reservation.name, reservation.caller)
                try session.forgetIdempotency(name)
                try session.prepared(IdempotencyStatements.insert).run(
                    name, reservation.request, reservation.seed, now, now + reservation.hold,
                    Int64(caller.kind.rawValue), caller.id)
                session.effects.quotas.add(1, to: reservation.account)
            case .again(let seed):
                try session.prepared(IdempotencyStatements.hold).run(now + reservation.hold, reservation.name, seed)
            case .answered, .taken, .busy: break
            }
            return verdict
        }
    }

    package func complete(_ name: [UInt8], seed: UUID, with answer: KeptAnswer) async throws {
        try await writer.write { session in
            try session.prepared(IdempotencyStatements.complete).run(answer.status, answer.content.bytes, name, seed)
        }
    }

    package func release(_ name: [UInt8], seed: UUID, hadNoEffect: Bool) async throws {
        try await writer.write { session in
            if hadNoEffect {
                try session.forgetIdempotency(IdempotencyStatements.forget, name, seed)
            } else {
                try session.prepared(IdempotencyStatements.hold).run(session.clock.now, name, seed)
            }
        }
    }
}

extension Reservation {
    /// What the record counts for.
    fileprivate var account: QuotaAccount { QuotaAccount(.idempotencyKeys, of: caller) }
}

extension WriteSession {
    /// Deletes records that were made until then; returns how many.
    @discardableResult
    func clearIdempotency(until: Instant, atMost limit: Int) throws -> Int {
        try forgetIdempotency(IdempotencyStatements.clear, until, limit)
    }

    /// Deletes a record that is too old, if there is one.
    fileprivate func forgetIdempotency(_ name: [UInt8]) throws {
        try forgetIdempotency(IdempotencyStatements.replace, name)
    }

    /// - Parameter sql: returns the callers of what it deletes.
    @discardableResult
    fileprivate func forgetIdempotency<each Value: Bindable>(
        _ sql: String, _ values: repeat each Value
    ) throws -> Int {
        var count = 0
        try prepared(sql).each(repeat each values) { row in
            count += 1
            guard let kind = UInt8(exactly: row.integer(0)).flatMap(Principal.Kind.init(rawValue:)) else { return }
            effects.quotas.add(-1, to: QuotaAccount(.idempotencyKeys, of: Principal(kind, row.integer(1))))
        }
        return count
    }
}

extension IdempotencyRecord {
    fileprivate init(_ row: Columns) throws {
        guard let seed = row.withBlob(1, { UUID(bytes: $0) }) else {
            throw StoreError.damaged("a record of an Idempotency-Key")
        }
        let state: State =
            row.isNull(4)
            ? .held(until: Instant(milliseconds: row.integer(3)))
            : .answered(KeptAnswer(status: Int(row.integer(4)), content: Sealed(bytes: row.blob(5))))
        self.init(
            request: row.blob(0), seed: seed, createdAt: Instant(milliseconds: row.integer(2)), state: state)
    }
}

enum IdempotencyStatements {
    static let byName = """
        SELECT request, seed, created_at_ms, held_until_ms, status, content /* idempotency.by_name */
          FROM idempotency
         WHERE name = ?1
        """

    static let replace = """
        DELETE FROM idempotency /* idempotency.replace */ WHERE name = ?1 RETURNING caller_kind, caller_id
        """

    static let insert = """
        INSERT INTO idempotency /* idempotency.insert */ (
            name, request, seed, created_at_ms, held_until_ms, caller_kind, caller_id)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
        """

    static let hold = """
        UPDATE idempotency /* idempotency.hold */
           SET held_until_ms = ?1
         WHERE name = ?2 AND seed = ?3 AND status IS NULL
        """

    static let complete = """
        UPDATE idempotency /* idempotency.complete */
           SET status = ?1, content = ?2, held_until_ms = NULL
         WHERE name = ?3 AND seed = ?4 AND status IS NULL
        """

    static let forget = """
        DELETE FROM idempotency /* idempotency.forget */ WHERE name = ?1 AND seed = ?2 AND status IS NULL
        RETURNING caller_kind, caller_id
        """

    /// Walks `idempotency_created`.
    static let clear = """
        DELETE FROM idempotency /* idempotency.clear */
         WHERE name IN (SELECT name FROM idempotency WHERE created_at_ms <= ?1 ORDER BY created_at_ms LIMIT ?2)
        RETURNING caller_kind, caller_id
        """
}

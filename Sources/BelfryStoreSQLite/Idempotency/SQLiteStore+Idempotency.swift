package import BelfryCore
package import FoundationEssentials
import GRDB

extension SQLiteStore: IdempotencyStore {
    /// How many old records a reservation clears away. More than the one it adds, so that they become fewer.
    private static let clearedMax = 4

    package func reserve(_ reservation: Reservation) async throws -> IdempotencyVerdict {
        try await writer.write { session in
            let now = session.clock.now
            try session.prepared(IdempotencyStatements.clear).run(
                now + (.zero - IdempotencyRecord.lifetime), Self.clearedMax)
            let old = try session.prepared(IdempotencyStatements.byName)
                .first(reservation.name, as: IdempotencyRecord.init)
            let verdict = IdempotencyVerdict(old, for: reservation, at: now)
            switch verdict {
            case .first:
                try session.prepared(IdempotencyStatements.replace).run(
                    reservation.name, reservation.request, reservation.seed, now, now + reservation.hold)
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
                try session.prepared(IdempotencyStatements.forget).run(name, seed)
            } else {
                try session.prepared(IdempotencyStatements.hold).run(session.clock.now, name, seed)
            }
        }
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

    /// Takes the place of a record that is too old, if there is one.
    static let replace = """
        REPLACE INTO idempotency /* idempotency.replace */ (name, request, seed, created_at_ms, held_until_ms)
        VALUES (?1, ?2, ?3, ?4, ?5)
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
        """

    /// Walks `idempotency_created`.
    static let clear = """
        DELETE FROM idempotency /* idempotency.clear */
         WHERE name IN (SELECT name FROM idempotency WHERE created_at_ms <= ?1 ORDER BY created_at_ms LIMIT ?2)
        """
}

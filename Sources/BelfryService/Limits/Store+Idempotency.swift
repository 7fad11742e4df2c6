package import FoundationEssentials

extension Store {
    /// The number of old records that a reservation deletes. More than the one it adds, so that they become fewer.
    private static var clearedMax: Int { 4 }

    /// Looks up the name and, if the verdict is to run the request, holds the name for it; all in one transaction.
    package func reserve(_ reservation: Reservation) async throws -> IdempotencyVerdict {
        try await write { session in
            let now = session.now
            try session.prepared(IdempotencyStatements.lock).send(reservation.lock)
            let old = try session.prepared(IdempotencyStatements.byName)
                .first(reservation.name, as: IdempotencyRecord.init)
            let verdict = IdempotencyVerdict(old, for: reservation, at: now)
            if case .first = verdict, old == nil {
                let account = QuotaAccount(.idempotencyKeys, of: reservation.caller)
                try session.check(account)
                session.effects.quotas.add(1, to: account)
            }
            try session.clearIdempotency(
                until: now + (.zero - IdempotencyRecord.lifetime), atMost: Self.clearedMax, but: reservation.name)
            switch verdict {
            case .first:
                let caller = reservation.caller
                try session.prepared(IdempotencyStatements.replace).send(
                    reservation.name, reservation.request, reservation.idempotentID, now, now + reservation.hold,
                    Int64(caller.kind.rawValue), caller.id)
            case .again(let idempotentID):
                try session.prepared(IdempotencyStatements.hold).send(
                    now + reservation.hold, reservation.name, idempotentID)
            case .answered, .taken, .busy: break
            }
            return verdict
        }
    }

    /// The answer that is stored under a name; nil where there is none, or its time is over.
    package func answer(to name: [UInt8]) async throws -> StoredResponse? {
        let record = try await read { db in
            try db.prepared(IdempotencyStatements.byName).first(name, as: IdempotencyRecord.init)
        }
        return record?.answer(at: clock.now)
    }

    /// Stores the answer for repeated requests. Does nothing if another request has the name by now.
    package func complete(_ name: [UInt8], idempotentID: UUID, with answer: StoredResponse) async throws {
        try await write { session in
            try session.prepared(IdempotencyStatements.complete).send(
                answer.status, answer.content.bytes, name, idempotentID)
        }
    }

    /// Releases a name: for good when the request had no effect, otherwise only so that the request may run again with
    /// its idempotent id.
    package func release(_ name: [UInt8], idempotentID: UUID, hadNoEffect: Bool) async throws {
        try await write { session in
            if hadNoEffect {
                try session.prepared(IdempotencyStatements.forget).each(name, idempotentID) {
                    session.noteForgotten($0)
                }
            } else {
                try session.prepared(IdempotencyStatements.hold).send(session.now, name, idempotentID)
            }
        }
    }

    /// Deletes the oldest records of a caller beyond this number.
    package func deleteOldest(of caller: Principal, beyond count: Int) async throws {
        try await write { session in
            try session.prepared(IdempotencyStatements.deleteOldest).each(
                Int64(caller.kind.rawValue), caller.id, count
            ) { session.noteForgotten($0) }
        }
    }
}

extension WriteSession {
    /// Deletes records created up to then, except the one of a name; returns their number.
    @discardableResult
    func clearIdempotency(until: Instant, atMost limit: Int, but name: [UInt8] = []) throws -> Int {
        var count = 0
        try prepared(IdempotencyStatements.clear).each(until, limit, name) { row in
            count += 1
            noteForgotten(row)
        }
        return count
    }

    /// Records the use of a deleted record, from the columns of `IdempotencyStatements.forget`.
    fileprivate func noteForgotten(_ row: some SQLRow) {
        guard let kind = UInt8(exactly: row.integer(0)).flatMap(Principal.Kind.init(rawValue:)) else { return }
        effects.quotas.add(-1, to: QuotaAccount(.idempotencyKeys, of: Principal(kind, row.integer(1))))
    }
}

extension IdempotencyRecord {
    fileprivate init(_ row: some SQLRow) throws {
        guard let idempotentID = row.uuid(1) else { throw StoreError.damaged("a record of an Idempotency-Key") }
        let state: State =
            row.isNull(4)
            ? .held(until: Instant(milliseconds: row.integer(3)))
            : .answered(StoredResponse(status: Int(row.integer(4)), content: Sealed(bytes: row.blob(5))))
        self.init(
            request: row.blob(0), idempotentID: idempotentID, createdAt: Instant(milliseconds: row.integer(2)),
            state: state)
    }
}

extension Reservation {
    /// A number for the name: concurrent requests with one name are served one after the other.
    fileprivate var lock: Int64 { name.prefix(8).reduce(0) { $0 << 8 | Int64($1) } }
}

enum IdempotencyStatements {
    static let lock: SQLText = """
        SELECT \(sqlite: "$1", postgres: "pg_advisory_xact_lock($1)") /* idempotency.lock */
        """

    static let byName: SQLText = """
        SELECT request, idempotent_id, created_at_ms, held_until_ms, status, content /* idempotency.by_name */
          FROM idempotency
         WHERE name = $1
        """

    /// Replaces a record that has expired, if there is one.
    static let replace: SQLText = """
        INSERT INTO idempotency /* idempotency.replace */ (
            name, request, idempotent_id, created_at_ms, held_until_ms, caller_kind, caller_id)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
            ON CONFLICT (name) DO UPDATE
           SET request = excluded.request, idempotent_id = excluded.idempotent_id, created_at_ms = excluded.created_at_ms,
               held_until_ms = excluded.held_until_ms, status = NULL, content = NULL,
               caller_kind = excluded.caller_kind, caller_id = excluded.caller_id
        """

    static let hold: SQLText = """
        UPDATE idempotency /* idempotency.hold */
           SET held_until_ms = $1
         WHERE name = $2 AND idempotent_id = $3 AND status IS NULL
        """

    static let complete: SQLText = """
        UPDATE idempotency /* idempotency.complete */
           SET status = $1, content = $2, held_until_ms = NULL
         WHERE name = $3 AND idempotent_id = $4 AND status IS NULL
        """

    static let forget: SQLText = """
        DELETE FROM idempotency /* idempotency.forget */ WHERE name = $1 AND idempotent_id = $2 AND status IS NULL
        RETURNING coalesce(caller_kind, 0), coalesce(caller_id, 0)
        """

    /// Scans `idempotency_caller`.
    static let deleteOldest: SQLText = """
        DELETE FROM idempotency /* idempotency.delete_oldest */
         WHERE name IN (SELECT name FROM idempotency WHERE caller_kind = $1 AND caller_id = $2
                         ORDER BY created_at_ms DESC LIMIT 1000 OFFSET $3)
        RETURNING coalesce(caller_kind, 0), coalesce(caller_id, 0)
        """

    /// Scans `idempotency_created`.
    static let clear: SQLText = """
        DELETE FROM idempotency /* idempotency.clear */
         WHERE name IN (SELECT name FROM idempotency WHERE created_at_ms <= $1 AND name <> $3
                         ORDER BY created_at_ms LIMIT $2
                           \(SQLText.forUpdateSkipLocked))
        RETURNING coalesce(caller_kind, 0), coalesce(caller_id, 0)
        """
}

extension Schema {
    static let idempotency = SchemaPart(
        [StoreTable("idempotency", rows: .quota(.idempotencyKeys), key: "name")],
        sql: """
            -- Requests that carried an `Idempotency-Key`, and their answers. `name`: a hash of the caller and its key.
            -- `request`: a hash of the request. `held_until_ms`: without an answer, how long the request may still be
            -- running. `content`: headers and body of the answer, sealed. `caller_kind`, `caller_id`: the `Principal` that
            -- the record counts for.
            CREATE TABLE idempotency (
                name \(.bytes) NOT NULL PRIMARY KEY CHECK (length(name) = 32),
                request \(.bytes) NOT NULL CHECK (length(request) = 32),
                \(uuid: "idempotent_id", "NOT NULL"),
                created_at_ms \(.bigint) NOT NULL,
                held_until_ms \(.bigint),
                status \(.bigint) CHECK (status BETWEEN 100 AND 599),
                content \(.bytes),
                caller_kind \(.bigint) CHECK (caller_kind > 0),
                caller_id \(.bigint),
                CHECK ((caller_id IS NULL) = (caller_kind IS NULL)),
                CHECK ((status IS NULL) = (content IS NULL)),
                CHECK ((status IS NULL) = (held_until_ms IS NOT NULL))
            ) \(.byKey);
            CREATE INDEX idempotency_created ON idempotency (created_at_ms);
            CREATE INDEX idempotency_caller ON idempotency (caller_kind, caller_id, created_at_ms);
            """)
}

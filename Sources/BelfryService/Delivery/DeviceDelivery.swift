import PostgreSQL

/// The progress of a push for one of its devices.
package struct DeviceDelivery: Sendable, Hashable {
    package let platform: Key<Platform>
    package let answer: Answer
    /// The noted attempts, oldest first; only the latest where there are many. A message that was accepted at the first attempt has none.
    package let attempts: [Attempt]
    /// The number of times that the device's batch was claimed.
    package let claims: Int64
    /// When the first device of its batch got its answer.
    package let answeredAt: Instant?
    package let next: Next

    package struct Attempt: Sendable, Hashable {
        package let number: Int64
        package let at: Instant
        /// The result of the attempt, in the provider's words where it used any.
        package let answer: String
    }

    /// The next step of the delivery.
    package enum Next: Sendable, Hashable {
        /// It has its answer.
        case nothing
        /// It is being sent, or will be sent again after this time if the worker died.
        case inFlight(until: Instant)
        /// It is sent at this time, unless its platform is parked.
        case attempt(at: Instant)
    }

    package init(
        platform: Key<Platform>, answer: Answer, attempts: [Attempt], claims: Int64, answeredAt: Instant?, next: Next
    ) {
        self.platform = platform
        self.answer = answer
        self.attempts = attempts
        self.claims = claims
        self.answeredAt = answeredAt
        self.next = next
    }
}

extension DeviceDelivery {
    /// Describes the delivery to the device at a place of its batch.
    ///
    /// - Parameters:
    ///   - batch: as its row says; without retry times that have passed.
    ///   - history: the notes of the batch's attempts.
    ///   - dueAt: of the batch; the end of the lease where it is leased.
    package init(
        at place: Int, of batch: Batch, history: String?, dueAt: Instant, isLeased: Bool, answeredAt: Instant?
    ) {
        let answer = batch.answers[place]
        let attempts = AttemptNote.history(history ?? "").compactMap { note in
            note.answer(at: place).map { Attempt(number: note.attempt, at: note.at, answer: $0) }
        }
        let next: Next =
            if answer != .pending {
                .nothing
            } else if isLeased {
                .inFlight(until: dueAt)
            } else {
                .attempt(at: max(dueAt, batch.retryTimes[place] ?? dueAt))
            }
        self.init(
            platform: batch.platformKey, answer: answer, attempts: attempts, claims: batch.attempt,
            answeredAt: answer == .pending ? nil : answeredAt, next: next)
    }
}

/// The highest device id up to which no transaction can still insert.
///
/// Ids are taken before commit, so commits may arrive out of order. The horizon is the newest id of a time before the
/// oldest open transaction began. Readers that scan by id stop here (`DeviceSearchIndex`, `PostgresSubscriptionMerge`).
struct DeviceHorizon {
    let session: PostgresWriteSession

    /// Advances the horizon, once all transactions that were open at the last step have ended.
    func step() throws {
        let look = try session.prepared(HorizonStatements.lastLook).first { row in
            (settled: row.integer(0), newest: row.integer(1), isPassed: row.bool(2))
        }
        guard let look, look.isPassed else { return }
        // Fixed order: a transaction that has taken an id by now has a number by which the next statement recognises
        // it.
        let newest = try session.prepared(HorizonStatements.newestDevice).first { $0.integer(0) } ?? 0
        guard newest > look.settled else { return }
        try session.prepared(HorizonStatements.set).run(look.newest, newest)
    }
}

enum HorizonStatements {
    static let lastLook = """
        SELECT settled_device_id, newest_device_id,
               seen_before <= pg_snapshot_xmin(pg_current_snapshot()) /* horizon.last_look */
          FROM device_horizon
         WHERE id = 1
        """

    static let newestDevice = """
        SELECT CASE WHEN is_called THEN last_value ELSE 0 END /* horizon.newest_device */ FROM device_id_seq
        """

    static let set = """
        UPDATE device_horizon /* horizon.set */
           SET settled_device_id = $1, newest_device_id = $2, seen_before = pg_snapshot_xmax(pg_current_snapshot())
         WHERE id = 1
        """
}

extension Store {
    package func cancel(_ push: Key<Push>) async throws -> Cancellation {
        var cancellation = try await cancelReminders(of: push)
        cancellation.add(try await cancelAlone(push))
        return cancellation
    }

    /// Ends the reminders in the place of a push.
    private func cancelReminders(of push: Key<Push>) async throws -> Cancellation {
        try await write { try $0.endReminders(of: push) }
        return try await cancelOpenReminders(of: push)
    }

    /// Cancels the reminders that have not left.
    func cancelOpenReminders(of push: Key<Push>) async throws -> Cancellation {
        var cancellation = Cancellation()
        for reminder in try await openReminders(of: push) { cancellation.add(try await cancelAlone(reminder)) }
        return cancellation
    }

    /// Works in short steps. The first ends the fan-outs' sending, so that later ones find all batches there will be.
    private func cancelAlone(_ push: Key<Push>) async throws -> Cancellation {
        var cancellation = Cancellation()
        var place: PushCancellationPlace? = .start
        while let after = place {
            let step = try await write { session in
                try PushCancellation(session: session, push: push).step(after: after)
            }
            cancellation.add(step.cancellation)
            place = step.next
        }
        return cancellation
    }
}

/// The place that the steps of a cancellation have come to, in the order of `batch_device`.
struct PushCancellationPlace: Sendable {
    let platform: Int64
    let firstDevice: Int64

    static let start = PushCancellationPlace(platform: 0, firstDevice: 0)

    var isStart: Bool { platform == 0 }
}

/// Cancels a push, within a write.
///
/// Closes batches that no worker has claimed, and marks those that are being sent: the settlement closes them, or the next claim after the
/// lease lapsed. Locks are taken in the order of fan-outs and settlements: fan-outs, batches, their push, its tally.
struct PushCancellation<Session: WriteSession> {
    let session: Session
    let push: Key<Push>

    /// Batches looked at in one step.
    private static var stride: Int { 100 }

    func step(
        after place: PushCancellationPlace
    ) throws -> (cancellation: Cancellation, next: PushCancellationPlace?) {
        var cancellation = Cancellation()
        if place.isStart {
            cancellation.fanOuts = try session.prepared(PushCancellationStatements.cancelFanOuts).run(session.now, push)
            if cancellation.fanOuts > 0 { session.effects.due.insert(.fanOuts) }
        }
        let found = try session.prepared(PushCancellationStatements.batches).all(
            push, place.platform, place.firstDevice, Self.stride
        ) {
            (key: $0.integer(0), place: PushCancellationPlace(platform: $0.integer(1), firstDevice: $0.integer(2)))
        }
        try cancel(found.map(\.key), &cancellation)
        return (cancellation, found.count < Self.stride ? nil : found.last?.place)
    }

    private func cancel(_ batches: [Int64], _ cancellation: inout Cancellation) throws {
        guard !batches.isEmpty else { return }
        let rows = try session.prepared(PushCancellationStatements.lock).all(SQLKeys(batches)) { row in
            row.withBlob(1) { answers in
                OpenBatch(
                    key: row.integer(0), platform: Key(row.integer(6)), codes: Array(answers),
                    waiting: RetryTimes.inCodes(
                        answers, retryAt: row.instantIfAny(4) ?? session.now, now: session.now),
                    isClaimed: row.integer(2) > 0, isDue: row.integer(3) <= session.now.milliseconds,
                    isWhole: row.bool(5))
            }
        }
        var counts: [UInt8: Int] = [:]
        var closed = 0
        var marked: [Int64] = []
        for row in rows {
            guard let codes = row.closed else {
                marked.append(row.key)
                cancellation.devicesInFlight += row.pending - row.waiting.count
                cancellation.devices += row.waiting.count
                continue
            }
            try session.prepared(PushCancellationStatements.close).send(codes, session.now, row.key)
            session.count(.failed, row.pending, on: row.platform)
            for (before, after) in zip(row.codes, codes) where before != after {
                if after == Answer.unknown.code {
                    cancellation.devicesInFlight += 1
                } else {
                    cancellation.devices += 1
                }
                if !row.isWhole { counts[after, default: 0] += 1 }
            }
            if !row.isWhole { closed += 1 }
        }
        if !marked.isEmpty { try session.prepared(PushCancellationStatements.mark).send(SQLKeys(marked)) }
        if marked.count < rows.count { session.noteSettled(push) }
        guard closed > 0 else { return }
        try session.prepared(PushStatements.settle).send(closed, session.now, session.now, push)
        for (code, count) in counts.sorted(by: { $0.key < $1.key }) {
            try session.prepared(TallyStatements.add).send(push, Int(code), count)
        }
    }

    private struct OpenBatch {
        let key: Int64
        let platform: Key<Platform>
        let codes: [UInt8]
        /// The devices whose wait for another attempt is not over.
        let waiting: [Int: Instant]
        let isClaimed: Bool
        let isDue: Bool
        let isWhole: Bool

        var pending: Int { codes.count { Answer(byte: $0) == .pending } }

        /// The answers of a batch that is closed now; nil while a worker sends it, and where it cannot be read.
        var closed: [UInt8]? {
            if isClaimed, !isDue { return nil }
            guard codes.allSatisfy({ Answer(byte: $0) != nil }) else { return nil }
            return codes.enumerated().map { index, code in
                guard Answer(byte: code) == .pending else { return code }
                let mayBeTold = isClaimed && waiting[index] == nil
                return (mayBeTold ? Answer.unknown : .skipped(.cancelled)).code
            }
        }
    }
}

extension WriteSession {
    /// Closes and counts the batches that a step of a cancelled fan-out wrote.
    func closeCancelled(_ fanOut: FanOut, from first: Key<Device>?, _ devices: Int) throws {
        guard let first else { return }
        try prepared(PushCancellationStatements.closeFound).send(now, fanOut.pushKey, fanOut.platformKey, first)
        try prepared(PushStatements.settle).send(0, now, now, fanOut.pushKey)
        try prepared(TallyStatements.add).send(fanOut.pushKey, Int(Answer.skipped(.cancelled).code), devices)
        count(.failed, devices, on: fanOut.platformKey)
    }
}

enum PushCancellationStatements {
    /// A fan-out worker that has one comes too late.
    static let cancelFanOuts: SQLText = """
        UPDATE fan_out /* cancellation.fan_outs */ SET is_cancelled = true, is_claimed = false, due_at_ms = $1
         WHERE push_id = $2 AND NOT is_cancelled
        """

    /// Scans `batch_device` from a batch on.
    static let batches: SQLText = """
        SELECT id, platform_id, first_device_id /* cancellation.batches */ FROM batch
         WHERE push_id = $1 AND (platform_id, first_device_id) > ($2, $3)
         ORDER BY platform_id, first_device_id
         LIMIT $4
        """

    static let lock: SQLText = """
        SELECT id, answers, claim_count, due_at_ms, retry_at_ms, is_whole, platform_id /* cancellation.lock */
          FROM batch
         WHERE id \(among: "$1") AND is_open
         ORDER BY id
           \(SQLText.forUpdate)
        """

    /// A delivery worker whose lease lapsed settles too late.
    static let close: SQLText = """
        UPDATE batch /* cancellation.close */
           SET answers = $1, is_open = false, attempt = attempt + 1, claim_count = 0, due_at_ms = $2, retry_at_ms = NULL,
               answered_at_ms = coalesce(answered_at_ms, $2)
         WHERE id = $3
        """

    static let mark: SQLText = "UPDATE batch /* cancellation.mark */ SET is_cancelled = true WHERE id \(among: "$1")"

    /// Scans `batch_device` from a batch on.
    static let closeFound: SQLText = """
        UPDATE batch /* cancellation.close_found */ SET is_open = false, answered_at_ms = $1
         WHERE push_id = $2 AND platform_id = $3 AND first_device_id >= $4 AND is_open
        """
}

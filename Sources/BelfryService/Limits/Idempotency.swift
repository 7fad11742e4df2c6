package import FoundationEssentials

/// A request that reserves a name.
package struct Reservation: Sendable, Hashable {
    /// A hash of the caller and its key.
    package let name: [UInt8]
    /// The caller whose quota the record counts against.
    package let caller: Principal
    /// A hash of the method, the path and the body.
    package let request: [UInt8]
    /// The id of what the request creates, unless it is a repetition.
    package let idempotentID: UUID
    /// Longer than any request takes: after it, the process that ran the request must have ended.
    package let hold: Duration
}

/// An answer as it is stored, to be returned again.
package struct StoredResponse: Sendable, Hashable {
    package let status: Int
    /// Headers and body. Sealed, because the answer to a creation contains secrets that are shown once.
    package let content: Sealed
}

/// The record of a name.
package struct IdempotencyRecord: Sendable, Hashable {
    package let request: [UInt8]
    package let idempotentID: UUID
    package let createdAt: Instant
    package var state: State

    package enum State: Sendable, Hashable {
        /// A request is running, at most until this time.
        case held(until: Instant)
        case answered(StoredResponse)
    }

    package static let lifetime = Duration.seconds(86_400)

    /// The stored answer, until the record's time is over.
    package func answer(at now: Instant) -> StoredResponse? {
        guard case .answered(let answer) = state, now < createdAt + Self.lifetime else { return nil }
        return answer
    }
}

extension IdempotencyRecord {
    /// The record of a request that runs for the first time.
    package init(_ reservation: Reservation, at now: Instant) {
        self.init(
            request: reservation.request, idempotentID: reservation.idempotentID, createdAt: now,
            state: .held(until: now + reservation.hold))
    }
}

/// The treatment of a request that carries an `Idempotency-Key`.
package enum IdempotencyVerdict: Sendable, Hashable {
    /// The name is new: run the request.
    case first(idempotentID: UUID)
    /// The request was interrupted, and may have had its effect: run it again with its recorded idempotent id, or
    /// refuse it.
    case again(idempotentID: UUID)
    case answered(StoredResponse)
    /// The name belongs to another request.
    case taken
    /// An earlier copy of the request is still running.
    case busy(for: Duration)

    /// - Parameter record: the record of the reservation's name, if there is one.
    package init(_ record: IdempotencyRecord?, for reservation: Reservation, at now: Instant) {
        guard let record, now < record.createdAt + IdempotencyRecord.lifetime else {
            self = .first(idempotentID: reservation.idempotentID)
            return
        }
        guard record.request == reservation.request else {
            self = .taken
            return
        }
        switch record.state {
        case .answered(let answer): self = .answered(answer)
        case .held(let until): self = now < until ? .busy(for: until - now) : .again(idempotentID: record.idempotentID)
        }
    }
}

/// The id of the one thing that a request creates.
///
/// A request that is repeated with its `Idempotency-Key` gets the id that it had the first time, so that the thing is
/// found and not created again. See `IdempotencyTests`, "a push accepted before a crash is not sent twice".
package enum IdempotentID {
    @TaskLocal package static var given: UUID?

    package static func make() -> UUID { given ?? .timeOrdered() }

    /// The id of one of several things that a request creates; nil where none is given.
    static func part(_ place: Int) -> UUID? { given.map { UUID(words: $0.words.0, $0.words.1 ^ UInt64(place)) } }
}

package import FoundationEssentials

/// A request that wants to be the only one of its name.
package struct Reservation: Sendable, Hashable {
    /// A hash of the caller and its key.
    package let name: [UInt8]
    /// Whose `Quota.idempotencyKeys` the record counts for.
    package let caller: Principal
    /// A hash of the method, the path and the body.
    package let request: [UInt8]
    /// What the request makes gets this id, unless it is a repetition.
    package let idempotentID: UUID
    /// Longer than any request takes: then the process that had it is no more.
    package let hold: Duration

    package init(name: [UInt8], caller: Principal, request: [UInt8], idempotentID: UUID, hold: Duration) {
        self.name = name
        self.caller = caller
        self.request = request
        self.idempotentID = idempotentID
        self.hold = hold
    }
}

/// An answer as it is stored, to be given again.
package struct KeptAnswer: Sendable, Hashable {
    package let status: Int
    /// Headers and body. Sealed, because the answer to a creation holds secrets that are shown once.
    package let content: Sealed

    package init(status: Int, content: Sealed) {
        self.status = status
        self.content = content
    }
}

/// What is known of a name.
package struct IdempotencyRecord: Sendable, Hashable {
    package let request: [UInt8]
    package let idempotentID: UUID
    package let createdAt: Instant
    package var state: State

    package enum State: Sendable, Hashable {
        /// A request is being run, until then at most.
        case held(until: Instant)
        case answered(KeptAnswer)
    }

    package static let lifetime = Duration.seconds(86_400)

    package init(request: [UInt8], idempotentID: UUID, createdAt: Instant, state: State) {
        self.request = request
        self.idempotentID = idempotentID
        self.createdAt = createdAt
        self.state = state
    }

    /// The record of a request that is run for the first time.
    package init(_ reservation: Reservation, at now: Instant) {
        self.init(
            request: reservation.request, idempotentID: reservation.idempotentID, createdAt: now,
            state: .held(until: now + reservation.hold))
    }
}

package enum IdempotencyVerdict: Sendable, Hashable {
    /// The name is new: run the request.
    case first(idempotentID: UUID)
    /// The request was cut off in the middle, and may have had its effect: run it under its old seed, or not at all.
    case again(idempotentID: UUID)
    case answered(KeptAnswer)
    /// The name is another request's.
    case taken
    /// The same request is being run.
    case busy(for: Duration)

    /// - Parameter record: what is known of the reservation's name, if anything.
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

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

        package init(number: Int64, at: Instant, answer: String) {
            self.number = number
            self.at = at
            self.answer = answer
        }
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

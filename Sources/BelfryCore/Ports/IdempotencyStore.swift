package import FoundationEssentials

/// What became of requests that carried an `Idempotency-Key`. Records are kept for `IdempotencyRecord.lifetime`; each
/// reservation clears a few old ones away, so that there are never more than a day brings.
package protocol IdempotencyStore: Sendable {
    /// Looks the name up and, if the verdict is to run the request, holds the name for it; all in one transaction.
    func reserve(_ reservation: Reservation) async throws -> IdempotencyVerdict
    /// Keeps the answer for requests that are repeated. Does nothing when the name is another request's by now.
    func complete(_ name: [UInt8], idempotentID: UUID, with answer: KeptAnswer) async throws
    /// Lets go of a name: for good when the request had no effect, else only so that it may be run again under its
    /// idempotent id.
    func release(_ name: [UInt8], idempotentID: UUID, hadNoEffect: Bool) async throws
}

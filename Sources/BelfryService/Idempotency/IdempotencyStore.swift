package import FoundationEssentials

/// Records of requests with an `Idempotency-Key`, kept for `IdempotencyRecord.lifetime`; each reservation deletes a few
/// old ones.
package protocol IdempotencyStore: Sendable {
    /// Looks up the name and, if the verdict is to run the request, holds the name for it; all in one transaction.
    func reserve(_ reservation: Reservation) async throws -> IdempotencyVerdict
    /// The answer that is stored under a name; nil where there is none, or its time is over.
    func answer(to name: [UInt8]) async throws -> StoredResponse?
    /// Stores the answer for repeated requests. Does nothing if another request has the name by now.
    func complete(_ name: [UInt8], idempotentID: UUID, with answer: StoredResponse) async throws
    /// Releases a name: for good when the request had no effect, otherwise only so that the request may run again with
    /// its idempotent id.
    func release(_ name: [UInt8], idempotentID: UUID, hadNoEffect: Bool) async throws
    /// Deletes the oldest records of a caller beyond this number.
    func deleteOldest(of caller: Principal, beyond count: Int) async throws
}

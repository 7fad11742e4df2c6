/// The use of an application's quotas. An operation that would exceed one throws `StoreError.quotaExceeded` and
/// changes nothing.
///
/// Nodes that share a database count for themselves and compare from time to time, so that together they may accept a
/// little more.
package protocol QuotaStore: Sendable {
    /// All quotas, in their order.
    func quotas(of application: Key<Application>) async throws -> [QuotaUse]
}

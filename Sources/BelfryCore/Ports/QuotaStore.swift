/// How much an application has of what it may have. Whatever makes something throws `StoreError.quotaExceeded` where that
/// would be too much, and changes nothing then.
///
/// Nodes that share a database count for themselves and compare every few seconds, so that together they may accept a little
/// more.
package protocol QuotaStore: Sendable {
    /// All quotas, in their order.
    func quotas(of application: Key<Application>) async throws -> [QuotaUse]
}

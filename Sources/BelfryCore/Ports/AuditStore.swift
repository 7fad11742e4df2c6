/// The audit log: written to, read, never changed.
package protocol AuditStore: Sendable {
    /// Makes a change and writes it down. Where the store has transactions, the line stands in the same one as the first
    /// write of the change, so that neither is ever kept without the other. A change that throws leaves no line.
    func audited<Value: Sendable>(
        _ change: AuditedChange, _ work: () async throws -> Value
    ) async throws -> Value

    func auditLog(_ query: AuditQuery) async throws -> [AuditEntry]
}

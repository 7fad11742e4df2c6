/// The audit log: written to, read, never changed.
package protocol AuditStore: Sendable {
    /// Makes a change and writes its line. Where the store has transactions, the line is in the same one as the first
    /// write of the change, so that neither is ever stored without the other. A change that throws leaves no line.
    func audited<Value: Sendable>(
        _ change: AuditedChange, _ work: () async throws -> Value
    ) async throws -> Value

    func auditLog(_ query: AuditQuery) async throws -> [AuditEntry]
}

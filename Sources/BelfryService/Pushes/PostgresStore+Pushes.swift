extension PostgresStore {
    /// A push with a line for the audit log has a transaction of its own, which has the line too.
    package func accept(_ push: NewPush) async throws -> Push {
        let draft = try await draft(push)
        guard PendingAuditEntry.pending == nil else {
            return try await write { try PushInserter(session: $0).accept([draft])[0].get() }
        }
        return try await acceptances.submit(draft, in: self)
    }
}

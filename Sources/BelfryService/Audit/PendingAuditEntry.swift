import Synchronization

/// The line that a change leaves in the audit log, before it is written.
///
/// It is a task-local value of the task that makes the change. The store writes it in the transaction of the first
/// write the task makes, so every port is audited alike and none has to know.
final class PendingAuditEntry: Sendable {
    @TaskLocal static var pending: PendingAuditEntry?

    private let change: AuditedChange
    private let kept = Atomic(false)

    init(_ change: AuditedChange) { self.change = change }

    /// Whether a transaction with the line was committed.
    var isKept: Bool { kept.load(ordering: .acquiring) }

    func write(in session: some WriteSession) throws {
        let details = JSONValue.object(JSONObject(change.details)).storedText
        try session.prepared(AuditStatements.insert).send(
            session.now, change.keyID, change.address, change.action, change.subject, change.tenant,
            change.application, details)
    }

    func noteCommit() { kept.store(true, ordering: .releasing) }
}

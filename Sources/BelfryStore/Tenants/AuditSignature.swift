import BelfryCore
import Synchronization

/// The line that a change leaves in the audit log, on its way there.
///
/// It travels with the task that makes the change, and the `Writer` puts it into the transaction of the first write it
/// meets. So every port of the store is audited alike, and none has to know.
final class AuditSignature: Sendable {
    @TaskLocal static var pending: AuditSignature?

    private let change: AuditedChange
    private let kept = Atomic(false)

    init(_ change: AuditedChange) { self.change = change }

    /// Whether a transaction that holds the line was committed.
    var isKept: Bool { kept.load(ordering: .acquiring) }

    func write(in session: some WriteSession) throws {
        let details = JSONValue.object(change.details.mapValues(JSONValue.string)).storedText
        try session.prepared(AuditStatements.insert).send(
            session.now, change.keyID, change.address, change.action, change.subject, change.tenant,
            change.application, details)
    }

    func noteCommit() { kept.store(true, ordering: .releasing) }
}

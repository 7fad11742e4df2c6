package import BelfryService

extension MemoryStore {
    package func deleteExpired(_ kind: Retention.Kind, before: Instant) async throws -> DeletedRows {
        transaction { contents in
            switch kind {
            case .answers: DeletedRows(rows: contents.deleteExpiredAnswers(before: before))
            case .pushes: DeletedRows(rows: contents.deleteExpiredPushes(before: before))
            case .audit: DeletedRows(rows: contents.deleteExpiredAudit(before: before))
            case .idempotency: DeletedRows(rows: contents.deleteExpiredRecords(until: before))
            case .unseen: DeletedRows(rows: contents.retireUnseen(before: before))
            case .imports: DeletedRows(rows: contents.deleteExpiredImports(before: before))
            case .drafts: DeletedRows(rows: contents.deleteExpiredDrafts(before: before))
            }
        }
    }
}

extension Contents {
    fileprivate mutating func deleteExpiredAnswers(before: Instant) -> Int {
        var rows = 0
        for (key, push) in pushes where push.isSettled(before: before) && !push.hasLostAnswers {
            let batches = self.batches.filter { $0.value.batch.pushKey == key }.keys
            for batch in batches { self.batches[batch] = nil }
            pushes[key]?.hasLostAnswers = true
            rows += batches.count
        }
        return rows
    }

    fileprivate mutating func deleteExpiredPushes(before: Instant) -> Int {
        let gone = pushes.filter { $0.value.isSettled(before: before) && $0.value.hasLostAnswers }.keys
        for key in gone {
            pushes[key] = nil
            events.pushes[key] = nil
            fanOuts = fanOuts.filter { $0.key.push != key }
        }
        let messages = carmaMessages.count
        carmaMessages.removeAll { $0.message.sentAt < before }
        let imports = carmaImports.count
        carmaImports.removeAll { $0.createdAt < before }
        return gone.count + messages - carmaMessages.count + imports - carmaImports.count
    }

    fileprivate mutating func deleteExpiredAudit(before: Instant) -> Int {
        let kept = audit.filter { $0.at >= before }
        defer { audit = kept }
        return audit.count - kept.count
    }

    fileprivate mutating func deleteExpiredDrafts(before: Instant) -> Int {
        let kept = drafts.filter { $0.value.savedAt >= before }
        defer { drafts = kept }
        return drafts.count - kept.count
    }

    fileprivate mutating func deleteExpiredRecords(until: Instant) -> Int {
        let kept = idempotency.filter { $0.value.createdAt > until }
        defer { idempotency = kept }
        return idempotency.count - kept.count
    }
}

extension Contents.PushRow {
    fileprivate func isSettled(before: Instant) -> Bool { settledAt.map { $0 < before } ?? false }
}

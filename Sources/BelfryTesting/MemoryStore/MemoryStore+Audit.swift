package import BelfryService

extension MemoryStore {
    package func audited<Value: Sendable>(
        _ change: AuditedChange, _ work: () async throws -> Value
    ) async throws -> Value {
        let value = try await work()
        let now = clock.now
        transaction { contents in
            contents.audit.append(AuditEntry(key: contents.nextKey(), at: now, change: change))
        }
        return value
    }

    package func auditLog(_ query: AuditQuery) async throws -> [AuditEntry] {
        let found = contents.audit.reversed().filter { entry in
            entry.change.isWithin(query.bounds) && (query.keyID.map { entry.change.keyID == $0 } ?? true)
                && query.from <= entry.at && entry.at < query.until && (query.before.map { entry.key < $0 } ?? true)
        }
        return Array(found.prefix(query.limit))
    }
}

extension AuditedChange {
    fileprivate func isWithin(_ bounds: AdminKey.Bounds) -> Bool {
        switch bounds {
        case .everything: true
        case .tenant(let asked): tenant == asked
        case .application(let asked, _): application == asked
        }
    }
}

extension Store {
    /// Makes a change and writes its line. Where the store has transactions, the line is in the same one as the first
    /// write of the change, so that neither is ever stored without the other. A change that throws, or that found nothing to change
    /// (`writeChange`), leaves no line.
    package func audited<Value: Sendable>(
        _ change: AuditedChange, _ work: () async throws -> Value
    ) async throws -> Value {
        let signature = PendingAuditEntry(change)
        let value = try await PendingAuditEntry.$pending.withValue(signature) { try await work() }
        if !signature.isKept, !signature.isVoid { try await write { try signature.write(in: $0) } }
        return value
    }

    /// Like `audited`, for a change of one thing: throws `StoreError.unknown` where `work` finds none.
    func audited<Value: Sendable>(
        _ change: AuditedChange, orUnknown thing: String, _ work: () async throws -> Value?
    ) async throws -> Value {
        try await audited(change) {
            guard let value = try await work() else { throw StoreError.unknown("such \(thing)") }
            return value
        }
    }

    func audited(_ change: AuditedChange, orUnknown thing: String, _ work: () async throws -> Bool) async throws {
        try await audited(change) { guard try await work() else { throw StoreError.unknown("such \(thing)") } }
    }

    /// The line of whoever sent a push; nil where the log has none, as of a push by an application's own key or a schedule.
    package func auditEntry(of push: PushHead) async throws -> AuditEntry? {
        // The line is written with the push, or just after it.
        try await readCommitted { db in
            try db.prepared(AuditStatements.ofPush).first(
                push.acceptedAt + .seconds(-3), push.acceptedAt + .seconds(3), push.applicationKey,
                #""receipt_id":"\#(push.receiptID.lowercased)""#, as: AuditEntry.init)
        }
    }

    package func auditLog(_ query: AuditQuery) async throws -> [AuditEntry] {
        // Others pass over lines that are not asked for.
        let isShort = query.keyID == nil && query.from == .distantPast && query.until == .distantFuture
        guard !isShort else { return try await read { try $0.auditLog(query) } }
        var application: Key<Application>?
        if case .application(let key, _) = query.bounds { application = key }
        return try await search(for: application) { db, _ in try db.auditLog(query) }
    }
}

extension SQLConnection {
    fileprivate func auditLog(_ query: AuditQuery) throws -> [AuditEntry] {
        let before = query.before ?? Key(.max)
        switch query.bounds {
        case .everything:
            return try prepared(AuditStatements.all).all(
                before, query.limit, query.from, query.until, query.keyID, as: AuditEntry.init)
        case .tenant(let tenant):
            return try prepared(AuditStatements.ofTenant).all(
                before, query.limit, query.from, query.until, query.keyID, tenant, as: AuditEntry.init)
        case .application(let application, _):
            return try prepared(AuditStatements.ofApplication).all(
                before, query.limit, query.from, query.until, query.keyID, application, as: AuditEntry.init)
        }
    }
}

extension AuditEntry {
    /// From the columns of `AuditStatements.all` and its like. A line whose details cannot be read has them as they are stored.
    fileprivate init(_ row: some SQLRow) {
        var details: [String: String] = [:]
        do {
            try JSONReader.document(row.blob(8)) { reader, key throws(InvalidInput) in
                details[key] = try reader.string(key)
            }
        } catch {
            details = ["unreadable": row.text(8)]
        }
        self.init(
            key: Key(row.integer(0)), at: Instant(milliseconds: row.integer(1)),
            change: AuditedChange(
                keyID: row.textIfAny(2), address: row.textIfAny(3), action: row.text(4), subject: row.text(5),
                tenant: row.integerIfAny(6).map { Key($0) }, application: row.integerIfAny(7).map { Key($0) },
                details: details))
    }
}

enum AuditStatements {
    static let insert: SQLText = """
        INSERT INTO audit /* audit.insert */ (
            at_ms, key_id, address, action, subject, tenant_id, application_id, details)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        """

    static let all = newest("all")
    /// Scans `audit_tenant` backwards.
    static let ofTenant = newest("of_tenant", of: "tenant_id = $6 AND ")
    /// Scans `audit_application` backwards.
    static let ofApplication = newest("of_application", of: "application_id = $6 AND ")

    private static func newest(_ name: String, of owner: String = "") -> SQLText {
        """
        SELECT id, at_ms, key_id, address, action, subject, tenant_id, application_id, details /* audit.\(name) */
          FROM audit
         WHERE \(owner)id < $1 AND at_ms >= $3 AND at_ms < $4
           AND ($5 IS NULL OR coalesce(key_id, '\(AuditedChange.local)') = $5)
         ORDER BY id DESC
         LIMIT $2
        """
    }

    /// Scans `audit_at`, a few seconds of it.
    static let ofPush: SQLText = """
        SELECT id, at_ms, key_id, address, action, subject, tenant_id, application_id, details /* audit.of_push */
          FROM audit
         WHERE at_ms >= $1 AND at_ms <= $2 AND application_id + 0 = $3 AND \(SQLText.position)(details, $4) > 0
         ORDER BY at_ms
         LIMIT 1
        """
}

extension Schema {
    static let audit = SchemaPart(
        [
            StoreTable("audit", rows: .retention("retention.audit.days")),
            StoreTable("audit_horizon", rows: .operators, isCopied: false),
        ],
        sql: """
            -- Append-only, by trigger. A line outlives what it is about.
            CREATE TABLE audit (
                id \(.key),
                at_ms \(.bigint) NOT NULL,
                key_id text,
                address text,
                action text NOT NULL,
                subject text NOT NULL,
                tenant_id \(.bigint),
                application_id \(.bigint),
                details text NOT NULL
            ) \(.byID);
            CREATE INDEX audit_at ON audit (at_ms);
            CREATE INDEX audit_tenant ON audit (tenant_id\(postgres: ", id")) WHERE tenant_id IS NOT NULL;
            CREATE INDEX audit_application ON audit (application_id\(postgres: ", id")) WHERE application_id IS NOT NULL;

            -- Lines of the audit log older than this were deleted. It only rises, by trigger, and only older lines can be
            -- deleted.
            CREATE TABLE audit_horizon (
                id \(.bigint) PRIMARY KEY CHECK (id = 1),
                at_ms \(.bigint) NOT NULL
            ) \(.byID);
            """)
}

extension SQLStore {
    package func note(_ fault: ConnectionFault, on platform: Key<Platform>) async throws {
        try await write { session in
            try session.prepared(ConnectionFaultStatements.note).send(
                platform, fault.kind.rawValue, fault.detail, session.now)
        }
    }

    package func connectionFaults(of push: Key<Push>) async throws -> [PlatformFault] {
        try await readCommitted { db in
            try db.prepared(ConnectionFaultStatements.ofPush).all(push) { row in
                guard let uuid = row.uuid(0), let kind = ConnectionFault.Kind(rawValue: row.text(1)) else {
                    throw StoreError.damaged("a connection fault of push \(push)")
                }
                return PlatformFault(
                    platform: uuid, fault: ConnectionFault(kind, row.text(2)), at: Instant(milliseconds: row.integer(3))
                )
            }
        }
    }
}

enum ConnectionFaultStatements {
    static let note: SQLText = """
        INSERT INTO connection_fault /* connection_faults.note */ (platform_id, kind, detail, at_ms)
        SELECT id, $2, $3, $4 FROM platform WHERE id = $1
            ON CONFLICT (platform_id) DO UPDATE
           SET kind = excluded.kind, detail = excluded.detail, at_ms = excluded.at_ms
        """

    /// Reads the push's batches only for platforms that had a fault.
    static let ofPush: SQLText = """
        SELECT platform.uuid, connection_fault.kind, detail, at_ms /* connection_faults.of_push */
          FROM push
          JOIN platform ON platform.application_id = push.application_id
          JOIN connection_fault ON connection_fault.platform_id = platform.id AND at_ms >= accepted_at_ms
         WHERE push.id = $1
           AND EXISTS (SELECT 1 FROM batch WHERE push_id = $1 AND batch.platform_id = platform.id AND is_open)
         ORDER BY platform.id
        """
}

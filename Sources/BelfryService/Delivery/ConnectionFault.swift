package import FoundationEssentials

/// The reason why a connection to a provider failed. Nothing was sent, and another attempt may succeed.
package struct ConnectionFault: Sendable, Hashable, CustomStringConvertible {
    /// A metric label, so the set is closed.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The name of the host has no address.
        case dns
        /// The connection was refused, or the host cannot be reached.
        case connect
        case timeout
        /// TLS failed, most often because a certificate is not trusted.
        case tls
        /// The connection ended before it could be used, or the peer speaks another protocol.
        case closed
        /// The proxy opened no connection.
        case proxy

        /// The beginning of such an attempt's line in the history of a device.
        var unreachable: String { "unreachable (\(rawValue))" }
    }

    package let kind: Kind
    /// A human-readable reason, which callers see too: it contains no secret, and no port of an address that is not
    /// public.
    package let detail: String

    package var description: String { detail }

    package init(_ kind: Kind, _ detail: String) {
        self.kind = kind
        self.detail = detail
    }
}

/// The last connection fault of a platform.
package struct PlatformFault: Sendable, Hashable {
    package let platform: UUID
    package let fault: ConnectionFault
    package let at: Instant

    package init(platform: UUID, fault: ConnectionFault, at: Instant) {
        self.platform = platform
        self.fault = fault
        self.at = at
    }
}

extension Store {
    /// Stores the fault in place of the platform's last one. Does nothing if the platform was deleted.
    package func note(_ fault: ConnectionFault, on platform: Key<Platform>) async throws {
        try await write { session in
            try session.prepared(ConnectionFaultStatements.note).send(
                platform, fault.kind.rawValue, fault.detail, session.now)
        }
    }

    /// The last faults of the platforms on which devices of the push wait, in the order of the platforms. A fault from
    /// before the push was accepted is left out, since the push is not affected by it.
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

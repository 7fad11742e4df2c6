import GRDB

extension SQLiteStore {
    /// Takes over the leases of a server before this one: none has to lapse first. Returns how many batches.
    ///
    /// Call it only where the other is certainly gone. Its claims count as lapsed, as they would after their leases: devices of an
    /// at-least-once push are sent to again, those of an at-most-once push become `unknown`.
    package func takeOver() async throws -> Int {
        try await write { session in
            let now = session.now
            let batches = try session.prepared(TakeoverStatements.batches).run(now)
            for sql in [TakeoverStatements.fanOuts, TakeoverStatements.requests, TakeoverStatements.geofences] {
                try session.prepared(sql).run(now)
            }
            for sql in [TakeoverStatements.mirror, TakeoverStatements.nodes] { try session.prepared(sql).run() }
            try session.prepared(TakeoverStatements.probes).run(now)
            let services = try session.prepared(TakeoverStatements.services).all {
                (platform: $0.integer(0), parked: [ParkedService](stored: $0.text(1)))
            }
            for (platform, parked) in services {
                let tried = parked.map { ParkedService(origin: $0.origin, parking: $0.parking.probed(until: now)) }
                try session.prepared(PlatformStatements.setParkedServices).run(
                    tried.storedText, Key<Platform>(platform))
            }
            session.registryChanged()
            session.effects.due = .all
            return batches
        }
    }
}

/// The leases of a server that ended, each due at once.
private enum TakeoverStatements {
    /// Scans the open batches, by `batch_due`.
    static let batches = """
        UPDATE batch /* takeover.batches */ SET due_at_ms = ?1
         WHERE is_open = true AND claim_count > 0 AND due_at_ms > ?1
        """

    static let fanOuts = """
        UPDATE fan_out /* takeover.fan_outs */ SET due_at_ms = ?1 WHERE is_claimed = true AND due_at_ms > ?1
        """

    /// Requests with an `Idempotency-Key` that were not answered: none is running any more.
    static let requests = """
        UPDATE idempotency /* takeover.requests */ SET held_until_ms = ?1 WHERE held_until_ms > ?1
        """

    static let geofences = """
        UPDATE geofence_update /* takeover.geofences */ SET held_until_ms = ?1 WHERE held_until_ms > ?1
        """

    static let mirror = "DELETE FROM mirror_holder /* takeover.mirror */"

    /// No node is left that could be sending.
    static let nodes = "DELETE FROM node /* takeover.nodes */"

    static let services = """
        SELECT id, parked_services /* takeover.services */ FROM platform WHERE parked_services IS NOT NULL
        """

    /// Refused credentials are tried at once, whether or not an attempt was under way.
    static let probes = """
        UPDATE platform /* takeover.probes */ SET probe_at_ms = ?1 WHERE parked_cause = 'credentials' AND probe_at_ms > ?1
        """
}

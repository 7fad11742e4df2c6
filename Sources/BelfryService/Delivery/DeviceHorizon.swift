import PostgreSQL

/// The highest device id up to which no transaction can still insert.
///
/// Ids are taken before commit, so commits may arrive out of order. The horizon is the newest id of a time before the
/// oldest open transaction began. Readers that scan by id stop here (`DeviceSearchIndex`, `PostgresSubscriptionMerge`).
struct DeviceHorizon {
    let session: PostgresWriteSession

    /// Advances the horizon, once all transactions that were open at the last step have ended.
    func step() throws {
        let look = try session.prepared(HorizonStatements.lastLook).first { row in
            (settled: row.integer(0), newest: row.integer(1), isPassed: row.bool(2))
        }
        guard let look, look.isPassed else { return }
        // Fixed order: a transaction that has taken an id by now has a number by which the next statement recognises
        // it.
        let newest = try session.prepared(HorizonStatements.newestDevice).first { $0.integer(0) } ?? 0
        guard newest > look.settled else { return }
        try session.prepared(HorizonStatements.set).run(look.newest, newest)
    }
}

enum HorizonStatements {
    static let lastLook = """
        SELECT settled_device_id, newest_device_id,
               seen_before <= pg_snapshot_xmin(pg_current_snapshot()) /* horizon.last_look */
          FROM device_horizon
         WHERE id = 1
        """

    static let newestDevice = """
        SELECT CASE WHEN is_called THEN last_value ELSE 0 END /* horizon.newest_device */ FROM device_id_seq
        """

    static let set = """
        UPDATE device_horizon /* horizon.set */
           SET settled_device_id = $1, newest_device_id = $2, seen_before = pg_snapshot_xmax(pg_current_snapshot())
         WHERE id = 1
        """
}

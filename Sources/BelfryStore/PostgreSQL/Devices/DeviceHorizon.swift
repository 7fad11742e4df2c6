import BelfryCore
import PostgreSQL

/// Up to which device none comes any more.
///
/// Ids do not ascend as commits do: the transaction that took an id may commit later. So it is the newest that there was when the
/// oldest transaction of now had not begun. A reader of devices in the order of their ids goes no further
/// (`DeviceSearchIndex`, `PostgresSubscriptionMerge`).
struct DeviceHorizon {
    let session: PostgresWriteSession

    /// Looks how far devices have come, once no transaction of the last look is open any more.
    func step() throws {
        let look = try session.prepared(HorizonStatements.lastLook).first { row in
            (settled: row.integer(0), newest: row.integer(1), isPassed: row.bool(2))
        }
        guard let look, look.isPassed else { return }
        // In this order: who has taken an id by now has a number by which the next statement knows its transaction.
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

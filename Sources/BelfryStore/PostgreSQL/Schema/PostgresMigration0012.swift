/// Up to which device none comes any more is a thing of its own, for all who take devices in the order they came.
enum PostgresMigration0012 {
    static let migration = Migration(identifier: "0012 the horizon of devices", sql: sql)

    /// - `device_horizon`: no device up to `settled_device_id` is still to be committed, nor one up to `newest_device_id` once
    ///   no transaction before `seen_before` is open; see `DeviceHorizon`.
    private static let sql = """
        CREATE TABLE device_horizon (
            id bigint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
            settled_device_id bigint NOT NULL DEFAULT 0 CHECK (settled_device_id >= 0),
            newest_device_id bigint NOT NULL DEFAULT 0 CHECK (newest_device_id >= settled_device_id),
            seen_before xid8 NOT NULL DEFAULT '0'
        );

        INSERT INTO device_horizon (settled_device_id, newest_device_id, seen_before)
        SELECT settled_device_id, horizon_device_id, horizon_transaction FROM catalogue;

        ALTER TABLE catalogue
            DROP COLUMN settled_device_id, DROP COLUMN horizon_device_id, DROP COLUMN horizon_transaction;
        """
}

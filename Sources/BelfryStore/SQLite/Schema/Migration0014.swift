/// Devices are found by their tokens in a table of its own, which new ones reach many at a time.
///
/// Whoever changes it writes the next migration; this one has landed.
enum Migration0014 {
    static let identifier = "0014 token index"

    /// - `device_token`: see `TokenIndex`, which alone adds to it. The two triggers take out what a device no longer has.
    /// - `token_mark`: `slice` is what the upper six bits of the hash say, from 0 for the smallest; the table has the tokens of
    ///   all devices of the slice up to `device_id`.
    static let sql = """
        DROP INDEX device_token;
        CREATE TABLE device_token (
            token_hash INTEGER NOT NULL,
            device_id INTEGER NOT NULL,
            PRIMARY KEY (token_hash, device_id)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO device_token (token_hash, device_id)
        SELECT token_hash, id FROM device WHERE token_hash IS NOT NULL ORDER BY token_hash, id;

        CREATE TRIGGER device_token_lost AFTER DELETE ON device WHEN OLD.token_hash IS NOT NULL
        BEGIN
            DELETE FROM device_token WHERE token_hash = OLD.token_hash AND device_id = OLD.id;
        END;
        CREATE TRIGGER device_token_changed AFTER UPDATE OF token_hash ON device
        WHEN OLD.token_hash IS NOT NULL AND NEW.token_hash IS NOT OLD.token_hash
        BEGIN
            DELETE FROM device_token WHERE token_hash = OLD.token_hash AND device_id = OLD.id;
        END;

        CREATE TABLE token_mark (
            slice INTEGER PRIMARY KEY CHECK (slice BETWEEN 0 AND 63),
            device_id INTEGER NOT NULL CHECK (device_id >= 0)
        ) STRICT;
        INSERT INTO token_mark (slice, device_id)
        WITH RECURSIVE slice (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM slice WHERE n < 63)
        SELECT n, (SELECT coalesce(max(id), 0) FROM device) FROM slice;
        """
}

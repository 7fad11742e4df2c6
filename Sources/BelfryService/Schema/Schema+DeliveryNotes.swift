/// Tables of notes on a push beyond its answers. Both have a row only where there is something to note.
extension Schema {
    static let deliveryNotes: SQLText = """
        -- A line for each of a batch's last attempts, see `AttemptNote`. It goes with the batch.
        CREATE TABLE batch_history (
            batch_id \(.bigint) PRIMARY KEY REFERENCES batch (id) ON DELETE CASCADE,
            attempts text NOT NULL CHECK (attempts <> '')
        ) \(.byID);

        -- The devices that a push's target named and nobody had; see `UnknownDevices`. It goes with the push.
        CREATE TABLE unknown_device (
            push_id \(.bigint) PRIMARY KEY REFERENCES push (id) ON DELETE CASCADE,
            uuids text NOT NULL,
            device_count \(.bigint) NOT NULL CHECK (device_count > 0)
        ) \(.byID);
        """
}

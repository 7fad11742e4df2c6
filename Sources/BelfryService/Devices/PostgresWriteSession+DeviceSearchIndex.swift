import PostgreSQL

extension PostgresWriteSession {
    /// Nodes count devices in `SharedUse`.
    func noteIndexed(_ counts: [Int64: Int], until device: Int64) {}

    /// Called for devices whose token, custom user id or alias changed.
    func noteStaleDevices(_ devices: [Key<Device>]) throws {
        guard !devices.isEmpty else { return }
        try prepared(PostgresSearchIndexStatements.noteStaleDevices).send(PostgresArray(devices.sorted()))
    }
}

enum PostgresSearchIndexStatements {
    /// Devices that are stale already are locked: they stay stale until this transaction has ended.
    static let noteStaleDevices = """
        INSERT INTO search_index_stale /* search_index.note_stale */ (device_id)
        SELECT device_id FROM unnest($1) AS changed (device_id)
            ON CONFLICT (device_id) DO UPDATE SET changes = search_index_stale.changes + 1
        """
}

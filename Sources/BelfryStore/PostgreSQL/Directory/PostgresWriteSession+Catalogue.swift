import BelfryCore
import PostgreSQL

extension PostgresWriteSession {
    /// Nodes count devices in `SharedUse`.
    func noteCatalogued(_ counts: [Int64: Int], until device: Int64) {}

    /// To be told of devices whose token, custom user id or alias changed.
    func noteErrata(_ devices: [Key<Device>]) throws {
        guard !devices.isEmpty else { return }
        try prepared(PostgresCatalogueStatements.noteErrata).send(PostgresArray(devices.sorted()))
    }
}

enum PostgresCatalogueStatements {
    /// Those that are noted already are locked: they cannot be taken before this transaction has ended.
    static let noteErrata = """
        INSERT INTO catalogue_erratum /* catalogue.note_errata */ (device_id)
        SELECT device_id FROM unnest($1) AS changed (device_id)
            ON CONFLICT (device_id) DO UPDATE SET device_id = excluded.device_id
        """
}

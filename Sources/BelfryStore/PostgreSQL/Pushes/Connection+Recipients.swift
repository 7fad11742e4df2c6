import BelfryCore
import PostgreSQL

extension Connection {
    func recipients(of batch: Batch) throws -> [Recipient] {
        try prepared(PostgresTokenStatements.among).all(PostgresArray(batch.ready.map { batch.devices[$0] })) { row in
            Recipient(device: Key(row.integer(0)), token: DeviceToken(bytes: row.blob(1)))
        }
    }
}

enum PostgresTokenStatements {
    /// Looks each up in the primary key; see `PostgresDeviceStatements`.
    static let among = """
        SELECT id, token /* tokens.among */ FROM device WHERE id = ANY ($1) AND reach + 0 > 0 ORDER BY id
        """
}

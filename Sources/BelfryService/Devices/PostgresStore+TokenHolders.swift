import PostgreSQL

extension PostgresStore {
    package func holders(
        of tokens: [DeviceToken], on platform: Key<Platform>
    ) async throws -> [DeviceToken: TokenHolder] {
        let hashes = tokens.map { secrets.hash($0) }
        return try await readCommitted { [secrets] db in
            var rows: [[UInt8]: DeviceRow] = [:]
            try db.prepared(PostgresTokenHolderStatements.byToken).each(
                platform, PostgresArray(hashes)
            ) { row in
                let row = try DeviceRow(row)
                if let token = row.token { rows[token.identity] = row }
            }
            var holders: [DeviceToken: TokenHolder] = [:]
            for token in tokens {
                guard let device = rows[token.identity]?.device(naming: secrets.naming, topicNames: []) else {
                    continue
                }
                holders[token] = TokenHolder(device: device.key, uuid: device.uuid, isActive: device.isActive)
            }
            return holders
        }
    }
}

enum PostgresTokenHolderStatements {
    /// Looks each up in `device_token`; see `PostgresDeviceStatements`.
    static let byToken = """
        SELECT id, reach, registered_at_ms, token, topics, custom_user_id,
               os, os_version, model, manufacturer, alias, platform_id,
               imported_uuid, imported_at_ms, import_stage /* token_holders.by_token */
          FROM device
         WHERE token_hash = ANY ($2) AND token_hash IS NOT NULL AND platform_id + 0 = $1
        """
}

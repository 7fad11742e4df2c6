extension SQLiteStore {
    /// Asks the writer, which alone knows the tokens of the newest devices; see `TokenIndex`.
    package func holders(
        of tokens: [DeviceToken], on platform: Key<Platform>
    ) async throws -> [DeviceToken: TokenHolder] {
        let hashes = tokens.map { ($0, secrets.hash(of: $0)) }
        return try await write { session in
            let index = TokenIndex(session: session)
            var holders: [DeviceToken: TokenHolder] = [:]
            for (token, hash) in hashes {
                guard let row = try index.holder(of: token, hash, on: platform) else { continue }
                let device = row.device(naming: session.secrets.naming, topicNames: [])
                holders[token] = TokenHolder(device: device.key, uuid: device.uuid, isActive: device.isActive)
            }
            return holders
        }
    }
}

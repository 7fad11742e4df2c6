import PostgreSQL

// What a burst needs, in a statement each.

extension Connection {
    func devices(ofUsers ids: [String], on platforms: [Key<Platform>], atMost limit: Int) throws -> DevicesByPlatform {
        var found: [Key<Platform>: Set<Key<Device>>] = [:]
        try prepared(PostgresBurstStatements.ofUsers).each(PostgresArray(platforms), PostgresArray(ids), limit) { row in
            found[Key(row.integer(0)), default: []].insert(Key(row.integer(1)))
        }
        return found.mapValues { $0.sorted() }
    }

    func pushes(_ keys: [Key<Push>], known: [Push?], keep: (Push, Int) -> Void) throws -> [PushLoading] {
        let unread = zip(keys, known).filter { $0.1 == nil }.map(\.0)
        var (found, others): ([PushLoading], [Int]) = ([], [])
        try prepared(PostgresBurstStatements.pushes).each(
            PostgresArray(keys), PostgresArray(unread), Burst.contentBytesMax
        ) { row in
            let known = known[found.count]
            if let known, row.uuid(1) != known.receiptID { others.append(found.count) }
            found.append(try loading(row, known: known, keep))
        }
        // See `PushCache`.
        for place in others {
            let loaded = try prepared(PushStatements.byKey).first(keys[place]) { try loading($0, known: nil, keep) }
            found[place] = loaded ?? .gone
        }
        return found
    }

    private func loading(_ row: Row, known: Push?, _ keep: (Push, Int) -> Void) throws -> PushLoading {
        guard !row.isNull(0) else { return .gone }
        if let known { return .found(known) }
        guard let push = try readable({ try Push(row) }) else { return .damaged }
        keep(push, row.pushBytes)
        return .found(push)
    }

    func recipients(of batches: [Batch]) throws -> [[Recipient]] {
        let ready = batches.map { batch in batch.ready.map { batch.devices[$0] } }
        var recipients: [Key<Device>: Recipient] = [:]
        try prepared(PostgresBurstStatements.tokens).each(PostgresArray(ready.joined())) { row in
            let device = Key<Device>(row.integer(0))
            recipients[device] = Recipient(
                device: device, token: DeviceToken(bytes: row.blob(1)),
                registeredAt: Instant(milliseconds: row.integer(2)))
        }
        return ready.map { devices in devices.compactMap { recipients[$0] } }
    }
}

enum PostgresBurstStatements {
    /// Scans `device_custom_user` for each user on each platform.
    static let ofUsers = """
        SELECT platform.id, device.id /* devices.of_users */
          FROM unnest($1) AS platform (id) CROSS JOIN unnest($2) AS wanted (custom_user_id)
         CROSS JOIN LATERAL (
            SELECT id FROM device
             WHERE platform_id = platform.id AND device.custom_user_id = wanted.custom_user_id AND reach > 0
             ORDER BY id
             LIMIT $3) AS device
        """

    /// Returns a row for each key, of NULLs where there is no such push. The content of pushes that are not among `$2` is left out; no more
    /// rows come once so many bytes have.
    static let pushes = """
        SELECT id, receipt_id, application_id, lane, guarantee, accepted_at_ms, expires_at_ms,
               CASE WHEN is_read THEN content END, CASE WHEN is_read THEN audience END, platforms /* pushes.among */
          FROM (SELECT push.id, receipt_id, application_id, lane, guarantee, accepted_at_ms, expires_at_ms, content,
                       audience, platforms, is_read, place, bytes, sum(bytes) OVER (ORDER BY place) AS total
                  FROM (SELECT wanted.id, place, wanted.id = ANY ($2) AS is_read
                          FROM unnest($1) WITH ORDINALITY AS wanted (id, place)) AS wanted
                  LEFT JOIN push ON push.id = wanted.id
                 CROSS JOIN LATERAL (
                    SELECT CASE WHEN is_read THEN coalesce(octet_length(content) + octet_length(audience), 0) ELSE 0 END
                           AS bytes) AS size) AS found
         WHERE total - bytes < $3
         ORDER BY place
        """

    /// Looks each up in the primary key; see `PostgresDeviceStatements`.
    static let tokens = """
        SELECT id, token, registered_at_ms /* tokens.among */ FROM device
         WHERE id = ANY ($1) AND reach + 0 > 0
         ORDER BY id
        """
}

import GRDB

extension Database {
    /// Finding a device costs about as much as skipping ten.
    private static let gapMax: Int64 = 8

    func devices(ofUsers ids: [String], on platforms: [Key<Platform>], atMost limit: Int) throws -> DevicesByPlatform {
        let ofUser = try prepared(PostingStatements.customUser)
        var found: DevicesByPlatform = [:]
        for platform in platforms {
            var devices: Set<Key<Device>> = []
            for id in ids where devices.count < limit {
                try ofUser.each(platform, id, 0, limit) { devices.insert(Key($0.integer(0))) }
            }
            if !devices.isEmpty { found[platform] = devices.sorted() }
        }
        return found
    }

    func pushes(_ keys: [Key<Push>], known: [Push?], keep: (Push, Int) -> Void) throws -> [PushLoading] {
        let exists = try prepared(PushStatements.receiptOf)
        let read = try prepared(PushStatements.byKey)
        var room = Burst.contentBytesMax
        var found: [PushLoading] = []
        for (key, known) in zip(keys, known) where room > 0 {
            if let known {
                found.append(try exists.first(key) { _ in .found(known) } ?? .gone)
                continue
            }
            let loading = try read.first(key) { row -> PushLoading in
                room -= row.pushBytes
                guard let push = try readable({ try Push(row) }) else { return .damaged }
                keep(push, row.pushBytes)
                return .found(push)
            }
            found.append(loading ?? .gone)
        }
        return found
    }

    func recipients(of batches: [Batch]) throws -> [[Recipient]] { try batches.map { try recipients(of: $0) } }

    /// The devices of a batch are close to one another when its push goes to most of a platform: then one range of the
    /// table contains them, and reading a few others in between costs less than finding each.
    private func recipients(of batch: Batch) throws -> [Recipient] {
        let ready = batch.ready.map { batch.devices[$0] }
        guard let first = ready.first, let last = ready.last else { return [] }
        return last.rawValue - first.rawValue < Int64(ready.count) * Self.gapMax
            ? try recipients(among: ready, from: first, to: last) : try recipients(oneByOne: ready)
    }

    private func recipients(
        among ready: [Key<Device>], from first: Key<Device>, to last: Key<Device>
    ) throws -> [Recipient] {
        var recipients: [Recipient] = []
        recipients.reserveCapacity(ready.count)
        var next = 0
        try prepared(SQLiteTokenStatements.slice).each(first, last) { row in
            let key = Key<Device>(row.integer(0))
            while next < ready.count, ready[next] < key { next += 1 }
            guard next < ready.count, ready[next] == key else { return }
            recipients.append(
                Recipient(
                    device: key, token: DeviceToken(bytes: row.blob(1)),
                    registeredAt: Instant(milliseconds: row.integer(2))))
        }
        return recipients
    }

    private func recipients(oneByOne ready: [Key<Device>]) throws -> [Recipient] {
        let statement = try prepared(SQLiteTokenStatements.one)
        return try ready.compactMap { key in
            try statement.first(key) { row in
                Recipient(
                    device: key, token: DeviceToken(bytes: row.blob(0)),
                    registeredAt: Instant(milliseconds: row.integer(1)))
            }
        }
    }
}

enum SQLiteTokenStatements {
    static let slice = """
        SELECT id, token, registered_at_ms /* tokens.slice */ FROM device
         WHERE id BETWEEN ?1 AND ?2 AND reach > 0
         ORDER BY id
        """

    static let one = "SELECT token, registered_at_ms /* tokens.one */ FROM device WHERE id = ?1 AND reach > 0"
}

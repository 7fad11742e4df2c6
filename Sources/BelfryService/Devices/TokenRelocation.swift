import GRDB
import PostgreSQL

/// Records the new tokens that a provider named for devices of a platform, within a write.
struct PostgresRelocation {
    let session: PostgresWriteSession
    let platform: Key<Platform>

    /// All affected rows are read and locked first, in the order of their ids.
    func relocate(_ moves: [Settlement.Move]) throws {
        guard !moves.isEmpty else { return }
        let hashes = moves.map { session.secrets.hash($0.to) }
        let holding = try session.prepared(PostgresDeviceStatements.byToken).all(
            PostgresArray(moves.map { _ in platform }), PostgresArray(hashes)
        ) { Key<Device>($0.integer(0)) }
        let keys = Set(holding + moves.map(\.device)).sorted()
        let found = try session.prepared(PostgresDeviceStatements.hold).all(PostgresArray(keys)) { row in
            try readable { try DeviceRow(row) }
        }.compactMap(\.self)
        var rows = Dictionary(
            uniqueKeysWithValues: found.lazy.filter { $0.platform == platform }.map { ($0.key, $0) })
        var postings = PostingChanges()
        var moved: [Key<Device>] = []
        var gone: [Key<Device>] = []
        for (move, hash) in zip(moves, hashes) {
            guard let row = rows[move.device] else { continue }
            let holder = rows.values.first { $0.token?.identity == move.to.identity }
            switch TokenMove(of: row.party, from: move.from, holder: holder?.party) {
            case .stale: continue
            case .superseded:
                rows[row.key]?.reach = .inactive
                if row.reach != .inactive { gone.append(row.key) }
                session.count(.inactive, insteadOf: row.reach, on: platform)
                try session.prepared(PostgresDeviceStatements.cede).send(row.key)
                postings.move(row.key, on: platform, from: row.postings, to: [])
            case .taken(let evicted):
                if let evicted, let old = rows[evicted] {
                    rows[evicted]?.reach = .inactive
                    if old.reach != .inactive { gone.append(evicted) }
                    rows[evicted]?.token = nil
                    session.count(.inactive, insteadOf: old.reach, on: platform)
                    try session.prepared(PostgresDeviceStatements.evict).send(PostgresArray([evicted]))
                    postings.move(evicted, on: platform, from: old.postings, to: [])
                }
                rows[row.key]?.token = move.to
                try session.prepared(DeviceStatements.move).send(session.now, hash, move.to.bytes, row.key)
                moved.append(row.key)
            }
        }
        try session.noteStaleDevices(moved)
        try postings.write(in: session)
        try session.tell(.deviceGone, gone, on: platform, because: "replaced")
    }
}

extension PostgresWriteSession {
    package func relocate(_ moves: [Settlement.Move], on platform: Key<Platform>) throws {
        try PostgresRelocation(session: self, platform: platform).relocate(moves)
    }

    package func deactivate(
        _ deadTokens: [Settlement.DeadToken], on platform: Key<Platform>, as loss: PlatformActivity.Figure
    ) throws {
        guard !deadTokens.isEmpty else { return }
        var postings = PostingChanges()
        var gone: [Key<Device>] = []
        try prepared(PostgresDeviceStatements.deactivateDeadTokens).each(
            platform, PostgresArray(deadTokens.map(\.device)), PostgresArray(deadTokens.map(\.token?.bytes)),
            PostgresArray(deadTokens.map(\.since))
        ) { row in
            let topics = row.withBlob(1) { TopicList.readable($0) }
            postings.move(Key(row.integer(0)), on: platform, from: topics, to: [])
            count(loss, on: platform)
            gone.append(Key(row.integer(0)))
        }
        try postings.write(in: self)
        try tell(.deviceGone, gone, on: platform, because: loss.reason)
    }
}

/// Records the new token that a provider named for a device, within a write.
struct SQLiteRelocation {
    let session: SQLiteWriteSession
    let platform: Key<Platform>
    let move: Settlement.Move

    func relocate() throws {
        guard let row = try readable({ try session.device(move.device, on: platform) }) ?? nil else { return }
        let tokenHash = session.secrets.hash(of: move.to)
        let holder = try TokenIndex(session: session).holder(of: move.to, tokenHash, on: platform)
        let comebacks = session.comebacks
        switch TokenMove(of: comebacks.party(row), from: move.from, holder: holder.map(comebacks.party)) {
        case .stale: return
        case .superseded: try session.deactivate(row, on: platform, as: .lost)
        case .taken(let evicted):
            if evicted != nil, let holder { try session.evict(holder, on: platform) }
            var moved = row
            moved.token = move.to
            try session.prepared(DeviceStatements.move).run(session.now, tokenHash, move.to.bytes, row.key)
            try TokenIndex(session: session).note(tokenHash, of: row.key, on: platform)
            try session.noteStaleDevice(moved, insteadOf: row)
        }
    }
}

extension SQLiteWriteSession {
    package func relocate(_ moves: [Settlement.Move], on platform: Key<Platform>) throws {
        for move in moves { try SQLiteRelocation(session: self, platform: platform, move: move).relocate() }
    }
}

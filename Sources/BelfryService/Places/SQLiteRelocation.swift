import GRDB

/// Records the new token that a provider named for a device, within a write.
struct SQLiteRelocation {
    let session: SQLiteWriteSession
    let platform: Key<Platform>
    let move: Settlement.Move

    func relocate() throws {
        guard let row = try readable({ try session.device(move.device, on: platform) }) ?? nil else { return }
        let tokenHash = session.secrets.hash(of: move.to)
        let holder = try TokenIndex(session: session).holder(of: move.to, tokenHash, on: platform)
        switch TokenMove(of: row.party, from: move.from, holder: holder?.party) {
        case .stale: return
        case .superseded: try session.deactivate(row, on: platform)
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
    func relocate(_ moves: [Settlement.Move], on platform: Key<Platform>) throws {
        for move in moves { try SQLiteRelocation(session: self, platform: platform, move: move).relocate() }
    }
}

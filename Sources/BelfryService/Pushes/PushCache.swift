import FoundationEssentials
import Synchronization

/// The pushes used last. A push never changes once it is accepted, and its content is expensive to decode.
final class PushCache: Sendable {
    private let pushes = Mutex(BoundedCache<Key<Push>, Push>(countMax: bytesMax))

    /// The limit on their stored forms: some ten thousand small pushes, or the last thirty of the largest.
    private static let bytesMax = 8 << 20

    /// nil when there is no such push.
    func push(_ key: Key<Push>, in db: some SQLConnection) throws -> Push? {
        if let push = pushes.withLock({ $0.value(for: key) }) {
            return try db.prepared(PushStatements.exists).first(key) { _ in push }
        }
        return try db.prepared(PushStatements.byKey).first(key) { row in
            let push = try Push(row)
            keep(push, bytes: row.pushBytes)
            return push
        }
    }

    /// The push of each batch, in order. It stops, after one at least, when those that it read have so many bytes that no
    /// more are to be held at once.
    func pushes(of batches: [Batch], in db: some SQLConnection) throws -> [PushLoading] {
        let known = pushes.withLock { pushes in batches.map { pushes.value(for: $0.pushKey) } }
        return try db.pushes(batches.map(\.pushKey), known: known) { keep($0, bytes: $1) }
    }

    /// - Parameter bytes: how long it is as it is stored.
    func keep(_ push: Push, bytes: Int) {
        pushes.withLock { $0.set(push, for: push.key, weight: bytes) }
    }

    /// Called where a push was rolled back and its key may be assigned to another.
    func clear() { pushes.withLock { $0 = BoundedCache(countMax: Self.bytesMax) } }
}

extension SQLRow {
    /// How long a push is as it is stored, from the columns of `PushStatements.byKey`.
    var pushBytes: Int { withBlob(7) { $0.count } + withBlob(8) { $0.count } }
}

extension Push {
    /// From the columns of `PushStatements.byKey`.
    init(_ row: some SQLRow) throws {
        let head = try PushHead(row)
        self = try StoreError.reading("push \(head.key)") {
            Push(
                head, content: try Content(stored: row.blob(7)), audience: try Audience(stored: row.blob(8)),
                platforms: try row.textIfAny(9).map { try [PlatformKind](stored: $0) })
        }
    }
}

extension PushHead {
    /// From the first columns of `PushStatements.byKey`, which `headByReceipt` has as well.
    init(_ row: some SQLRow) throws {
        guard
            let receiptID = row.uuid(1),
            let lane = Lane(rawValue: row.integer(3)),
            let guarantee = Push.Guarantee(rawValue: row.integer(4))
        else { throw StoreError.damaged("push \(row.integer(0))") }
        self.init(
            key: Key(row.integer(0)), receiptID: receiptID, applicationKey: Key(row.integer(2)), lane: lane,
            guarantee: guarantee, acceptedAt: Instant(milliseconds: row.integer(5)),
            expiresAt: row.integerIfAny(6).map(Instant.init(milliseconds:)))
    }
}

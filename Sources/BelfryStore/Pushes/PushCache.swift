import BelfryCore
import FoundationEssentials
import Synchronization

/// The pushes used last. A push never changes once it is accepted, and its content is expensive to decode.
final class PushCache: Sendable {
    private struct State {
        var pushes: [Key<Push>: Push] = [:]
        /// In the order of their insertion; the oldest is dropped first.
        var order: [Key<Push>] = []
    }

    private let state = Mutex(State())

    /// Each may be as large as its audience of 4,096 devices.
    private static let countMax = 32

    /// nil when there is no such push.
    func push(_ key: Key<Push>, in db: some SQLConnection) throws -> Push? {
        if let push = state.withLock({ $0.pushes[key] }) {
            return try db.prepared(PushStatements.exists).first(key) { _ in push }
        }
        guard let push = try db.prepared(PushStatements.byKey).first(key, as: Push.init) else { return nil }
        keep(push)
        return push
    }

    func keep(_ push: Push) {
        state.withLock { state in
            guard state.pushes.updateValue(push, forKey: push.key) == nil else { return }
            state.order.append(push.key)
            if state.order.count > Self.countMax { state.pushes[state.order.removeFirst()] = nil }
        }
    }

    /// Called where a push was rolled back and its key may be assigned to another.
    func clear() { state.withLock { $0 = State() } }
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

import BelfryService
import BelfryTesting
import FoundationEssentials
import Synchronization

/// A store in memory that records its calls, and fails on demand.
final class FakeStore: WrappedStore {
    let base: any Store
    private let memory = MemoryStore(clock: StoppedClock())
    /// The clock of the records of repeated requests, for a test to move.
    let answerClock: ManualClock
    private let answers: MemoryStore
    private let log = Mutex(Log())

    private struct Log {
        var pushes: [NewPush] = []
        var keptAnswers: [StoredResponse] = []
        var isCrashing = false
        /// Thrown by every write until it is taken back.
        var trouble: (any Error)?
    }

    /// - Parameter base: keeps everything; a store in memory when nil.
    init(over base: (any Store)? = nil) {
        self.base = base ?? memory
        answerClock = ManualClock()
        answers = MemoryStore(clock: answerClock)
    }

    func fail(with error: (any Error)?) async { log.withLock { $0.trouble = error } }

    private func check() throws {
        if let trouble = log.withLock({ $0.trouble }) { throw trouble }
    }

    func forget(_ key: Key<Platform>) async { memory.tamper { $0.platforms[key] = nil } }

    func replaceSharedSecret(of key: Key<BelfryService.Application>, with sealed: Sealed) async {
        memory.tamper { contents in
            guard let old = contents.applications[key] else { return }
            contents.applications[key] = BelfryService.Application(
                key: old.key, uuid: old.uuid, name: old.name, apiKeyHash: old.apiKeyHash, sharedSecret: sealed,
                createdAt: old.createdAt)
        }
    }

    // MARK: What was asked

    var devices: [Device] {
        get async { memory.contents.devices.values.sorted { $0.key < $1.key } }
    }

    var pushes: [NewPush] {
        get async { log.withLock { $0.pushes } }
    }

    /// The devices that a push reaches.
    func reached(by push: NewPush) async throws -> Set<UUID> {
        let contents = memory.contents
        let keys = push.platformKeys.flatMap { contents.members(of: push.audience, on: $0) }
        return Set(keys.compactMap { contents.devices[$0]?.uuid })
    }

    // MARK: Failures on demand

    func register(_ new: Registration, as uuid: UUID?, on platform: Platform) async throws -> Device {
        try check()
        return try await base.register(new, as: uuid, on: platform)
    }

    func unregister(_ uuid: UUID, on platform: Key<Platform>) async throws {
        try check()
        try await base.unregister(uuid, on: platform)
    }

    func accept(_ new: NewPush) async throws -> Push {
        try check()
        let found = memory.contents.finding(new)
        log.withLock { log in
            if !log.pushes.contains(where: { $0.receiptID == new.receiptID }) { log.pushes.append(found) }
        }
        return try await base.accept(new)
    }

    // MARK: Repeated requests

    var keptAnswers: [StoredResponse] { log.withLock { $0.keptAnswers } }

    /// From now on no answer is written down, as if the process had died before; or it is again.
    func crash(_ isCrashing: Bool) { log.withLock { $0.isCrashing = isCrashing } }

    func reserve(_ reservation: Reservation) async throws -> IdempotencyVerdict {
        try await answers.reserve(reservation)
    }

    func complete(_ name: [UInt8], idempotentID: UUID, with answer: StoredResponse) async throws {
        if log.withLock({ $0.isCrashing }) { throw StoreError.unavailable("the process died") }
        log.withLock { $0.keptAnswers.append(answer) }
        try await answers.complete(name, idempotentID: idempotentID, with: answer)
    }

    func release(_ name: [UInt8], idempotentID: UUID, hadNoEffect: Bool) async throws {
        try await answers.release(name, idempotentID: idempotentID, hadNoEffect: hadNoEffect)
    }
}

/// Writes secrets down as they are, and counts how often one is read.
final class OpenVault: Vault {
    func seal(_ secret: [UInt8], for purpose: String) -> Sealed { Sealed(bytes: Array("\(purpose):".utf8) + secret) }

    func open(_ sealed: Sealed, for purpose: String) throws -> [UInt8] {
        let mark = Array("\(purpose):".utf8)
        guard sealed.bytes.starts(with: mark) else { throw VaultError.broken }
        return Array(sealed.bytes.dropFirst(mark.count))
    }
}

/// Stands still at noon of a summer day.
struct StoppedClock: WallClock {
    let now = Instant(milliseconds: 1_500_000_000_000)
    func sleep(for duration: Duration) async throws {}
}

import BelfryCore
import BelfryTesting
import FoundationEssentials
import Synchronization

/// A store in memory that keeps what was asked of it, and fails when told to.
final class FakeStore: WrappedStore {
    let memory = MemoryStore(clock: StoppedClock())
    private let log = Mutex(Log())

    private struct Log {
        var pushes: [NewPush] = []
        /// Thrown by every write until it is taken back.
        var trouble: (any Error)?
    }

    var base: any Store { memory }

    func fail(with error: (any Error)?) async { log.withLock { $0.trouble = error } }

    private func check() throws {
        if let trouble = log.withLock({ $0.trouble }) { throw trouble }
    }

    func forget(_ key: Key<Platform>) async { memory.tamper { $0.platforms[key] = nil } }

    func replaceSharedSecret(of key: Key<BelfryCore.Application>, with sealed: Sealed) async {
        memory.tamper { contents in
            guard let old = contents.applications[key] else { return }
            contents.applications[key] = BelfryCore.Application(
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

    /// Whom a push reaches.
    func reached(by push: NewPush) async throws -> Set<UUID> {
        let contents = memory.contents
        let keys = push.platformKeys.flatMap { contents.members(of: push.audience, on: $0) }
        return Set(keys.compactMap { contents.devices[$0]?.uuid })
    }

    // MARK: What fails when told to

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
        log.withLock { $0.pushes.append(new) }
        return try await base.accept(new)
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

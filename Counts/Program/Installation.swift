import BelfryService
import Foundation
import Logging

/// A database with an application and a platform of Apple's devices.
struct Installation {
    let store: SQLiteStore
    let application: Application
    let platform: Platform

    private let path: String

    init(at path: String) async throws {
        self.path = path
        store = try Self.open(path)
        application = try await store.create(
            NewApplication(uuid: UUID(), name: "counts", apiKeyHash: [1], sharedSecret: Sealed(bytes: [2])))
        platform = try await store.create(
            NewPlatform(
                uuid: UUID(), applicationKey: application.key, kind: .ios, mode: .production, name: "phones",
                secretHash: [3], credentials: Sealed(bytes: [4])))
    }

    private init(_ other: Installation) throws {
        (path, application, platform) = (other.path, other.application, other.platform)
        store = try Self.open(path)
    }

    /// No housekeeping runs beside what is counted, since it goes by the time of day.
    private static func open(_ path: String) throws -> SQLiteStore {
        var logger = Logger(label: "belfry.counts")
        logger.logLevel = .error
        return try SQLiteStore.open(
            at: path, clock: StoppedClock(), logger: logger, migrate: true, for: .copyingFrom)
    }

    /// Opens it again with an empty log. The cost of a look-up in the log depends on the pages that it happens to have, which says
    /// nothing of the part that is counted.
    func reopened() async throws -> Installation {
        try await close()
        return try Installation(self)
    }

    func close() async throws { try await store.close() }
}

private struct StoppedClock: WallClock {
    var now: Instant { Instant(milliseconds: 1_800_000_000_000) }

    func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }
}

import BelfryCore
import BelfryStore
import Foundation
import Logging

/// A database with an application and a platform of Apple's devices.
struct Installation {
    let store: SQLiteStore
    let application: Application
    let platform: Platform

    /// No housekeeping runs beside what is counted, since it goes by the time of day.
    init(at path: String) async throws {
        var logger = Logger(label: "belfry.counts")
        logger.logLevel = .error
        store = try SQLiteStore.open(
            at: path, clock: StoppedClock(), logger: logger, migrate: true, for: .copyingFrom)
        application = try await store.create(
            NewApplication(uuid: UUID(), name: "counts", apiKeyHash: [1], sharedSecret: Sealed(bytes: [2])))
        platform = try await store.create(
            NewPlatform(
                uuid: UUID(), applicationKey: application.key, kind: .ios, mode: .production, name: "phones",
                secretHash: [3], credentials: Sealed(bytes: [4])))
    }

    func close() async throws { try await store.close() }
}

private struct StoppedClock: WallClock {
    var now: Instant { Instant(milliseconds: 1_800_000_000_000) }

    func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }
}

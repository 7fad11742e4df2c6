import BelfryService
import Logging
import Metrics
import ServiceLifecycle

/// Checks once a day when the credentials of platforms expire, and warns from 30 days before. The first time it looks into those
/// that an older version stored, so that no page has to.
package struct CredentialsExpiryMonitor: Service {
    let store: any Store
    let credentials: any ProviderCredentials
    let clock: any WallClock
    let logger: Logger

    package static let noticeDays: Int64 = 30
    private static let pause = Duration.seconds(86_400)
    private static let pauseAfterError = Duration.seconds(600)

    package func run() async {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do {
                    try await round()
                    try await clock.sleep(for: Self.pause)
                } catch is CancellationError {
                    return
                } catch {
                    logger.error("the credentials of platforms cannot be checked", metadata: ["error": "\(error)"])
                    try? await clock.sleep(for: Self.pauseAfterError)
                }
            }
        }
    }

    /// One check of all platforms. Throws behind the last where one could not be told of.
    package func round() async throws {
        var (least, failure): (Int64?, (any Error)?) = (nil, nil)
        for application in try await store.applications() {
            for platform in try await store.platforms(of: application.key) {
                guard let end = await end(platform) else { continue }
                let days = (end - clock.now).components.seconds / 86_400
                least = min(least ?? days, days)
                guard days <= Self.noticeDays else { continue }
                warn(platform, days)
                do { try await store.tellExpiring(platform, at: end) } catch { failure = error }
            }
        }
        if let least { Metric.credentialsDays().set(least) } else { Metric.credentialsDays().destroy() }
        if let failure { throw failure }
    }

    /// When they expire; nil where they do not, or cannot be read, which their batches will report.
    private func end(_ platform: Platform) async -> Instant? {
        try? await credentials.facts(of: platform, in: store).expiresAt
    }

    private func warn(_ platform: Platform, _ days: Int64) {
        logger.warning(
            "the credentials of a platform expire soon",
            metadata: ["platform.uuid": "\(platform.uuid.lowercased)", "days": "\(days)"])
    }
}

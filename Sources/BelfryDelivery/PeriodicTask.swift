import BelfryCore
import Logging
import ServiceLifecycle

/// Does the same work again and again with a pause between, until it is to end; a fault of the store is waited out.
struct PeriodicTask: Sendable {
    let clock: any WallClock
    let pause: Duration
    let logger: Logger

    func run(_ round: @escaping @Sendable () async throws -> Void) async {
        await cancelWhenGracefulShutdown {
            do {
                while true { try await once(round) }
            } catch {
                logger.trace("rounds end")
            }
        }
    }

    /// Throws when it is cancelled, and nothing else.
    private func once(_ round: () async throws -> Void) async throws {
        do {
            try await round()
        } catch let error as CancellationError {
            throw error
        } catch {
            Metric.fault()
            logger.error("delivery fault, waiting", metadata: ["error": "\(error)", "pause": "\(pause)"])
        }
        try await clock.sleep(for: pause)
    }
}

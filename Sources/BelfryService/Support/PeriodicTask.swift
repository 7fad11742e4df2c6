import Logging
import ServiceLifecycle

/// Repeats a task with a pause after each round, until it is to end; after an error it is retried.
struct PeriodicTask: Sendable {
    /// The name of the task in the log.
    let name: String
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
            DeliveryMetric.fault()
            logger.error(
                "background task failed, it will be retried",
                metadata: ["task": "\(name)", "error": "\(error)", "pause": "\(pause)"])
        }
        try await clock.sleep(for: pause)
    }
}

/// Works until there is nothing to do, waits for the wake signal, and works again; after an error it is retried.
struct RetryingLoop: Sendable {
    let clock: any WallClock
    /// How long to wait after an error.
    let pause: Duration
    let logger: Logger

    /// - Parameter work: returns whether it found any work.
    func run(wokenBy wakeSignal: WakeSignal, _ work: () async throws -> Bool) async throws {
        while !wakeSignal.isClosed {
            try Task.checkCancellation()
            do {
                if try await !work() { await wakeSignal.wait() }
            } catch let error as CancellationError {
                throw error
            } catch {
                DeliveryMetric.fault()
                logger.error(
                    "delivery failed, it will be retried", metadata: ["error": "\(error)", "pause": "\(pause)"])
                try await clock.sleep(for: pause)
            }
        }
    }
}

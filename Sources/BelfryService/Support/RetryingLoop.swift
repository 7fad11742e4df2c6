import Logging

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

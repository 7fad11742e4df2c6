import BelfryCore
import Logging

/// Works until there is nothing to do, waits for the bell, and works again; a fault of the store is waited out.
struct PatientLoop: Sendable {
    let clock: any WallClock
    /// How long to wait after a fault.
    let pause: Duration
    let logger: Logger

    /// - Parameter work: returns whether it found any.
    func run(until bell: Bell, _ work: () async throws -> Bool) async throws {
        while !bell.isClosed {
            try Task.checkCancellation()
            do {
                if try await !work() { await bell.wait() }
            } catch let error as CancellationError {
                throw error
            } catch {
                Metric.fault()
                logger.error("delivery fault, waiting", metadata: ["error": "\(error)", "pause": "\(pause)"])
                try await clock.sleep(for: pause)
            }
        }
    }
}

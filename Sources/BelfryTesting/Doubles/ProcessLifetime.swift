import Synchronization

/// Whether a simulated process still runs. Once it is over, nothing that the process does has an effect.
package final class ProcessLifetime: Sendable {
    private let over = Mutex(false)

    package init() {}

    package var isOver: Bool { over.withLock { $0 } }

    package func end() { over.withLock { $0 = true } }
}

import Synchronization

/// Whether the task that waits for a batch was cancelled.
package final class Cancellation: Sendable {
    private let value = Atomic(false)

    package init() {}

    package var isAsked: Bool { value.load(ordering: .acquiring) }
    package func ask() { value.store(true, ordering: .releasing) }
}

/// The time of day, and waiting for it. Simulations set it by hand.
package protocol WallClock: Sendable {
    var now: Instant { get }
    /// Throws `CancellationError` when the task is cancelled first.
    func sleep(for duration: Duration) async throws
}

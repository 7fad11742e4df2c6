/// The time of day, and waiting for it. Simulations set it by hand.
package protocol WallClock: Sendable {
    var now: Instant { get }
    /// Throws `CancellationError` when the task is cancelled first.
    func sleep(for duration: Duration) async throws
}

extension WallClock {
    /// Returns the result of `work`, or nil once `limit` has passed. The work then goes on by itself, and its result is dropped.
    package func result<Value: Sendable>(
        within limit: Duration, of work: @escaping @Sendable () async -> Value
    ) async -> Value? {
        let (results, first) = AsyncStream.makeStream(of: Value?.self, bufferingPolicy: .bufferingOldest(1))
        Task { first.yield(await work()) }
        let alarm = Task { if (try? await sleep(for: limit)) != nil { first.yield(nil) } }
        defer { alarm.cancel() }
        for await result in results { return result }
        return nil
    }
}

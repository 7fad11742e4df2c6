import Synchronization

/// A bearer token that a provider's OAuth server issues, shared by all senders with the same credentials.
///
/// One task at a time fetches it; others that need it meanwhile wait for that task. It is renewed before it ends, while
/// the old one still serves the others. A server that refuses is not asked again before a growing wait is over.
public final class AccessToken: Sendable {
    public typealias Fetch = @Sendable () async -> Result<AccessGrant, AccessTokenError>

    private let fetch: Fetch
    private let now: @Sendable () -> Duration
    private let held = Mutex(Held())

    private struct Held {
        var schedule = AccessTokenSchedule()
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    /// - Parameters:
    ///   - now: time since any origin; it must not go back.
    ///   - fetch: asks the server, and always returns within a deadline of its own.
    public init(
        now: @escaping @Sendable () -> Duration = AccessToken.monotonicNow, fetch: @escaping Fetch
    ) {
        self.now = now
        self.fetch = fetch
    }

    /// A valid token, and its generation, which identifies it for `reject`.
    public func current() async throws(AccessTokenError) -> (token: String, generation: Int) {
        var step = held.withLock { $0.schedule.ask(at: now()) }
        while true {
            switch step {
            case .use(let token, let generation): return (token, generation)
            case .fail(let error): throw error
            case .fetch: step = await fetchForAll()
            case .wait:
                await fetched()
                step = held.withLock { $0.schedule.ask(at: now()) }
            }
        }
    }

    /// The provider did not accept a token of this generation: it is not used again. Many rejections of the same token
    /// cause one new one.
    public func reject(_ generation: Int) {
        held.withLock { $0.schedule.reject(generation) }
    }

    private func fetchForAll() async -> AccessTokenSchedule.Step {
        let result = await fetch()
        let (step, waiters) = held.withLock { held in
            let waiters = held.waiters
            held.waiters = []
            return (held.schedule.fetched(result, at: now()), waiters)
        }
        for waiter in waiters { waiter.resume() }
        return step
    }

    /// Waits for the end of the running fetch.
    private func fetched() async {
        await withCheckedContinuation { continuation in
            let isWaiting = held.withLock { held in
                guard held.schedule.isFetching else { return false }
                held.waiters.append(continuation)
                return true
            }
            if !isWaiting { continuation.resume() }
        }
    }

    public static func monotonicNow() -> Duration {
        ContinuousClock.now - origin
    }

    private static let origin = ContinuousClock.now
}

import HTTP2Client
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
    public func reject(_ generation: Int) { held.withLock { $0.schedule.reject(generation) } }

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

    public static func monotonicNow() -> Duration { ContinuousClock.now - origin }

    private static let origin = ContinuousClock.now
}

extension Outbound {
    /// Posts with the token, and what the provider refuses it for once more with another.
    ///
    /// - Parameters:
    ///   - deadline: for all of it.
    ///   - isRefused: whether an answer says that the token was not accepted.
    /// - Returns: an answer for each request, or why there was no token for it; nothing was sent then.
    public func post(
        _ batch: OutboundBatch, with token: AccessToken, urgent: Bool = false, silence: Duration = Self.silenceLimit,
        within deadline: Duration, isRefused: (OutboundResponse) -> Bool = { $0.status == 401 }
    ) async -> [Result<OutboundAnswer, AccessTokenError>] {
        let lapsesAt = ContinuousClock.now + deadline
        do throws(AccessTokenError) {
            let (first, generation) = try await token.current()
            var answers = await post(
                batch.authorized(first), urgent: urgent, silence: silence, within: lapsesAt - .now)
            let refused = answers.indices.filter {
                if case .response(let response) = answers[$0] { isRefused(response) } else { false }
            }
            guard !refused.isEmpty else { return answers.map { .success($0) } }
            token.reject(generation)
            do throws(AccessTokenError) {
                let (second, _) = try await token.current()
                await post(
                    batch.picking(refused).authorized(second), urgent: urgent, silence: silence,
                    within: lapsesAt - .now, into: &answers)
                return answers.map { .success($0) }
            } catch {
                var results = answers.map { Result<OutboundAnswer, AccessTokenError>.success($0) }
                for index in refused { results[index] = .failure(error) }
                return results
            }
        } catch {
            return Array(repeating: .failure(error), count: batch.count)
        }
    }
}

extension OutboundBatch {
    fileprivate func authorized(_ token: String) -> OutboundBatch {
        adding(HTTP2Header("authorization", "Bearer \(token)"))
    }

    func adding(_ header: HTTP2Header) -> OutboundBatch {
        var batch = self
        for index in batch.parts.indices { batch.parts[index].requests.headers.append(header) }
        return batch
    }
}

/// Decides when a token is fetched, and what is used meanwhile. Times count from any origin.
struct AccessTokenSchedule {
    enum Step: Equatable {
        case use(String, generation: Int)
        /// The caller fetches, and calls `fetched`.
        case fetch
        /// Another caller fetches.
        case wait
        case fail(AccessTokenError)
    }

    private struct Held {
        let grant: AccessGrant
        let generation: Int
        let freshUntil: Duration
        let goodUntil: Duration
    }

    /// How long before its end a token is renewed; for a short-lived one, a quarter of its lifetime.
    static let ahead = Duration.seconds(300)
    /// A token is not used when it ends within this: the request has to arrive.
    static let margin = Duration.seconds(10)
    static let waitFirst = Duration.seconds(1)
    static let waitLongest = Duration.seconds(60)
    /// The longest wait that a token server may ask for. A tenant may have named it, and all pushes of a platform wait for its token.
    static let askedLongest = Duration.seconds(600)

    private(set) var isFetching = false
    private var held: Held?
    private var generation = 0
    private var failures = 0
    private var failure: (error: AccessTokenError, until: Duration)?

    mutating func ask(at now: Duration) -> Step {
        if let held, now < held.freshUntil { return .use(held.grant.token, generation: held.generation) }
        let spare = held.flatMap { now < $0.goodUntil ? $0 : nil }
        if isFetching || failure.map({ now < $0.until }) == true {
            if let spare { return .use(spare.grant.token, generation: spare.generation) }
            if isFetching { return .wait }
            if let failure { return .fail(failure.error) }
        }
        isFetching = true
        return .fetch
    }

    /// Records the result of a fetch; returns the caller's next step, which is never to fetch again.
    mutating func fetched(_ result: Result<AccessGrant, AccessTokenError>, at now: Duration) -> Step {
        isFetching = false
        switch result {
        case .success(let grant):
            generation += 1
            (failure, failures) = (nil, 0)
            let goodUntil = now + max(grant.lifetime - min(Self.margin, grant.lifetime / 10), .zero)
            held = Held(
                grant: grant, generation: generation,
                freshUntil: min(goodUntil, now + grant.lifetime - min(Self.ahead, grant.lifetime / 4)),
                goodUntil: goodUntil)
            return .use(grant.token, generation: generation)
        case .failure(let error):
            let growing = min(Self.waitFirst * (1 << min(failures, 6)), Self.waitLongest)
            failures += 1
            failure = (error, now + max(growing, min(error.retryAfter ?? .zero, Self.askedLongest)))
            guard let held, now < held.goodUntil else { return .fail(error) }
            return .use(held.grant.token, generation: held.generation)
        }
    }

    mutating func reject(_ generation: Int) {
        if held?.generation == generation { held = nil }
    }
}

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
            failure = (error, now + max(growing, error.retryAfter ?? .zero))
            guard let held, now < held.goodUntil else { return .fail(error) }
            return .use(held.grant.token, generation: held.generation)
        }
    }

    mutating func reject(_ generation: Int) {
        if held?.generation == generation { held = nil }
    }
}

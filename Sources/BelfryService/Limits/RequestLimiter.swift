import HTTPTypes
package import Hummingbird
import Logging
import Metrics
import Synchronization

/// Limits failed logins and request rates, before every route.
///
/// A limited caller gets a 429 at once; no response is delayed, so waiting holds no connection. A caller without
/// failures costs one atomic load, and its bucket if its kind has a limit.
package final class RequestLimiter: Sendable {
    package struct Options: Sendable {
        /// Limits for all nodes together. Kinds without a limit are not listed.
        package var limits: [Principal.Kind: RateLimit]
        package var proxies: TrustedProxies
        package var guesses = LoginThrottle()

        package init(limits: [Principal.Kind: RateLimit] = [:], proxies: TrustedProxies = TrustedProxies()) {
            self.limits = limits
            self.proxies = proxies
        }
    }

    private let options: Options
    private let clock: any WallClock
    private let loginThrottle: Mutex<LoginThrottle>
    /// Whether any login has failed.
    private let isWatching = Atomic(false)
    /// The number of nodes that share the limits.
    private let nodes = Atomic(1)
    private let buckets = Mutex(BoundedCache<Principal, TokenBucket>(countMax: 65_536))
    private let lookUps = Mutex(BoundedCache<NetworkAddress, TokenBucket>(countMax: 16_384))
    /// Buckets of addresses, for callers whom only the database knows.
    private let sites = Mutex(BoundedCache<NetworkAddress, TokenBucket>(countMax: 16_384))
    private let strayProxyIsReported = Atomic(false)

    /// The limit of names that are not there. A caller with the right one may share the address with one who guesses, and gets its turn.
    private static let lookUpLimit = RateLimit(perSecond: 20, burst: 100)
    private let guesses = Counter(metric: .limited, [("kind", "credentials")])
    private let excesses = Dictionary(
        uniqueKeysWithValues: Principal.Kind.allCases.map { ($0, Counter(metric: .limited, [("kind", "\($0)")])) })

    package init(options: Options = Options(), clock: any WallClock) {
        self.options = options
        self.clock = clock
        loginThrottle = Mutex(options.guesses)
    }

    /// Checks a secret that cannot be guessed, unless too many failed before; then throws a 429 without checking it.
    ///
    /// The verdict is counted before it is returned: of wrong secrets that are sent together, as many are answered as of those sent in
    /// turn.
    ///
    /// - Parameters:
    ///   - name: the user that the caller claims to be; nil when that cannot be read.
    ///   - letsRightPass: whether right credentials are accepted even while others wait at the address, so that only wrong
    ///     ones get a 429. For secrets that cannot be guessed, of callers who may share an address with a guesser.
    ///   - check: returns nil when the credentials are wrong.
    package func checkCredentials<Name: Hashable, Known>(
        _ name: Name?, of request: Request, _ context: APIContext, letsRightPass: Bool = false,
        check: () async throws -> Known?
    ) async throws -> Known? {
        if !letsRightPass { try refuseWhileWaiting(name, request, context) }
        guard let known = try await check() else {
            try countFailure(of: name, at: site(of: request, context))
            return nil
        }
        guard isWatching.load(ordering: .relaxed) else { return known }
        if !letsRightPass { try refuseWhileWaiting(name, request, context) }
        note(name, succeededAt: site(of: request, context))
        return known
    }

    /// Checks a secret that can be guessed, such as a password or a code: it is counted as wrong before `check` runs, and the count
    /// taken back when it was right. Throws a 429 to a caller that has to wait.
    ///
    /// - Parameters:
    ///   - account: whose secret it is, as the caller says, whether or not there is such an account.
    ///   - policy: of guesses from all addresses; nil where only those of the caller's address count.
    ///   - device: a browser from which the account was used before, which has a count of its own in place of these.
    ///   - check: returns nil when the secret is wrong.
    package func checkGuess<Known>(
        at account: String, _ policy: LoginThrottle.Policy?, device: Int? = nil, of request: Request,
        _ context: APIContext, check: (DerivationCaller) async throws -> Known?
    ) async throws -> Known? {
        let address = address(of: request, context)
        let guess = LoginThrottle.Guess(
            at: account.hashValue, from: address?.site ?? Self.unknown, device: device, policy: policy)
        let now = clock.now
        try refuse("failed logins", for: loginThrottle.withLock { $0.reserve(guess, now: now) })
        let found: Known?
        do {
            found = try await check(
                DerivationCaller(address: address, account: account.hashValue, isKnown: device != nil))
        } catch {
            // Whoever hangs up may have been given a turn.
            if !(error is CancellationError) { loginThrottle.withLock { $0.withdraw(guess) } }
            throw error
        }
        guard let found else {
            isWatching.store(true, ordering: .relaxed)
            return nil
        }
        let end = clock.now
        loginThrottle.withLock { $0.succeeded(guess, now: end) }
        return found
    }

    /// Sets this node's share of the limits, since callers use the other nodes too.
    package func take(_ share: NodeShare) {
        nodes.store(share.nodes, ordering: .relaxed)
        loginThrottle.withLock { $0.take(share) }
    }

    /// Throws a 429 when the caller exceeds its rate.
    package func admit(_ principal: Principal) throws(APIError) {
        try admit(principal, of: principal.kind, callers: 1, buckets)
    }

    /// Throws a 429 when an address exceeds the rate of so many callers of a kind, before it is known which of them it is.
    func admit(_ kind: Principal.Kind, callers count: Int, at site: NetworkAddress) throws(APIError) {
        try admit(site, of: kind, callers: count, sites)
    }

    private func admit<Owner>(
        _ owner: Owner, of kind: Principal.Kind, callers count: Int,
        _ buckets: borrowing Mutex<BoundedCache<Owner, TokenBucket>>
    ) throws(APIError) {
        guard let whole = options.limits[kind] else { return }
        let limit = whole.part(NodeShare(nodes: nodes.load(ordering: .relaxed))).times(count)
        guard let wait = take(from: buckets, for: owner, under: limit) else { return }
        excesses[kind]?.increment()
        throw .excess(kind, of: limit, wait: wait)
    }

    private func take<Owner>(
        from buckets: borrowing Mutex<BoundedCache<Owner, TokenBucket>>, for owner: Owner, under limit: RateLimit
    ) -> Duration? {
        let now = clock.now
        return buckets.withLock { buckets in
            var bucket = buckets.value(for: owner) ?? TokenBucket(limit, at: now)
            defer { buckets.set(bucket, for: owner) }
            return bucket.take(under: limit, at: now)
        }
    }

    /// Asks the database for a name that memory does not have. Throws a 429 where so many from the caller's address led nowhere
    /// lately, or are being looked up. Names that are there cost nothing.
    func lookUp<Found>(
        of request: Request, _ context: APIContext, _ find: () async throws -> Found?
    ) async throws -> Found? {
        let site = site(of: request, context)
        try refuse(
            "unknown keys or callers from this address", for: take(from: lookUps, for: site, under: Self.lookUpLimit))
        let found = try await find()
        if found != nil {
            lookUps.withLock { lookUps in
                guard var bucket = lookUps.value(for: site) else { return }
                bucket.putBack(under: Self.lookUpLimit)
                lookUps.set(bucket, for: site)
            }
        }
        return found
    }

    /// The client's address; nil where it is not an IP address.
    package func address(of request: Request, _ context: APIContext) -> NetworkAddress? {
        guard let peer = context.peer.flatMap(NetworkAddress.init) else { return nil }
        let caller = options.proxies.caller(from: peer, request.headers)
        if caller == peer, request.headers[.xForwardedFor] != nil { reportStrayProxy(context) }
        return caller
    }

    /// A value that the last trusted proxy forwards, in lower case; nil without such a proxy, and where it sends none.
    package func forwarded(_ word: ForwardedWord, of request: Request, _ context: APIContext) -> String? {
        guard let peer = context.peer.flatMap(NetworkAddress.init), options.proxies.contains(peer) else { return nil }
        // What stands further left may be the caller's own.
        return word.name.flatMap { request.headers.value($0) }?.split(separator: ",").last.map { text in
            text.filter { $0 != " " }.lowercased()
        }
    }

    /// The address range that shares a limit. Callers without an address, such as those of a Unix socket, share one.
    func site(of request: Request, _ context: APIContext) -> NetworkAddress {
        address(of: request, context)?.site ?? Self.unknown
    }

    private static let unknown = NetworkAddress(high: 0, low: 0)

    private func refuseWhileWaiting(
        _ name: (some Hashable)?, _ request: Request, _ context: APIContext
    ) throws(APIError) {
        guard isWatching.load(ordering: .relaxed) else { return }
        let (site, now) = (site(of: request, context), clock.now)
        let wait = loginThrottle.withLock { $0.wait(for: name?.hashValue, at: site, now: now) }
        try refuse("failed logins", for: wait)
    }

    private func countFailure(of name: (some Hashable)?, at site: NetworkAddress) throws(APIError) {
        let now = clock.now
        let wait = loginThrottle.withLock { $0.countFailure(of: name?.hashValue, at: site, now: now) }
        isWatching.store(true, ordering: .relaxed)
        try refuse("failed logins", for: wait)
    }

    /// - Parameter wait: nil for a caller who need not wait.
    private func refuse(_ excess: String, for wait: Duration?) throws(APIError) {
        guard let seconds = wait?.wholeSeconds else { return }
        guesses.increment()
        throw APIError(
            .tooManyRequests, "Too many \(excess); try again in \(seconds) s",
            headers: [.retryAfter: String(seconds)])
    }

    private func note(_ name: (some Hashable)?, succeededAt site: NetworkAddress) {
        guard let name else { return }
        let now = clock.now
        loginThrottle.withLock { $0.succeeded(name.hashValue, at: site, now: now) }
    }

    /// A proxy that is not trusted makes all its callers look like one, which the operator should be told once.
    private func reportStrayProxy(_ context: APIContext) {
        guard !strayProxyIsReported.exchange(true, ordering: .relaxed) else { return }
        context.logger.warning(
            "requests carry X-Forwarded-For from an address that http.trusted.proxies does not name",
            metadata: ["address": "\(context.peer?.ipAddress ?? "unknown")"])
    }
}

extension APIError {
    fileprivate static func excess(_ kind: Principal.Kind, of limit: RateLimit, wait: Duration) -> APIError {
        let seconds = wait.wholeSeconds
        let window = (limit.burst + limit.perSecond - 1) / limit.perSecond
        return APIError(
            .tooManyRequests,
            "More than \(limit.perSecond) requests a second, \(limit.burst) at once; try again in \(seconds) s",
            headers: [
                .retryAfter: String(seconds), .rateLimit: #""\#(kind)";r=0;t=\#(seconds)"#,
                .rateLimitPolicy: #""\#(kind)";q=\#(limit.burst);w=\#(window)"#,
            ])
    }
}

extension Duration {
    /// Rounded up, and at least one, as `Retry-After` requires.
    var wholeSeconds: Int64 { max(1, (milliseconds + 999) / 1_000) }
}

/// A sustained rate per second and a burst size.
package struct RateLimit: Sendable, Hashable {
    package let perSecond: Int64
    package let burst: Int64

    /// Both are 1...1,000,000.
    package init(perSecond: Int, burst: Int) {
        precondition(1...1_000_000 ~= perSecond && 1...1_000_000 ~= burst, "a rate limit is in 1...1,000,000")
        self.perSecond = Int64(perSecond)
        self.burst = Int64(burst)
    }
}

/// The rest of a caller's limit.
///
/// Exact: counted in thousandths of a request. A millisecond adds as many thousandths as a second adds requests.
package struct TokenBucket: Sendable, Hashable {
    private var thousandths: Int64
    private var filledAt: Instant

    /// A full bucket, for a caller that was not seen for a while.
    package init(_ limit: RateLimit, at now: Instant) {
        thousandths = limit.burst * 1_000
        filledAt = now
    }

    /// Takes one request out; or returns the time to wait for it, and takes nothing.
    package mutating func take(under limit: RateLimit, at now: Instant) -> Duration? {
        fill(limit, now)
        guard thousandths >= 1_000 else {
            let missing = 1_000 - thousandths
            return .milliseconds((missing + limit.perSecond - 1) / limit.perSecond)
        }
        thousandths -= 1_000
        return nil
    }

    /// Puts a request back that was taken.
    package mutating func putBack(under limit: RateLimit) {
        thousandths = min(limit.burst * 1_000, thousandths + 1_000)
    }

    /// A clock that was set back adds nothing and removes nothing.
    private mutating func fill(_ limit: RateLimit, _ now: Instant) {
        let full = limit.burst * 1_000
        let elapsed = min(max(0, (now - filledAt).milliseconds), full / limit.perSecond + 1)
        thousandths = min(full, thousandths + elapsed * limit.perSecond)
        filledAt = now
    }
}

public import HTTP2Client
public import Logging
public import NIOCore
public import Outbound

/// Sends messages to FCM, HTTP v1, with one service account.
///
/// The unit is the batch: one message to many devices costs one hop to an event loop. Answers are values, one for each
/// device in order; `send` never throws and always returns by its deadline.
public final class FCMClient: Sendable {
    public struct Configuration: Sendable {
        /// How connections are opened, watched and replaced. What FCM's habits ask for is set by the client.
        public var pool = HTTP2PoolConfiguration()
        /// Unix seconds, for the time of issue of assertions and dates in answers.
        public var now: @Sendable () -> Int64 = { Outbound.now() }

        public init() {}
    }

    private let pool: HTTP2Pool
    private let token: AccessToken
    private let quota: FCMQuota
    private let project: String
    private let now: @Sendable () -> Int64

    /// - Parameters:
    ///   - quota: one for each project, shared by its clients.
    ///   - outbound: asks for tokens.
    /// - Throws: when the trust roots cannot be used by TLS.
    public init(
        _ outbound: Outbound, credentials: FCMCredentials, endpoint: FCMEndpoint = .production,
        quota: FCMQuota = FCMQuota(), configuration: Configuration = Configuration(),
        eventLoopGroup: any EventLoopGroup, logger: Logger
    ) throws(FCMCredentialsError) {
        self.quota = quota
        project = credentials.projectID
        now = configuration.now
        do {
            let tls = try Outbound.tls(trustRoots: endpoint.trustRoots)
            let now = now
            token = AccessToken { await credentials.grant(by: outbound, tls: tls, now: now()) }
            pool = try HTTP2Pool(
                endpoint: endpoint.http2(), configuration: configuration.prescribed, eventLoopGroup: eventLoopGroup,
                logger: logger)
        } catch let error as FCMCredentialsError {
            throw error
        } catch {
            throw FCMCredentialsError(.tls, "\(error)")
        }
    }

    /// How many more messages the client can usefully take now.
    public var room: Int { min(pool.room, quota.room) }

    /// Connections and requests at this moment.
    public var snapshot: HTTP2PoolSnapshot { pool.snapshot }

    /// Sends a message to all devices of a batch and returns their answers in order.
    ///
    /// - Parameters:
    ///   - urgent: goes before all batches that wait and are not.
    ///   - deadline: for everything: the token, the quota, connecting, sending, the answers. Cancelling the task ends it
    ///     at once.
    public func send(_ batch: FCMBatch, urgent: Bool = false, deadline: Duration = .seconds(30)) async -> [FCMAnswer] {
        await send([batch], urgent: urgent, deadline: deadline)[0]
    }

    /// Sends batches of different messages together, as one burst of frames. Returns the answers of each batch in order.
    ///
    /// - Parameters: as those of ``send(_:urgent:deadline:)``.
    public func send(
        _ batches: [FCMBatch], urgent: Bool = false, deadline: Duration = .seconds(30)
    ) async -> [[FCMAnswer]] {
        var rest = await deliver(FCMBurst(batches), urgent, deadline)[...]
        return batches.map { batch in
            defer { rest = rest.dropFirst(batch.tokens.count) }
            return Array(rest.prefix(batch.tokens.count))
        }
    }

    private func deliver(_ burst: FCMBurst, _ urgent: Bool, _ deadline: Duration) async -> [FCMAnswer] {
        guard burst.count > 0 else { return [] }
        let lapsesAt = ContinuousClock.now + deadline
        if let wait = await quota.take(burst.count, within: deadline * 0.5) {
            return Array(repeating: .held(retryAfter: wait), count: burst.count)
        }
        var answers = await attempt(burst, urgent, until: lapsesAt)
        // A token may end, or be revoked, before its time. The failed attempt ensures that the next gets another.
        let refused = answers.indices.filter { answers[$0].isUnauthenticated }
        if !refused.isEmpty {
            let again = await attempt(burst.picking(refused), urgent, until: lapsesAt)
            for (index, answer) in zip(refused, again) { answers[index] = answer }
        }
        if let wait = FCMBackOff.pause(after: answers) { quota.pause(for: wait) }
        return answers
    }

    /// Takes no more work, waits for the answers that are due, and closes all connections within `deadline`.
    public func shutdown(within deadline: Duration) async {
        await pool.shutdown(within: deadline)
    }

    private func attempt(
        _ burst: FCMBurst, _ urgent: Bool, until lapsesAt: ContinuousClock.Instant
    ) async -> [FCMAnswer] {
        do throws(AccessTokenError) {
            let (token, generation) = try await token.current()
            var requests = burst.requests(project: project)
            requests.headers.append(HTTP2Header("authorization", "Bearer \(token)"))
            let now = now()
            let answers = await pool.send(requests, urgent: urgent, deadline: lapsesAt - .now)
                .map { FCMAnswer($0, now: now) }
            if answers.contains(where: \.isUnauthenticated) { self.token.reject(generation) }
            return answers
        } catch {
            return Array(repeating: .unauthorized(error), count: burst.count)
        }
    }
}

extension FCMClient.Configuration {
    /// The configuration with what FCM requires: it ends connections that were idle for four minutes, and those that
    /// are pinged while idle. Source: bloomberg/pushiko, docs/comparisons.md.
    fileprivate var prescribed: HTTP2PoolConfiguration {
        var pool = pool
        pool.connection.keptHeaders = FCMAnswer.keptHeaders
        pool.connection.idlePingAfter = .seconds(86_400)
        pool.idleMax = min(pool.idleMax, .seconds(220))
        pool.lastIdleMax = min(pool.lastIdleMax, .seconds(220))
        return pool
    }
}

public import HTTP2Client
public import Logging
public import NIOCore

/// Sends notifications to APNs with one set of credentials.
///
/// The unit is the batch: one message to many devices costs one hop to an event loop. Answers are values, one for each
/// device in order; `send` never throws and always returns by its deadline.
public final class APNsClient: Sendable {
    public struct Configuration: Sendable {
        /// The opening, watching and replacing of connections. The client sets what APNs prescribes.
        public var pool = HTTP2PoolConfiguration()
        /// Unix seconds, for the time of issue of tokens.
        public var now: @Sendable () -> Int64 = { wallClockSeconds() }

        public init() {}
    }

    private let pool: HTTP2Pool

    /// - Throws: when the certificate, its key or the trust roots cannot be used by TLS.
    public init(
        credentials: APNsCredentials, endpoint: APNsEndpoint, configuration: Configuration = Configuration(),
        eventLoopGroup: any EventLoopGroup, logger: Logger
    ) throws(APNsCredentialsError) {
        do {
            pool = try HTTP2Pool(
                endpoint: endpoint.http2(presenting: credentials.certificate),
                configuration: configuration.prescribed(for: credentials),
                eventLoopGroup: eventLoopGroup, logger: logger)
        } catch let error as APNsCredentialsError {
            throw error
        } catch {
            throw APNsCredentialsError(.tls, "\(error)")
        }
    }

    /// How many more notifications the client can usefully take now.
    public var room: Int { pool.room }

    /// Connections and requests at this moment.
    public var snapshot: HTTP2PoolSnapshot { pool.snapshot }

    /// Sends a message to all devices of a batch and returns their answers in order.
    ///
    /// - Parameters:
    ///   - urgent: goes before all batches that wait and are not.
    ///   - deadline: for everything: connecting, waiting, sending, the answers. Cancelling the task ends it at once.
    public func send(
        _ batch: APNsBatch, urgent: Bool = false, deadline: Duration = .seconds(30)
    ) async -> [APNsAnswer] {
        guard !batch.devices.isEmpty else { return [] }
        return await deliver(batch.requests, urgent, deadline) { batch.picking($0).requests }
    }

    /// Sends batches of different messages together, in as few bursts of frames as their kinds allow: those that have the same
    /// topic, push type and priority share one. Returns the answers of each batch in order.
    ///
    /// - Parameters: as those of ``send(_:urgent:deadline:)``.
    public func send(
        _ batches: [APNsBatch], urgent: Bool = false, deadline: Duration = .seconds(30)
    ) async -> [[APNsAnswer]] {
        let kinds = APNsBurst.kinds(of: batches)
        guard kinds.count > 1 else { return await sendTogether(batches, urgent, deadline) }
        return await withTaskGroup(of: ([Int], [[APNsAnswer]]).self) { group in
            for kind in kinds {
                group.addTask { (kind, await self.sendTogether(kind.map { batches[$0] }, urgent, deadline)) }
            }
            var answers = [[APNsAnswer]](repeating: [], count: batches.count)
            for await (kind, answered) in group {
                for (place, own) in zip(kind, answered) { answers[place] = own }
            }
            return answers
        }
    }

    /// - Parameter batches: of one kind.
    private func sendTogether(
        _ batches: [APNsBatch], _ urgent: Bool, _ deadline: Duration
    ) async -> [[APNsAnswer]] {
        guard batches.count > 1 else {
            guard let batch = batches.first else { return [] }
            return [await send(batch, urgent: urgent, deadline: deadline)]
        }
        let burst = APNsBurst(batches)
        var rest = await deliver(burst.requests, urgent, deadline) { burst.picking($0) }[...]
        return batches.map { batch in
            defer { rest = rest.dropFirst(batch.devices.count) }
            return Array(rest.prefix(batch.devices.count))
        }
    }

    /// Sends a broadcast to all its channels and returns their answers in order.
    ///
    /// - Parameters: as those of ``send(_:urgent:deadline:)``.
    public func broadcast(
        _ broadcast: APNsBroadcast, urgent: Bool = false, deadline: Duration = .seconds(30)
    ) async -> [APNsAnswer] {
        guard !broadcast.channels.isEmpty else { return [] }
        return await deliver(broadcast.requests(broadcast.channels.indices), urgent, deadline) {
            broadcast.requests($0)
        }
    }

    /// Takes no more work, waits for the answers that are due, and closes all connections within `deadline`.
    public func shutdown(within deadline: Duration) async {
        await pool.shutdown(within: deadline)
    }

    /// - Parameter picking: the requests at these places, to be sent again.
    private func deliver(
        _ requests: HTTP2Batch, _ urgent: Bool, _ deadline: Duration, picking: ([Int]) -> HTTP2Batch
    ) async -> [APNsAnswer] {
        let lapsesAt = ContinuousClock.now + deadline
        var answers = await attempt(requests, urgent, deadline)
        // The verdict on the connection has replaced the token and retired the connections that used the old one.
        let expired = answers.indices.filter { answers[$0].isExpiredToken }
        guard !expired.isEmpty else { return answers }
        let again = await attempt(picking(expired), urgent, lapsesAt - .now)
        for (index, answer) in zip(expired, again) { answers[index] = answer }
        return answers
    }

    private func attempt(_ requests: HTTP2Batch, _ urgent: Bool, _ deadline: Duration) async -> [APNsAnswer] {
        await pool.send(requests, urgent: urgent, deadline: deadline).map { APNsAnswer($0) }
    }
}

extension APNsAnswer {
    var isExpiredToken: Bool {
        if case .rejected(let rejection) = self { rejection.reason == .expiredProviderToken } else { false }
    }
}

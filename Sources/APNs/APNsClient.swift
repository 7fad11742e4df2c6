public import HTTP2Client
public import Logging
public import NIOCore

/// Sends notifications to APNs with one set of credentials.
///
/// The unit is the batch: one message to many devices costs one hop to an event loop. Answers are values, one for each
/// device in order; `send` never throws and always returns by its deadline.
public final class APNsClient: Sendable {
    public struct Configuration: Sendable {
        /// How connections are opened, watched and replaced. What APNs prescribes is set by the client.
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

    /// How many more notifications the client can usefully hold now.
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
        let lapsesAt = ContinuousClock.now + deadline
        var answers = await attempt(batch, urgent, deadline)
        // The judge of the connection has replaced the token and retired the connections that saw the old one.
        let expired = answers.indices.filter { answers[$0].isExpiredToken }
        guard !expired.isEmpty else { return answers }
        let again = await attempt(batch.picking(expired), urgent, lapsesAt - .now)
        for (index, answer) in zip(expired, again) { answers[index] = answer }
        return answers
    }

    /// Takes no more work, waits for the answers that are due, and closes all connections within `deadline`.
    public func shutdown(within deadline: Duration) async {
        await pool.shutdown(within: deadline)
    }

    private func attempt(_ batch: APNsBatch, _ urgent: Bool, _ deadline: Duration) async -> [APNsAnswer] {
        await pool.send(batch.requests, urgent: urgent, deadline: deadline).map { APNsAnswer($0) }
    }
}

extension APNsAnswer {
    var isExpiredToken: Bool {
        if case .rejected(let rejection) = self { rejection.reason == .expiredProviderToken } else { false }
    }
}

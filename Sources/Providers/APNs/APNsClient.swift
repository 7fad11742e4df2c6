public import HTTP2Client
import KeyFiles
public import Logging
public import NIOCore
import NIOSSL

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
        } catch {
            throw error as? APNsCredentialsError ?? APNsCredentialsError(.tls, "\(error)")
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
        let kinds = batches.count > 1 ? APNsBurst.kinds(of: batches) : []
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
        var answers = await pool.send(requests, urgent: urgent, deadline: deadline).map { APNsAnswer($0) }
        // The verdict on the connection has replaced the token and retired the connections that used the old one.
        let expired = answers.indices.filter { answers[$0].isExpiredToken }
        guard !expired.isEmpty else { return answers }
        let again = await pool.send(picking(expired), urgent: urgent, deadline: lapsesAt - .now).map { APNsAnswer($0) }
        for (index, answer) in zip(expired, again) { answers[index] = answer }
        return answers
    }
}

extension APNsAnswer {
    var isExpiredToken: Bool {
        if case .rejected(let rejection) = self { rejection.reason == .expiredProviderToken } else { false }
    }
}

extension APNsClient.Configuration {
    /// The configuration with what APNs prescribes.
    ///
    /// With a token APNs takes one request until it has answered one with a valid token; with a certificate the TLS
    /// handshake has proven it. Source: Apple, "Sending notification requests to APNs".
    func prescribed(for credentials: APNsCredentials) -> HTTP2PoolConfiguration {
        var pool = pool
        pool.connection.keptHeaders = APNsAnswer.keptHeaders
        pool.connection.provesAuthentication = { [200, 201, 204, 400, 404, 405, 410, 413].contains($0) }
        pool.connection.judge = { status, body in Self.verdict(status, body) { .retire } }
        guard let token = credentials.token else { return pool }
        let now = now
        pool.connection.initialStreamLimit = 1
        pool.authorize = { try token.header(at: now()) }
        pool.prepare = { connection in
            let generation = token.generation
            connection.judge = { status, body in
                Self.verdict(status, body) { token.expire(generation, at: now()) ? .retireAll : .retire }
            }
        }
        return pool
    }

    /// Decides after which answers a connection is useless, though those of others may be fine.
    ///
    /// An expired token sticks to its connection, and so does the refusal of a changed one (openradar-mirror #18552,
    /// pushy #783, #811). `Shutdown` and `IdleTimeout` announce its end.
    ///
    /// - Parameter expired: replaces the token, unless another answer to a request with the same one already did. All
    ///   connections then make way, for a change within 20 minutes would be refused on each.
    private static func verdict(
        _ status: Int, _ body: Span<UInt8>, expired: () -> HTTP2Verdict
    ) -> HTTP2Verdict {
        guard [400, 403, 429, 503].contains(status), let reason = APNsAnswerBody(body).reason else { return .keep }
        switch reason {
        case .expiredProviderToken: return expired()
        case .tooManyProviderTokenUpdates, .shutdown, .idleTimeout: return .retire
        default: return .keep
        }
    }
}

public struct APNsEndpoint: Sendable, Hashable {
    public var host: String
    public var port: Int
    /// The name in the server's certificate, if not ``host``.
    public var serverName: String?
    /// Certificates in PEM to trust instead of the system's, for simulators.
    public var trustRoots: [UInt8]?

    /// Source: Apple, "Sending notification requests to APNs".
    public static let production = APNsEndpoint(host: "api.push.apple.com")
    public static let sandbox = APNsEndpoint(host: "api.sandbox.push.apple.com")

    /// The endpoint for managing broadcast channels. Source: Apple, "Sending channel management requests to APNs".
    public static let channels = APNsEndpoint(host: "api-manage-broadcast.push.apple.com", port: 2_196)
    public static let sandboxChannels = APNsEndpoint(
        host: "api-manage-broadcast.sandbox.push.apple.com", port: 2_195)

    public init(host: String, port: Int = 443, serverName: String? = nil, trustRoots: [UInt8]? = nil) {
        self.host = host
        self.port = port
        self.serverName = serverName
        self.trustRoots = trustRoots
    }

    func http2(presenting certificate: APNsCertificate?) throws(APNsCredentialsError) -> HTTP2Endpoint {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        if let trustRoots {
            guard let roots = try? PEMFile.certificates(in: trustRoots) else {
                throw APNsCredentialsError(.trustRoots, "the trust roots are not PEM certificates")
            }
            tls.trustRoots = .certificates(roots)
        }
        certificate?.present(in: &tls)
        return HTTP2Endpoint(host: host, port: port, serverName: serverName, tls: tls)
    }
}

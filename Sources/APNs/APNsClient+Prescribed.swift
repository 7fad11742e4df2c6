import HTTP2Client

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

import NIOHTTP1

extension Outbound {
    /// Posts with the token, and once more with another if the provider no longer accepts it.
    ///
    /// - Parameters:
    ///   - deadline: for all of it.
    ///   - isRefused: whether an answer says that the token was not accepted.
    /// - Throws: when no token can be obtained; nothing was sent then.
    public func post(
        _ request: OutboundRequest, with token: AccessToken, deadline: Duration,
        isRefused: (OutboundResponse) -> Bool = { $0.status == 401 }
    ) async throws(AccessTokenError) -> OutboundAnswer {
        let lapsesAt = ContinuousClock.now + deadline
        let (first, generation) = try await token.current()
        let answer = await post(request.authorized(first), deadline: lapsesAt - .now)
        guard case .response(let response) = answer, isRefused(response) else { return answer }
        token.reject(generation)
        let (second, _) = try await token.current()
        return await post(request.authorized(second), deadline: lapsesAt - .now)
    }
}

extension OutboundRequest {
    fileprivate func authorized(_ token: String) -> OutboundRequest {
        var request = self
        request.headers.replaceOrAdd(name: "authorization", value: "Bearer \(token)")
        return request
    }
}

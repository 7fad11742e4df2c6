import NIOHTTP1

extension AccessToken {
    /// Posts with the token, and once more with another if the provider takes it no longer.
    ///
    /// - Throws: when there is no token to be had; nothing was sent then.
    public nonisolated func post(_ request: OutboundRequest, deadline: Duration) async throws(Fault) -> OutboundAnswer {
        let first = try await token()
        let answer = await outbound.post(request.authorized(first.header), deadline: deadline)
        guard case .response(let response) = answer, response.status == 401 else { return answer }
        let second = try await token(replacing: first)
        return await outbound.post(request.authorized(second.header), deadline: deadline)
    }
}

extension OutboundRequest {
    fileprivate func authorized(_ header: String) -> OutboundRequest {
        var request = self
        request.headers.replaceOrAdd(name: "authorization", value: header)
        return request
    }
}

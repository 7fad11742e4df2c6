import HTTP2Client

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

    /// Adds a header to all requests.
    func adding(_ header: HTTP2Header) -> OutboundBatch {
        var batch = self
        for index in batch.parts.indices { batch.parts[index].requests.headers.append(header) }
        return batch
    }
}

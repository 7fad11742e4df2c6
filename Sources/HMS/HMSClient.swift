public import AsyncHTTPClient
public import HTTPExchange

/// Sends messages through Huawei's Push Kit, v1, for one app.
///
/// A request goes to 1,000 devices; its answer says which of their tokens are illegal. Answers are values, one for each
/// device in order; `send` never throws and always returns by its deadline.
public final class HMSClient: Sendable {
    private let poster: HTTPPoster
    private let url: String
    private let token: AccessToken

    /// Source: Huawei, Push Kit, "Downlink Message Sending", `token`.
    public static let devicesMax = 1_000

    /// - Parameter http: must follow no redirects, and is shut down by whoever made it.
    public init(
        credentials: HMSCredentials, endpoint: HMSEndpoint = .production, http: HTTPClient
    ) throws(HTTPFault) {
        // The answer may list 1,000 tokens, within a string.
        poster = try HTTPPoster(client: http, trustRoots: endpoint.trustRoots, bodyBytesMax: 1_048_576)
        url = "\(endpoint.pushURL)/v1/\(credentials.appID)/messages:send"
        token = AccessToken(
            fetch: TokenServer(credentials: credentials, url: endpoint.tokenURL, poster: poster).fetch)
    }

    /// Sends to all devices, 1,000 at a time. The deadline is for all of it; what is left then is `unprocessed`.
    public func send(
        _ message: HMSMessage, to tokens: [[UInt8]], deadline: Duration = .seconds(30)
    ) async -> [HMSAnswer] {
        let lapsesAt = ContinuousClock.now + deadline
        var answers: [HMSAnswer] = []
        answers.reserveCapacity(tokens.count)
        while answers.count < tokens.count {
            let part = Array(tokens[answers.count..<min(answers.count + Self.devicesMax, tokens.count)])
            var these = await attempt(message, part, until: lapsesAt)
            // A token may end before its time. The attempt has seen to it that the next gets another.
            if these.first?.isUnauthenticated == true { these = await attempt(message, part, until: lapsesAt) }
            answers += these
        }
        return answers
    }

    private func attempt(
        _ message: HMSMessage, _ tokens: [[UInt8]], until lapsesAt: ContinuousClock.Instant
    ) async -> [HMSAnswer] {
        do throws(AccessTokenError) {
            let (token, generation) = try await token.current()
            let left = lapsesAt - .now
            guard left > .zero, !Task.isCancelled else {
                let late = HTTPAnswer.unprocessed(HTTPFault("the deadline passed before it was sent"))
                return HMSAnswer.answers(late, tokens: tokens)
            }
            let answer = await poster.post(
                url, headers: [("authorization", "Bearer \(token)"), ("content-type", "application/json")],
                body: Self.body(message, tokens), deadline: left)
            let answers = HMSAnswer.answers(answer, tokens: tokens)
            if answers.first?.isUnauthenticated == true { self.token.reject(generation) }
            return answers
        } catch {
            return tokens.map { _ in .unauthorized(error) }
        }
    }

    static func body(_ message: HMSMessage, _ tokens: [[UInt8]]) -> [UInt8] {
        message.head + JSONText.array(tokens) + message.tail
    }
}

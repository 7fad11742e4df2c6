import HTTP2Client
public import NIOSSL
public import Outbound

/// Sends messages through Huawei's Push Kit for one app or project.
///
/// A request goes to 1,000 devices; its answer says which of their tokens are illegal. Answers are values, one for each
/// device in order; `send` never throws and always returns by its deadline.
public struct HMSClient: Sendable {
    /// Source: Huawei, Push Kit REST API; Account Kit, "Client Credentials".
    public struct Configuration: Sendable {
        /// `https://host` or `https://host:port`.
        public var pushURL = "https://push-api.cloud.huawei.com"
        public var tokenURL = "https://oauth-login.cloud.huawei.com/oauth2/v3/token"
        /// Instead of the standard, for simulators.
        public var tls: TLSConfiguration?

        public init() {}
    }

    private let outbound: Outbound
    private let token: AccessToken
    private let url: String
    private let tls: TLSConfiguration?

    /// Source: Huawei, Push Kit, "Downlink Message Sending", `token`.
    public static let devicesMax = 1_000
    /// An answer may list 1,000 tokens, within a string.
    private static let answerBytesMax = 1_048_576

    public init(_ outbound: Outbound, credentials: HMSCredentials, configuration: Configuration = Configuration()) {
        self.outbound = outbound
        url = "\(configuration.pushURL)\(credentials.path)/messages:send"
        tls = configuration.tls
        token = AccessToken {
            switch credentials.proof {
            case .key(let key): key.grant(at: Outbound.now())
            case .secret(let clientID, let secret):
                await outbound.grant(
                    from: configuration.tokenURL,
                    form: [
                        "grant_type": "client_credentials", "client_id": clientID, "client_secret": secret,
                    ], tls: configuration.tls)
            }
        }
    }

    /// Sends to all devices, 1,000 at a time. The deadline is for all of it.
    public func send(
        _ message: HMSMessage, to tokens: [[UInt8]], urgent: Bool = false, within deadline: Duration
    ) async -> [HMSAnswer] {
        let parts = Outbound.parts(of: tokens, count: Self.devicesMax)
        var headers = [HTTP2Header("content-type", "application/json")]
        if let pushType = message.pushType { headers.append(HTTP2Header("push-type", "\(pushType)")) }
        var batch = OutboundBatch(
            OutboundBatch.Shape(headers: headers, body: .own, answerBytesMax: Self.answerBytesMax, tls: tls))
        for part in parts { batch.append(url: url, body: message.body(for: part)) }
        let results = await outbound.post(
            batch, with: token, urgent: urgent, silence: deadline, within: deadline, isRefused: HMSAnswer.refusesToken)
        return zip(results, parts).flatMap { result, part in
            switch result {
            case .success(let answer): HMSAnswer.answers(answer, tokens: part)
            case .failure(let error): part.map { _ in HMSAnswer.unauthorized(error) }
            }
        }
    }
}

import HTTP2Client
public import NIOSSL
public import Outbound

/// The credentials for Amazon: the id and secret of an app's security profile.
public struct ADMCredentials: Sendable, Hashable {
    let clientID: String
    let clientSecret: String

    public init(clientID: String, clientSecret: String) {
        self.clientID = clientID
        self.clientSecret = clientSecret
    }
}

/// Sends messages to Amazon's devices with one app's credentials.
///
/// Source: Amazon, "Sending a message via Amazon Device Messaging", "Requesting an access token".
public struct ADMClient: Sendable {
    public struct Configuration: Sendable {
        /// `https://host` of the token service and of the message service.
        public var endpoint = "https://api.amazon.com"
        /// Instead of the standard, for simulators.
        public var tls: TLSConfiguration?

        public init() {}
    }

    private let outbound: Outbound
    private let token: AccessToken
    private let configuration: Configuration

    public init(_ outbound: Outbound, credentials: ADMCredentials, configuration: Configuration = Configuration()) {
        self.outbound = outbound
        token = AccessToken {
            await outbound.grant(
                from: "\(configuration.endpoint)/auth/O2/token",
                form: [
                    "grant_type": "client_credentials", "scope": "messaging:push", "client_id": credentials.clientID,
                    "client_secret": credentials.clientSecret,
                ], tls: configuration.tls)
        }
        self.configuration = configuration
    }

    /// Answers in the order of the ids. Never throws and always returns by its deadline.
    public func send(
        _ message: ADMMessage, to registrationIDs: [String], urgent: Bool = false, within deadline: Duration
    ) async -> [ADMAnswer] {
        var batch = OutboundBatch(
            OutboundBatch.Shape(headers: Self.headers, body: .shared(message.body), tls: configuration.tls))
        for id in registrationIDs { batch.append(url: url(of: id)) }
        let results = await outbound.post(batch, with: token, urgent: urgent, within: deadline)
        return zip(results, registrationIDs).map { result, id in
            switch result {
            case .success(let answer): ADMAnswer(answer, of: id)
            case .failure(let error): .unauthorized(error)
            }
        }
    }

    /// Requests an access token, which is all that can be tested without a device.
    public func authorize() async throws(AccessTokenError) { _ = try await token.current() }

    private func url(of registrationID: String) -> String {
        "\(configuration.endpoint)/messaging/registrations/\(Outbound.percentEncoded(registrationID.utf8))/messages"
    }

    private static let headers = [
        HTTP2Header("content-type", "application/json"), HTTP2Header("accept", "application/json"),
        HTTP2Header("x-amzn-type-version", "com.amazon.device.messaging.ADMMessage@1.0"),
        HTTP2Header("x-amzn-accept-type", "com.amazon.device.messaging.ADMSendResult@1.0"),
    ]
}

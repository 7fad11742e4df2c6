import NIOCore
import NIOHTTP1
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
        /// The number of concurrent requests.
        public var width = 32
        public var requestDeadline = Duration.seconds(10)
        /// `https://host` of the token service and of the message service.
        public var endpoint = "https://api.amazon.com"
        /// In place of the HTTP client's own, for simulators.
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
        _ message: ADMMessage, to registrationIDs: [String], within deadline: Duration
    ) async -> [ADMAnswer] {
        let body = ByteBuffer(bytes: message.body)
        return await Outbound.fanOut(
            registrationIDs, width: configuration.width, within: deadline,
            untried: .unprocessed(.notBegun)
        ) { id in
            let request = OutboundRequest(url: url(of: id), headers: Self.headers, body: body, tls: configuration.tls)
            do throws(AccessTokenError) {
                return ADMAnswer(
                    try await outbound.post(request, with: token, deadline: configuration.requestDeadline), of: id)
            } catch {
                return .unauthorized(error)
            }
        }
    }

    /// Requests an access token, which is all that can be tested without a device.
    public func authorize() async throws(AccessTokenError) { _ = try await token.current() }

    private func url(of registrationID: String) -> String {
        "\(configuration.endpoint)/messaging/registrations/\(Outbound.percentEncoded(registrationID.utf8))/messages"
    }

    private static let headers: HTTPHeaders = [
        "content-type": "application/json", "accept": "application/json",
        "x-amzn-type-version": "com.amazon.device.messaging.ADMMessage@1.0",
        "x-amzn-accept-type": "com.amazon.device.messaging.ADMSendResult@1.0",
    ]
}

import FoundationEssentials
import HTTP2Client
public import NIOSSL
public import Outbound

/// The credentials for the push gateway, and its address.
public struct PAPCredentials: Sendable, Hashable {
    let applicationID: String
    let password: String
    let url: String

    /// - Parameter url: of the gateway, such as `https://cp123.pushapi.na.blackberry.com/mss/PD_pushRequest`.
    public init(applicationID: String, password: String, url: String) {
        self.applicationID = applicationID
        self.password = password
        self.url = url
    }

    /// The public gateway of a content provider.
    ///
    /// - Parameter isEvaluation: the gateway for evaluation.
    public static func url(contentProvider: String, isEvaluation: Bool) -> String {
        "https://cp\(contentProvider).pushapi.\(isEvaluation ? "eval" : "na").blackberry.com/mss/PD_pushRequest"
    }
}

/// Sends pushes by the Push Access Protocol, to BlackBerry 10 or to a private gateway.
///
/// Source: WAP-247 PAP; BlackBerry, "Push Service SDK".
public struct PAPClient: Sendable {
    public struct Configuration: Sendable {
        /// The limit for a gateway that gives no answer.
        public var silenceLimit = Duration.seconds(15)
        /// Instead of the standard, for simulators.
        public var tls: TLSConfiguration?

        public init() {}
    }

    private let outbound: Outbound
    private let credentials: PAPCredentials
    private let configuration: Configuration

    public init(_ outbound: Outbound, credentials: PAPCredentials, configuration: Configuration = Configuration()) {
        self.outbound = outbound
        self.credentials = credentials
        self.configuration = configuration
    }

    /// Answers in the order of the devices. Never throws and always returns by its deadline.
    ///
    /// One request for each device: for a request with many the gateway would return one result.
    public func send(
        _ message: PAPMessage, to devices: [PAPDevice], urgent: Bool = false, within deadline: Duration
    ) async -> [PAPAnswer] {
        // Unlikely to occur in the content, and random so that no sender can put it there.
        let boundary = "belfry-\(UInt64.random(in: .min ... .max))-\(UInt64.random(in: .min ... .max))"
        let headers = [
            HTTP2Header("content-type", "multipart/related; boundary=\(boundary); type=application/xml"),
            HTTP2Header("authorization", authorization), HTTP2Header("accept", "application/xml"),
        ]
        var batch = OutboundBatch(
            OutboundBatch.Shape(headers: headers, body: .own, answerBytesMax: 16_384, tls: configuration.tls))
        for device in devices {
            let body = message.body(for: device, from: credentials.applicationID, boundary: boundary)
            batch.append(url: credentials.url, body: body)
        }
        let silence = configuration.silenceLimit
        return await outbound.post(batch, urgent: urgent, silence: silence, within: deadline).map { PAPAnswer($0) }
    }

    /// Source: RFC 7617.
    private var authorization: String {
        "Basic \(Data("\(credentials.applicationID):\(credentials.password)".utf8).base64EncodedString())"
    }
}

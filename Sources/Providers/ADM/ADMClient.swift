import FoundationEssentials
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
            case .success(let answer): answer.result { ADMAnswer($0, of: id) }
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

/// The part of a push that is the same for all devices.
public struct ADMMessage: Sendable, Hashable {
    let body: [UInt8]

    /// The most bytes that all keys and values may have together. Source: Amazon, "Sending a message via Amazon Device Messaging".
    public static let dataBytesMax = 6 * 1_024
    /// The lifetimes that Amazon accepts, in seconds.
    public static let lifetimes = 60...2_678_400
    public static let consolidationKeyBytesMax = 64

    /// - Parameters:
    ///   - consolidationKey: a waiting message is replaced by a later one with the same key.
    ///   - lifetime: seconds for which Amazon keeps it, brought into what Amazon takes; nil for its own week.
    public init(data: [String: String], consolidationKey: String? = nil, lifetime: Int? = nil) throws(ADMError) {
        try self.init(
            data: data.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }, consolidationKey: consolidationKey,
            lifetime: lifetime)
    }

    /// Creates a message from data in a given order. Keys may look the same and differ in their bytes.
    package init(
        data: [(key: String, text: String)], consolidationKey: String?, lifetime: Int?
    ) throws(ADMError) {
        let bytes = data.reduce(0) { $0 + $1.key.utf8.count + $1.text.utf8.count }
        guard bytes <= Self.dataBytesMax else {
            throw ADMError("data are \(bytes) bytes, ADM takes \(Self.dataBytesMax)")
        }
        guard (consolidationKey?.utf8.count ?? 0) <= Self.consolidationKeyBytesMax else {
            throw ADMError("consolidation key is over \(Self.consolidationKeyBytesMax) bytes")
        }
        let expiresAfter = lifetime.map { min(max($0, Self.lifetimes.lowerBound), Self.lifetimes.upperBound) }
        var members: [[UInt8]] = []
        if let consolidationKey {
            members.append(JSONText.member("consolidationKey", JSONText.quoted(consolidationKey)))
        }
        members.append(JSONText.member("data", JSONText.object(data)))
        if let expiresAfter { members.append(JSONText.member("expiresAfter", "\(expiresAfter)".utf8)) }
        body = JSONText.object(of: members)
    }
}

/// Why something cannot be sent, detected beforehand.
public struct ADMError: Error, Sendable, Hashable, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
}

/// The result of one message.
public enum ADMAnswer: Sendable, Hashable, OutboundResult {
    /// Amazon accepted it.
    ///
    /// - Parameter replacement: the device's new id, if it has one.
    case accepted(replacement: String?)
    case rejected(ADMRejection)
    /// There is no access token. Nothing was sent.
    case unauthorized(AccessTokenError)
    /// Certainly not sent.
    case unprocessed(OutboundFault)
    /// It may have been sent, and no answer came.
    case unknown(OutboundFault)
}

public struct ADMRejection: Sendable, Hashable {
    public let status: Int
    /// nil for none, or an unknown term.
    public let reason: ADMReason?
    /// The wait that the answer asks for.
    public let retryAfter: Duration?
    /// Amazon's own words, where they are none of `ADMReason`; visible ASCII.
    public var words: String?
}

/// Source: Amazon, "Sending a message via Amazon Device Messaging", response codes.
public enum ADMReason: String, Sendable, Hashable, CaseIterable {
    case unregistered = "Unregistered"
    case invalidRegistrationID = "InvalidRegistrationId"
    case invalidData = "InvalidData"
    case invalidConsolidationKey = "InvalidConsolidationKey"
    case invalidExpiration = "InvalidExpiration"
    case invalidChecksum = "InvalidChecksum"
    case invalidType = "InvalidType"
    case accessTokenExpired = "AccessTokenExpired"
    case messageTooLarge = "MessageTooLarge"
    case maxRateExceeded = "MaxRateExceeded"
}

extension ADMAnswer {
    /// Reads an answer of any bytes: what is not understood is left out and the status decides.
    public init(_ response: OutboundResponse, of registrationID: String) {
        let written = try? JSONDecoder().decode(Written.self, from: Data(response.body))
        guard response.status == 200 else {
            let reason = written?.reason.flatMap(ADMReason.init)
            self = .rejected(
                ADMRejection(
                    status: response.status, reason: reason, retryAfter: response.headers.retryAfter(),
                    words: reason?.rawValue ?? Outbound.words(in: response.body)))
            return
        }
        let current = written?.registrationID
        self = .accepted(replacement: current == registrationID || current?.isEmpty == true ? nil : current)
    }

    private struct Written: Decodable {
        let registrationID: String?
        let reason: String?
    }
}

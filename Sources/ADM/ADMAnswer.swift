import FoundationEssentials
public import Outbound

/// The result of one message.
public enum ADMAnswer: Sendable, Hashable {
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
    init(_ answer: OutboundAnswer, of registrationID: String) {
        switch answer {
        case .response(let response): self.init(response, of: registrationID)
        case .unprocessed(let fault): self = .unprocessed(fault)
        case .unknown(let fault): self = .unknown(fault)
        }
    }

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

/// Why WNS refuses or drops a notification. Scripts use the same names.
///
/// Source: Microsoft, "Push notification service request and response headers".
enum WNSProblem: String, CaseIterable {
    case badRequest = "BadRequest"
    case unauthorized = "Unauthorized"
    case forbidden = "Forbidden"
    case notFound = "NotFound"
    case methodNotAllowed = "MethodNotAllowed"
    /// 406: too many notifications.
    case throttled = "Throttled"
    case gone = "Gone"
    /// 410 with a text that means the sender's domain and not the channel.
    case domainBlocked = "DomainBlocked"
    case lengthRequired = "LengthRequired"
    case unreachable = "Unreachable"
    case tooLarge = "TooLarge"
    case quotaExceeded = "QuotaExceeded"
    case internalError = "InternalServerError"
    case unavailable = "ServiceUnavailable"
    /// 200, and the device is not notified.
    case dropped
    /// 200, and the device is not notified: the channel has exceeded its rate.
    case channelThrottled = "channelthrottled"
    /// 200: the device cannot read the XML and drops it. Only a simulator can detect it.
    case invalidXML = "InvalidXML"

    var status: Int {
        switch self {
        case .dropped, .channelThrottled, .invalidXML: 200
        case .badRequest: 400
        case .unauthorized: 401
        case .forbidden: 403
        case .notFound: 404
        case .methodNotAllowed: 405
        case .throttled: 406
        case .gone, .domainBlocked: 410
        case .lengthRequired: 411
        case .unreachable: 412
        case .tooLarge: 413
        case .quotaExceeded: 429
        case .internalError: 500
        case .unavailable: 503
        }
    }

    /// The value of `X-WNS-Status`.
    var word: String {
        switch self {
        case .channelThrottled, .throttled: "channelthrottled"
        case .invalidXML: "received"
        default: "dropped"
        }
    }

    var description: String {
        switch self {
        case .domainBlocked: "Domain Blocked"
        case .gone: "The channel expired"
        case .notFound: "The channel URI is not valid or is not recognized by WNS"
        case .quotaExceeded: "The monthly quota is exceeded"
        default: rawValue
        }
    }
}

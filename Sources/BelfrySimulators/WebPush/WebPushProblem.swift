/// Why a Web Push service refuses a message. Scripts use the same names.
enum WebPushProblem: String, CaseIterable {
    case missingAuthorization = "MissingAuthorization"
    /// The token is malformed, not signed by its key, for another origin, or expired.
    case badVAPID = "BadVAPID"
    /// The subscription belongs to another key.
    case keyMismatch = "KeyMismatch"
    case missingTTL = "MissingTTL"
    case badTTL = "BadTTL"
    case badUrgency = "BadUrgency"
    case badTopic = "BadTopic"
    case badEncoding = "BadEncoding"
    /// Only a simulator can detect it.
    case undecryptable = "Undecryptable"
    case methodNotAllowed = "MethodNotAllowed"
    case lengthRequired = "LengthRequired"
    case cachePolicyConflict = "CachePolicyConflict"
    case notFound = "NotFound"
    case gone = "Gone"
    case tooLarge = "TooLarge"
    /// 406, which means this at Microsoft alone.
    case throttled = "Throttled"
    case tooMany = "TooMany"
    case internalError = "InternalServerError"
    case badGateway = "BadGateway"
    case unavailable = "ServiceUnavailable"

    /// Source: RFC 8030 §5, §7.3; RFC 8292 §4.2.
    var status: Int {
        switch self {
        case .missingTTL, .badTTL, .badUrgency, .badTopic, .badEncoding, .undecryptable, .cachePolicyConflict: 400
        case .missingAuthorization: 401
        case .badVAPID, .keyMismatch: 403
        case .notFound: 404
        case .methodNotAllowed: 405
        case .throttled: 406
        case .gone: 410
        case .lengthRequired: 411
        case .tooLarge: 413
        case .tooMany: 429
        case .internalError: 500
        case .badGateway: 502
        case .unavailable: 503
        }
    }
}

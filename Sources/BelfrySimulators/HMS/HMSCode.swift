/// The result codes of Push Kit, with the HTTP status each comes with here. Scripts use the codes as reasons.
///
/// Source: developer.huawei.com, "Push Kit REST API, response codes". Huawei gives several of them with 200 or with 4xx; a
/// script can state the other `status`.
enum HMSCode: String, CaseIterable {
    case success = "80000000"
    case partial = "80100000"
    case parameters = "80100001"
    case tokenCount = "80100002"
    case structure = "80100003"
    case ttl = "80100004"
    case collapseKey = "80100013"
    case sensitive = "80100016"
    case topicRate = "80100017"
    case body = "80100018"
    case authentication = "80200001"
    case expired = "80200003"
    case noPermission = "80300002"
    case allTokensInvalid = "80300007"
    case tooLarge = "80300008"
    case tokenLimit = "80300010"
    case noHighPriority = "80300011"
    case tokenService = "80600003"
    case internalError = "81000001"

    var status: Int {
        switch self {
        case .success, .partial, .topicRate, .noPermission, .allTokensInvalid, .tooLarge, .tokenLimit, .noHighPriority,
            .tokenService:
            200
        case .parameters, .tokenCount, .structure, .ttl, .collapseKey, .sensitive, .body: 400
        case .authentication, .expired: 401
        case .internalError: 500
        }
    }

    var message: String {
        switch self {
        case .success: "Success"
        case .partial: "Partial success"
        case .parameters: "Some request parameters are incorrect"
        case .tokenCount: "The number of tokens must be 1 when a message is sent in synchronous mode"
        case .structure: "Incorrect message structure"
        case .ttl: "The message expiration time is earlier than the current time"
        case .collapseKey: "The collapse_key message field is invalid"
        case .sensitive: "The message contains sensitive information"
        case .topicRate: "A maximum of 100 topic-based messages can be sent at the same time"
        case .body: "Invalid message body"
        case .authentication: "OAuth authentication error"
        case .expired: "OAuth token expired"
        case .noPermission: "The current app does not have the permission to send messages"
        case .allTokensInvalid: "All tokens are invalid"
        case .tooLarge: "The message body size exceeds the default value"
        case .tokenLimit: "The number of tokens in the message body exceeds the default value"
        case .noHighPriority: "You are not authorized to send high-priority notification messages"
        case .tokenService: "Failed to request the OAuth service"
        case .internalError: "System inner error"
        }
    }
}

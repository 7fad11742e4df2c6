/// Why FCM did not accept a message, in its own term. New terms may come; an unknown one is kept as it was.
///
/// Source: Firebase, REST reference, `FcmError.ErrorCode`; Google APIs, `google.rpc.Code` for those without a code of
/// FCM.
public struct FCMErrorCode: Sendable, Hashable, CustomStringConvertible {
    public let text: String

    public init(_ text: String) { self.text = text }

    public var description: String { text }

    public static let unspecified = Self("UNSPECIFIED_ERROR")
    public static let invalidArgument = Self("INVALID_ARGUMENT")
    public static let unregistered = Self("UNREGISTERED")
    public static let senderIDMismatch = Self("SENDER_ID_MISMATCH")
    public static let quotaExceeded = Self("QUOTA_EXCEEDED")
    public static let unavailable = Self("UNAVAILABLE")
    public static let `internal` = Self("INTERNAL")
    public static let thirdPartyAuthError = Self("THIRD_PARTY_AUTH_ERROR")
    /// The older name of `thirdPartyAuthError`.
    public static let apnsAuthError = Self("APNS_AUTH_ERROR")

    public static let unauthenticated = Self("UNAUTHENTICATED")
    public static let permissionDenied = Self("PERMISSION_DENIED")
    public static let notFound = Self("NOT_FOUND")
    public static let resourceExhausted = Self("RESOURCE_EXHAUSTED")
    /// Not FCM's own: for a status without a code whose meaning is not known.
    public static let unstated = Self("UNSTATED")

    /// The code that a status stands for, where the body gives none.
    init(status: Int) {
        self =
            switch status {
            case 400: .invalidArgument
            case 401: .unauthenticated
            case 403: .permissionDenied
            case 404: .notFound
            case 429: .resourceExhausted
            case 500: .internal
            case 502, 503, 504: .unavailable
            default: .unstated
            }
    }
}

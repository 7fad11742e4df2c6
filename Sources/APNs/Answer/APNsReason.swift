/// Why APNs rejected a request, in its own term. New terms may come; an unknown one is kept as it was.
///
/// Source: Apple, "Handling notification responses from APNs".
public struct APNsReason: Sendable, Hashable, CustomStringConvertible {
    public let code: String

    public init(_ code: String) { self.code = code }

    public var description: String { code }

    public static let badCollapseID = Self("BadCollapseId")
    public static let badDeviceToken = Self("BadDeviceToken")
    public static let badExpirationDate = Self("BadExpirationDate")
    public static let badMessageID = Self("BadMessageId")
    public static let badPriority = Self("BadPriority")
    public static let badTopic = Self("BadTopic")
    public static let deviceTokenNotForTopic = Self("DeviceTokenNotForTopic")
    public static let duplicateHeaders = Self("DuplicateHeaders")
    public static let idleTimeout = Self("IdleTimeout")
    public static let invalidPushType = Self("InvalidPushType")
    public static let missingDeviceToken = Self("MissingDeviceToken")
    public static let missingTopic = Self("MissingTopic")
    public static let payloadEmpty = Self("PayloadEmpty")
    public static let topicDisallowed = Self("TopicDisallowed")
    public static let badCertificate = Self("BadCertificate")
    public static let badCertificateEnvironment = Self("BadCertificateEnvironment")
    public static let expiredProviderToken = Self("ExpiredProviderToken")
    public static let forbidden = Self("Forbidden")
    public static let invalidProviderToken = Self("InvalidProviderToken")
    public static let missingProviderToken = Self("MissingProviderToken")
    public static let unrelatedKeyIDInToken = Self("UnrelatedKeyIdInToken")
    public static let badEnvironmentKeyIDInToken = Self("BadEnvironmentKeyIdInToken")
    public static let badPath = Self("BadPath")
    public static let methodNotAllowed = Self("MethodNotAllowed")
    public static let expiredToken = Self("ExpiredToken")
    public static let unregistered = Self("Unregistered")
    public static let payloadTooLarge = Self("PayloadTooLarge")
    public static let tooManyProviderTokenUpdates = Self("TooManyProviderTokenUpdates")
    public static let tooManyRequests = Self("TooManyRequests")
    public static let internalServerError = Self("InternalServerError")
    public static let serviceUnavailable = Self("ServiceUnavailable")
    public static let shutdown = Self("Shutdown")
    // Of broadcast channels. Source: Apple, "Handling error responses from Apple Push Notification service".
    public static let featureNotEnabled = Self("FeatureNotEnabled")
    public static let missingChannelID = Self("MissingChannelId")
    public static let badChannelID = Self("BadChannelId")
    public static let channelNotRegistered = Self("ChannelNotRegistered")
    public static let badRequestParameters = Self("BadRequestParams")
    public static let badRequestPayload = Self("BadRequestPayload")
    public static let missingPushType = Self("MissingPushType")
    public static let cannotCreateChannelConfig = Self("CannotCreateChannelConfig")
    public static let topicMismatch = Self("TopicMismatch")
    /// Not APNs' own: for a status without a reason whose meaning is not known.
    public static let unstated = Self("Unstated")

    /// The reason that a status stands for, where the body gives none.
    init(status: Int) {
        self =
            switch status {
            case 403: .forbidden
            case 404: .badPath
            case 405: .methodNotAllowed
            case 413: .payloadTooLarge
            case 429: .tooManyRequests
            case 500: .internalServerError
            case 503: .serviceUnavailable
            default: .unstated
            }
    }
}

import APNs
import BelfryService

// The outcome of every answer of APNs. docs/Providers.md has the same table for operators.
// Source: Apple, "Handling notification responses from APNs".

extension Outcome {
    /// - Parameters:
    ///   - sentAt: the time of death for a channel that APNs does not know, because APNs names none.
    ///   - serverErrorWait: how long a message waits that met an internal error of APNs.
    ///   - fault: why the last connection could not be opened, if it could not.
    init(_ answer: APNsAnswer, sentAt: Instant, serverErrorWait: Duration, fault: ConnectionFault? = nil) {
        switch answer {
        case .accepted: self = .accepted
        case .rejected(let rejection):
            self.init(rejection, sentAt, serverErrorWait)
            self = saying("\(rejection.status) \(rejection.reason)")
        case .unprocessed(let why):
            self = fault.map { .unreachable($0) } ?? .failed(retryAfter: nil).saying("not processed: \(why)")
        case .unknown: self = .unanswered
        case .credentialsRefused(let refusal):
            self = .credentialsRefused("APNs: \(fault?.detail ?? "\(refusal)")", by: .shared)
        }
    }

    private init(_ rejection: APNsRejection, _ sentAt: Instant, _ serverErrorWait: Duration) {
        // The header may contain any number; the wait is a day at most.
        let retryAfter = rejection.retryAfter.map { Duration.seconds(min(max($0, 0), 86_400)) }
        switch rejection.reason {
        case .unregistered, .expiredToken:
            self = .gone(since: rejection.timestamp.map(Instant.init(milliseconds:)))
        case .channelNotRegistered: self = .gone(since: sentAt)
        case .badDeviceToken, .badChannelID: self = .refused(.badToken)
        case .deviceTokenNotForTopic: self = .refused(.tokenOfAnotherApplication)
        case .missingDeviceToken, .missingChannelID: self = .refused(.missingToken)
        case .payloadTooLarge: self = .refused(.payloadTooLarge)
        case .payloadEmpty: self = .refused(.payloadEmpty)
        case .badCollapseID: self = .refused(.badCollapseID)
        case .badExpirationDate: self = .refused(.badExpiration)
        case .badMessageID: self = .refused(.badMessageID)
        case .badPriority: self = .refused(.badPriority)
        case .invalidPushType, .missingPushType: self = .refused(.badPushType)
        case .duplicateHeaders: self = .refused(.duplicateHeaders)
        case .forbidden: self = .refused(.forbidden)
        case .badPath: self = .refused(.badPath)
        case .methodNotAllowed: self = .refused(.methodNotAllowed)
        case .badTopic, .missingTopic, .topicDisallowed, .badCertificate, .badCertificateEnvironment,
            .invalidProviderToken, .missingProviderToken, .unrelatedKeyIDInToken, .badEnvironmentKeyIDInToken,
            .expiredProviderToken, .featureNotEnabled, .topicMismatch:
            let help = Self.help(rejection.reason).map { ": \($0)" } ?? ""
            self = .credentialsRefused("APNs answered \(rejection.status) \(rejection.reason)\(help)")
        case .tooManyRequests, .tooManyProviderTokenUpdates: self = .throttled(retryAfter: retryAfter)
        // Concerns the connection, which is replaced.
        case .idleTimeout, .shutdown: self = .failed(retryAfter: retryAfter)
        default: self.init(status: rejection.status, retryAfter, serverErrorWait)
        }
    }

    /// The usual mistake behind a reason, in the words of those who entered the credentials.
    private static func help(_ reason: APNsReason) -> String? {
        switch reason {
        case .invalidProviderToken:
            "the key, the key id and the team id do not belong together, or the key was revoked: compare them with the page of the "
                + "key at Apple's developer site"
        case .expiredProviderToken:
            "by APNs' clock the token was signed more than an hour ago: set this machine's clock"
        case .badTopic, .missingTopic, .topicDisallowed, .topicMismatch:
            "the topic has to be the app's bundle id, and the key or certificate one of its team"
        case .badCertificate: "the certificate expired, was revoked, or is not one for pushes"
        case .badCertificateEnvironment, .badEnvironmentKeyIDInToken:
            "it is for the other environment: compare the platform's mode, development or production"
        default: nil
        }
    }

    /// Decided by the status: internal errors of APNs, and reasons that Apple added later.
    private init(status: Int, _ retryAfter: Duration?, _ serverErrorWait: Duration) {
        switch status {
        case 410: self = .gone(since: nil)
        case 429: self = .throttled(retryAfter: retryAfter)
        case 500...: self = .failed(retryAfter: max(retryAfter ?? .zero, serverErrorWait))
        default: self = .refused(.other)
        }
    }
}

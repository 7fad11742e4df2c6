/// An answer as people read it: a plain word, why it came to that, and what helps. The pages, the admin API and the CLI take their words
/// from this table.
package struct AnswerWords: Sendable, Hashable {
    /// Such as "Token no longer valid".
    package let title: String
    /// The beginning of a sentence.
    package let reason: String
    /// nil where nothing can be done, or needs to be.
    package let remedy: String?

    fileprivate init(_ title: String, _ reason: String, _ remedy: String? = nil) {
        (self.title, self.reason, self.remedy) = (title, reason, remedy)
    }

    /// The reason and what helps, as one sentence.
    package var help: String { [reason, remedy].compactMap(\.self).joined(separator: ": ") }
}

extension Answer {
    package var words: AnswerWords {
        switch self {
        case .pending: AnswerWords("Waiting", "no provider has answered for the device yet")
        case .accepted:
            AnswerWords("Accepted", "the provider took the message: it delivers it when the device can be reached")
        case .gone:
            AnswerWords(
                "Token no longer valid",
                "the provider said that the token is dead, since the app was removed or has another token",
                "the app gets a new token when it is opened, and registers it")
        case .expired:
            AnswerWords(
                "Expired", "the push ended before a provider took it", "send it again, with a later expiry")
        case .unknown:
            AnswerWords("No answer came", "it may have arrived: a push that is at most once is not sent again")
        case .skipped(let skip): skip.answerWords
        case .refused(let refusal): refusal.answerWords
        }
    }

    /// Every answer.
    package static let all = (0...127).compactMap { Answer(code: $0) }
}

extension Skip {
    fileprivate var answerWords: AnswerWords {
        switch self {
        case .inactive:
            AnswerWords(
                "Device inactive", "the device had unregistered, been deactivated or erased, or lost its token",
                "it gets pushes again once its app registers")
        case .missing: AnswerWords("Device deleted", "its platform was deleted before its turn")
        case .damaged: AnswerWords("Batch damaged", "its batch could not be read", "send the push to it again")
        case .cancelled: AnswerWords("Cancelled", "the push was cancelled before its turn")
        case .quietHours:
            AnswerWords(
                "Quiet hours", "it has quiet hours",
                "the application's settings say what a push does that comes in them")
        case .capped:
            AnswerWords(
                "Frequency cap reached", "its user got as many pushes as the application's settings allow",
                "pushes of the kind transactional are exempt")
        }
    }
}

extension Refusal {
    fileprivate var answerWords: AnswerWords {
        switch self {
        case .badToken:
            AnswerWords(
                "Token refused", "the token is not one of the provider's, or of its other environment",
                "compare the platform's mode (development or production) with how the app was built")
        case .tokenOfAnotherApplication:
            AnswerWords(
                "Token of another app", "the token belongs to another app",
                "compare the platform's topic, project or key with those of the app")
        case .payloadTooLarge:
            AnswerWords("Message too large", "the provider takes no message of this size", "send a shorter message")
        case .payloadEmpty:
            AnswerWords(
                "Message empty", "the message has nothing for this type of platform",
                "give it a text, or a part for the type")
        case .badCollapseID: .fault("Collapse key refused")
        case .badExpiration: .fault("Expiry refused")
        case .badMessageID: .fault("Message id refused")
        case .badPriority: .fault("Priority refused")
        case .badPushType: .fault("Push type refused")
        case .duplicateHeaders: .fault("Field given twice")
        case .badPath: .fault("Address of the request refused")
        case .methodNotAllowed: .fault("Kind of request refused")
        case .missingToken: .fault("Token missing")
        case .forbidden:
            AnswerWords(
                "Forbidden", "the provider refuses this one device", "see docs/Providers.md for what it means by that")
        case .dropped:
            AnswerWords(
                "Discarded by the provider",
                "the provider took it and threw it away: the device is offline and stores nothing, or its user wants none"
            )
        case .addressNotAllowed:
            AnswerWords(
                "Address not allowed", "the device's push service is at an address that is not public",
                "providers.addresses.allow lets it be posted to")
        case .other:
            AnswerWords("Refused", "the provider's words say why", "docs/Providers.md lists them")
        }
    }
}

extension AnswerWords {
    fileprivate static func fault(_ title: String) -> AnswerWords {
        AnswerWords(
            title, "the provider finds fault with the message", "see docs/Providers.md for the fields that it takes")
    }
}

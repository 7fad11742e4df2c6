import BelfryService
import Outbound
import WebPush

// The outcome of every answer of a push service. docs/Providers.md has the same table for operators.
// Source: RFC 8030, RFC 8292 §4.2; autopush, "Error Codes"; Apple, "Sending web push notifications in web apps and browsers".

extension Outcome {
    /// - Parameters:
    ///   - isApple: whether Apple answered.
    ///   - sentAt: a subscription that was renewed since is another.
    init(_ answer: WebPushAnswer, isApple: Bool, sentAt: Instant) {
        switch answer {
        case .accepted: self = .accepted
        case .rejected(let rejection):
            self.init(rejection, isApple: isApple, sentAt: sentAt)
            self = saying("\(rejection.status)\(rejection.reason.map { " \($0.text)" } ?? "")", rejection.words)
        case .dropped(let words): self = .refused(.dropped).saying("dropped", words)
        case .unusableKey: self = .refused(.badToken)
        // Browsers give such an address in place of an endpoint that is gone.
        case .unprocessed(let fault) where fault.code == .nowhere:
            self = Outcome.gone(since: sentAt).saying("not sent: \(fault)")
        case .unprocessed(let fault): self.init(unprocessed: fault)
        case .unknown: self = .unanswered
        }
    }

    /// A browser names its push service, so anyone can run one that answers arbitrarily, or subscribe with another key.
    /// So 401 and 403 concern only the one device; but Apple's reason for a bad token can only be caused by us.
    private init(_ rejection: WebPushRejection, isApple: Bool, sentAt: Instant) {
        switch (rejection.status, rejection.reason) {
        case (404, _), (410, _): self = .gone(since: sentAt)
        case (403, WebPushReason.badToken?) where isApple:
            self = .credentialsRefused("Apple refuses the VAPID token: subject, key or clock")
        case (_, WebPushReason.keyMismatch?): self = .refused(.tokenOfAnotherApplication)
        case (400, .number(113)?): self = .refused(.badCollapseID)
        case (400, .number(112)?), (400, .number(111)?): self = .refused(.badExpiration)
        case (400, .word("BadUrgency")?): self = .refused(.badPriority)
        case (401, _), (403, _): self = .refused(.forbidden)
        case (405, _): self = .refused(.methodNotAllowed)
        // Microsoft's service throttles with it.
        case (406, _): self = .throttled(retryAfter: Self.wait(rejection.retryAfter))
        default: self.init(unlisted: rejection.status, retryAfter: Self.wait(rejection.retryAfter))
        }
    }
}

extension WebPushReason {
    /// The reason as the service wrote it.
    fileprivate var text: String {
        switch self {
        case .word(let word): word
        case .number(let number): "errno \(number)"
        }
    }
}

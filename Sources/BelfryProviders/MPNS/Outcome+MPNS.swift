import BelfryService
import MPNS

// The outcome of every answer of MPNS. docs/Providers.md has the same table for operators.
// Source: Microsoft, "Push Notification Service response codes for Windows Phone".

extension Outcome {
    /// - Parameter sentAt: a channel that was renewed since is another.
    init(_ answer: MPNSAnswer, sentAt: Instant) {
        switch answer {
        case .answered(let verdict):
            self.init(verdict, sentAt: sentAt)
            self = saying("\(verdict.status)", verdict.words)
        case .unprocessed(let fault): self.init(unprocessed: fault)
        case .unknown: self = .unanswered
        }
    }

    private init(_ verdict: MPNSVerdict, sentAt: Instant) {
        switch (verdict.status, verdict.notification) {
        case (200, .queueFull): self = .throttled(retryAfter: verdict.retryAfter ?? .seconds(240))
        // The app asked for none of this kind.
        case (200, .suppressed), (200, .dropped): self = .refused(.dropped)
        case (200, _): self = .accepted
        // Concerns this channel; devices name their channels, so it says nothing about our certificate.
        case (401, _): self = .refused(.forbidden)
        case (403, _): self = .credentialsRefused("MPNS refuses the certificate")
        case (404, _): self = verdict.subscription == .expired ? .gone(since: sentAt) : .refused(.badToken)
        case (405, _): self = .refused(.methodNotAllowed)
        // The daily limit of an unauthenticated sender.
        case (406, _): self = .throttled(retryAfter: verdict.retryAfter ?? .seconds(3_600))
        // The device is inactive: at most one attempt an hour is allowed.
        case (412, _): self = .throttled(retryAfter: max(verdict.retryAfter ?? .zero, .seconds(61 * 60)))
        default: self.init(unlisted: verdict.status, retryAfter: verdict.retryAfter)
        }
    }
}

import BelfryService
import PAP

// The outcome of every answer of a push gateway. docs/Providers.md has the same table for operators.
// Source: WAP-247 PAP §9.13; BlackBerry, "Push Service SDK", response codes.

extension Outcome {
    /// - Parameter sentAt: a device that registered since is active.
    init(_ answer: PAPAnswer, sentAt: Instant) {
        switch answer {
        case .result(let code, let words):
            self.init(papCode: code, sentAt: sentAt)
            self = saying("code \(code)", words)
        // Not an answer of the protocol; the message may have been accepted.
        case .rejected(200, _, _): self = .unanswered
        case .rejected(401, _, let words), .rejected(403, _, let words):
            self = .credentialsRefused("the push gateway refuses the application's password").saying("", words)
        case .rejected(let status, let retryAfter, let words):
            self.init(unlisted: status, retryAfter: retryAfter)
            self = saying("\(status)", words)
        case .unprocessed(let fault): self.init(unprocessed: fault, byHostOf: "the push gateway")
        case .unknown: self = .unanswered
        }
    }

    private init(papCode: Int, sentAt: Instant) {
        switch papCode {
        // 1500: accepted, and the daily quota is now used up.
        case 1_000, 1_001, 1_500: self = .accepted
        // The push id is known: an earlier attempt arrived after all.
        case 2_007: self = .accepted
        case 2_001: self = .refused(.badToken)
        case 2_002, 4_502, 22_002: self = .gone(since: sentAt)
        case 2_500, 22_005: self = .throttled(retryAfter: Self.untilTomorrow(sentAt))
        case 3_000, 3_007, 4_000, 4_001, 23_000: self = .failed(retryAfter: nil)
        case 4_500: self = .refused(.badExpiration)
        case 4_503: self = .refused(.forbidden)
        default: self = .refused(.other)
        }
    }

    /// Quotas are reset at midnight UTC.
    private static func untilTomorrow(_ now: Instant) -> Duration {
        let day: Int64 = 86_400_000
        return .milliseconds(day - now.milliseconds % day)
    }
}

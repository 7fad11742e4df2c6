import BelfryService
import Outbound
import Webhook

// The outcome of every answer of a webhook. docs/Providers.md has the same table for operators.

extension Outcome {
    /// One outcome for each device of the batch.
    ///
    /// - Parameter sentAt: a device that registered since is active.
    static func table(_ answer: WebhookAnswer, devices: Int, sentAt: Instant) -> [Outcome] {
        if case .verdicts(let verdicts) = answer, verdicts.count == devices {
            return verdicts.map { Outcome($0, sentAt: sentAt) }
        }
        return Array(repeating: Outcome(ofBatch: answer), count: devices)
    }

    private init(_ verdict: WebhookVerdict, sentAt: Instant) {
        switch verdict {
        case .accepted: self = .accepted
        case .refused: self = .refused(.other)
        case .gone: self = .gone(since: sentAt)
        case .retry(let wait): self = .failed(retryAfter: Self.wait(wait))
        }
    }

    private init(ofBatch answer: WebhookAnswer) {
        switch answer {
        case .verdicts: self = .accepted
        case .unreadable, .unknown: self = .unanswered
        case .rejected(let status, let retryAfter, let words):
            switch status {
            case 300..<400, 401, 403, 404, 410:
                self = .credentialsRefused("the webhook answered \(status)", by: .request)
            default: self.init(unlisted: status, retryAfter: Self.wait(retryAfter))
            }
            self = saying("\(status)", words)
        case .unprocessed(let fault): self.init(unprocessed: fault, byHostOf: "the webhook")
        }
    }
}

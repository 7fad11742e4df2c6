import BelfryService
import WNS

// The outcome of every answer of WNS. docs/Providers.md has the same table for operators.
// Source: Microsoft, "Push notification service request and response headers", "Response codes".

extension Outcome {
    /// - Parameter sentAt: a channel that was renewed since is another.
    init(_ answer: WNSAnswer, sentAt: Instant) {
        switch answer {
        case .received: self = .accepted
        case .dropped(let words): self = .refused(.dropped).saying("200 dropped", words)
        case .channelThrottled(let retryAfter):
            self = .throttled(retryAfter: retryAfter ?? .seconds(600)).saying("200 channelthrottled")
        case .rejected(let rejection):
            self.init(rejection, sentAt: sentAt)
            self = saying("\(rejection.status)", rejection.description)
        case .unauthorized(let fault): self.init(fault)
        case .unprocessed(let fault): self.init(unprocessed: fault)
        case .unknown: self = .unanswered
        }
    }

    private init(_ rejection: WNSRejection, sentAt: Instant) {
        let retryAfter = rejection.retryAfter
        switch rejection.status {
        // The client has already tried a new token.
        case 401: self = .credentialsRefused("WNS refuses the access token: \(rejection.description ?? "401")")
        // The channel of another app: devices name their channels, so it says nothing about our credentials.
        case 403: self = .refused(.tokenOfAnotherApplication)
        case 410 where rejection.description?.lowercased().contains("domain blocked") == true:
            self = .credentialsRefused("WNS blocks this app: \(rejection.description ?? "410")")
        case 404, 410: self = .gone(since: sentAt)
        case 405: self = .refused(.methodNotAllowed)
        case 406, 429: self = .throttled(retryAfter: retryAfter ?? Self.standardWait)
        // The device cannot be reached at present.
        case 412: self = .throttled(retryAfter: retryAfter ?? Self.standardWait)
        default: self.init(unlisted: rejection.status, retryAfter: retryAfter)
        }
    }

    fileprivate static let standardWait = Duration.seconds(3_600)
}

extension WNSAnswer {
    /// How long the sender as a whole must wait, whatever the channel.
    var senderWait: Duration? {
        guard case .rejected(let rejection) = self, [406, 429].contains(rejection.status) else { return nil }
        return rejection.retryAfter ?? Outcome.standardWait
    }
}

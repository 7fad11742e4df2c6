/// What answers say of the project's quota.
enum FCMBackOff {
    /// Where FCM names no figure. Source: Firebase, "Best practices when sending FCM messages at scale".
    static let standard = Duration.seconds(60)

    /// How long nothing should leave, or nil. One device may have its own limit reached, which is nothing to the
    /// others: the project's is reached where most of a batch are told so.
    static func pause(after answers: [FCMAnswer]) -> Duration? {
        let waits = answers.compactMap(\.askedTimeout)
        guard waits.count > 1, waits.count * 2 > answers.count else { return nil }
        return waits.max()
    }
}

extension FCMAnswer {
    fileprivate var askedTimeout: Duration? {
        guard case .rejected(let rejection) = self, rejection.status == 429 else { return nil }
        return rejection.retryAfter ?? FCMBackOff.standard
    }
}

/// Decides the pause that answers about the project's quota require.
enum FCMBackOff {
    /// The pause where FCM names none. Source: Firebase, "Best practices when sending FCM messages at scale".
    static let standard = Duration.seconds(60)

    /// How long nothing should be sent, or nil. One device may have reached its own limit, which does not concern the
    /// others: the project's is reached where most of a batch is throttled.
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

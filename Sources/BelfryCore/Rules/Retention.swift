/// How long what is over is kept.
package struct Retention: Sendable, Hashable {
    /// What ages out, in the order in which it goes.
    package enum Kind: String, Sendable, CaseIterable {
        /// What each device of a settled push answered. The push's counters stay.
        case answers
        /// Settled pushes, with their counters and what is left of their answers.
        case pushes
        /// Lines of the audit log.
        case audit
        /// Answers kept for repeated requests, whose time is over.
        case idempotency
    }

    private let answers: Duration?
    private let pushes: Duration?
    private let audit: Duration?

    /// nil keeps for ever.
    package init(
        answers: Duration? = .seconds(30 * 86_400), pushes: Duration? = .seconds(90 * 86_400),
        audit: Duration? = .seconds(730 * 86_400)
    ) {
        self.answers = answers
        self.pushes = pushes
        self.audit = audit
    }

    /// What was over before this goes; nil when nothing does.
    package func bound(of kind: Kind, at now: Instant) -> Instant? {
        let kept: Duration? =
            switch kind {
            // No answer outlives its push.
            case .answers: [answers, pushes].compactMap(\.self).min()
            case .pushes: pushes
            case .audit: audit
            case .idempotency: IdempotencyRecord.lifetime
            }
        return kept.map { now + (.zero - $0) }
    }
}

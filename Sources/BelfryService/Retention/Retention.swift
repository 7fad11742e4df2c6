/// The times for which ended things are kept.
package struct Retention: Sendable, Hashable {
    /// The kinds of rows that are deleted by age, in this order.
    package enum Kind: String, Sendable, CaseIterable {
        /// The answers of each device of a settled push. The push's counters stay.
        case answers
        /// Settled pushes, with their counters and the rest of their answers.
        case pushes
        /// Lines of the audit log.
        case audit
        /// Expired answers for repeated requests.
        case idempotency
        /// Devices that were imported, and whose apps have not registered since: they become inactive.
        case unseen
        /// Imports of the admin API, with their verdicts.
        case imports
        /// Texts that people have written in Compose and not sent.
        case drafts
    }

    private let answers: Duration?
    private let pushes: Duration?
    private let audit: Duration?
    private let unseen: Duration?
    private let imports: Duration?

    /// nil keeps for ever.
    package init(
        answers: Duration? = .seconds(30 * 86_400), pushes: Duration? = .seconds(90 * 86_400),
        audit: Duration? = .seconds(730 * 86_400), unseen: Duration? = nil,
        imports: Duration? = .seconds(30 * 86_400)
    ) {
        self.answers = answers
        self.pushes = pushes
        self.audit = audit
        self.unseen = unseen
        self.imports = imports
    }

    /// The cut-off time for a kind; nil if it is kept for ever.
    package func bound(of kind: Kind, at now: Instant) -> Instant? {
        let kept: Duration? =
            switch kind {
            // No answer outlives its push.
            case .answers: [answers, pushes].compactMap(\.self).min()
            case .pushes: pushes
            case .audit: audit
            case .idempotency: IdempotencyRecord.lifetime
            case .unseen: unseen
            case .imports: imports
            case .drafts: ComposeDraft.lifetime
            }
        return kept.map { now + (.zero - $0) }
    }
}

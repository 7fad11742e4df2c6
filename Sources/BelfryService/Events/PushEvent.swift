/// Something that happened to a push, with the counters that its receipt had then.
package struct PushEvent: Sendable, Hashable {
    package enum Kind: String, Sendable, Hashable {
        /// The first event that a reader gets for a push.
        case accepted
        /// Devices were found or got their answers.
        case progress
        /// The push waits until an operator resumes a platform.
        case parked
        case resumed
        /// Every device has its answer; the last event of a push.
        case settled
    }

    package let kind: Kind
    package let receipt: Receipt

    package init(_ kind: Kind, _ receipt: Receipt) {
        self.kind = kind
        self.receipt = receipt
    }

    /// The events between two receipts; `old` is nil at the first read. None follow `settled`.
    package static func events(from old: Receipt?, to new: Receipt) -> [PushEvent] {
        guard let old else {
            let isNew = new.settledAt != nil || !new.parked.isEmpty
            return [PushEvent(.accepted, new)]
                + (isNew ? [PushEvent(new.settledAt != nil ? .settled : .parked, new)] : [])
        }
        if old.settledAt != nil { return [] }
        if new.settledAt != nil { return [PushEvent(.settled, new)] }
        switch (old.parked.isEmpty, new.parked.isEmpty) {
        case (true, false): return [PushEvent(.parked, new)]
        case (false, true): return [PushEvent(.resumed, new)]
        default:
            return old.counts == new.counts && old.isFannedOut == new.isFannedOut ? [] : [PushEvent(.progress, new)]
        }
    }
}

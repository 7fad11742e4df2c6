/// Something that happened to a push, with the counters that its receipt had then.
package struct PushEvent: Sendable, Hashable {
    package enum Kind: String, Sendable, Hashable {
        /// The first that a reader hears of a push.
        case accepted
        /// Devices were found or got their answers.
        case progress
        /// The push waits for a person to mend a platform.
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

    /// What happened between two looks at a receipt; at the first there is no old one. Nothing follows on `settled`.
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

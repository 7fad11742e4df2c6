/// The posting list of a topic on a platform.
struct SubscriptionList: Hashable, Comparable {
    let topic: Int64
    let platform: Key<Platform>

    static func < (left: Self, right: Self) -> Bool { (left.topic, left.platform) < (right.topic, right.platform) }
}

/// The progress of the posting lists: topics of devices past it are in their rows.
struct PostingMark: Hashable {
    /// The last device that is in all of its lists.
    let device: Int64
    let merge: Merge?

    /// A merge that is under way; in PostgreSQL each is one transaction, so none is seen.
    struct Merge: Hashable {
        /// The last device that it brings into the lists.
        let end: Int64
        /// The last list that has its devices; nil for none yet.
        let last: SubscriptionList?
    }

    /// The last device that is in any list.
    var lastOfAny: Int64 { merge?.end ?? device }

    /// The last device that is in this list, if it belongs there.
    func last(of list: SubscriptionList) -> Int64 {
        guard let merge, let last = merge.last, list <= last else { return device }
        return merge.end
    }
}

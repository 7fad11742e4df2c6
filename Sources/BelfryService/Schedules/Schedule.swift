package import FoundationEssentials

/// A push request that waits for its time; afterwards the record of its result.
package struct Schedule: Sendable, Hashable {
    package let key: Key<Schedule>
    package let applicationKey: Key<Application>
    package let pushRequest: PushRequest
    package let dueAt: Instant
    package let createdAt: Instant
    /// Raised by each change: a change based on an older version is refused.
    package let version: Int64
    /// nil while it waits.
    package let ending: Ending?
    /// The types of platform that would refuse it for its size today, for the answer to its sender; not stored.
    package var tooLarge: [InvalidInput] = []

    /// The time for which an ended schedule is kept for callers that ask for its result.
    package static let keptFor = Duration.seconds(30 * 86_400)
    /// Schedulers are signalled about a schedule that is due sooner than this; they find the others in time by
    /// themselves.
    package static let soon = Duration.seconds(60)

    package struct Ending: Sendable, Hashable {
        package let how: How
        package let at: Instant

        package init(_ how: How, at: Instant) {
            self.how = how
            self.at = at
        }
    }

    package enum How: Sendable, Hashable {
        /// It became the push of this receipt.
        case sent(receiptID: UUID)
        case cancelled
        /// Its push would have expired before it could be sent.
        case expired
        /// When it was due, a platform could not accept the content; a human-readable reason.
        case refused(String)

        /// The name that lists use.
        package var name: String {
            switch self {
            case .sent: "sent"
            case .cancelled: "cancelled"
            case .expired: "expired"
            case .refused: "refused"
            }
        }
    }

    /// The fields that a caller wants changed; nil leaves one as it is.
    package struct Change: Sendable, Hashable {
        package let content: Push.Content?
        package let target: Target?
        package let dueAt: Instant?
        package let expiresAt: Instant?
        package let lane: Lane?
        package let guarantee: Push.Guarantee?
        /// Fields to clear.
        package let removed: Set<Part>
        /// The version that the caller saw; nil changes any. A different current version makes the change an `EditConflict`.
        package let seen: Int64?

        /// The fields that can be cleared.
        package enum Part: Sendable, Hashable { case expiry, lane }

        package init(
            content: Push.Content? = nil, target: Target? = nil, dueAt: Instant? = nil, expiresAt: Instant? = nil,
            lane: Lane? = nil, guarantee: Push.Guarantee? = nil, removed: Set<Part> = [], seen: Int64? = nil
        ) {
            self.content = content
            self.target = target
            self.dueAt = dueAt
            self.expiresAt = expiresAt
            self.lane = lane
            self.guarantee = guarantee
            self.removed = removed
            self.seen = seen
        }
    }

    package init(
        key: Key<Schedule>, applicationKey: Key<Application>, pushRequest: PushRequest, dueAt: Instant,
        createdAt: Instant,
        version: Int64, ending: Ending?
    ) {
        self.key = key
        self.applicationKey = applicationKey
        self.pushRequest = pushRequest
        self.dueAt = dueAt
        self.createdAt = createdAt
        self.version = version
        self.ending = ending
    }

    /// Throws unless this is the version that the caller saw.
    package func check(_ change: Change) throws(EditConflict) {
        if let seen = change.seen, seen != version { throw EditConflict() }
    }

    /// This schedule with the changes, in its next version.
    package func changed(by change: Change) -> Schedule {
        let pushRequest = PushRequest(
            content: change.content ?? pushRequest.content, target: change.target ?? pushRequest.target,
            lane: change.removed.contains(.lane) ? nil : change.lane ?? pushRequest.lane,
            guarantee: change.guarantee ?? pushRequest.guarantee,
            expiresAt: change.removed.contains(.expiry) ? nil : change.expiresAt ?? pushRequest.expiresAt)
        return Schedule(
            key: key, applicationKey: applicationKey, pushRequest: pushRequest, dueAt: change.dueAt ?? dueAt,
            createdAt: createdAt,
            version: version + 1, ending: ending)
    }

    /// This schedule, ended.
    package func ended(_ how: How, at now: Instant) -> Schedule {
        Schedule(
            key: key, applicationKey: applicationKey, pushRequest: pushRequest, dueAt: dueAt, createdAt: createdAt,
            version: version, ending: Ending(how, at: now))
    }
}

/// The public id of a schedule: 16 hex digits, a bijective scrambling of its key. It hides the order, and is not a
/// secret.
extension Key where Noun == Schedule {
    private static var multiplier: UInt64 { 0xD6E8_FEB8_6659_FD93 }
    /// `multiplier` times this is 1, modulo 2⁶⁴.
    private static var inverseMultiplier: UInt64 { 0xCFEE_444D_8B59_A89B }

    package var id: String {
        var word = UInt64(bitPattern: rawValue) &* Self.multiplier
        word = (word ^ word >> 32) &* Self.multiplier
        let digits = String(word ^ word >> 32, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// nil for anything but 16 hex digits.
    package init?(id: String) {
        guard id.utf8.count == 16, let bytes = [UInt8](hex: id.utf8) else { return nil }
        var word = bytes.reduce(0) { $0 << 8 | UInt64($1) }
        word = (word ^ word >> 32) &* Self.inverseMultiplier
        word = (word ^ word >> 32) &* Self.inverseMultiplier
        self.init(Int64(bitPattern: word))
    }
}

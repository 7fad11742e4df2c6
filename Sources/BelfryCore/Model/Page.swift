/// The unit of work and the ledger: up to about 500 devices of one push on one platform, with an answer for each.
///
/// A page that was claimed is a lease. It names its attempt, and so does what settles it.
package struct Page: Sendable, Hashable {
    package let key: Key<Page>
    package let pushKey: Key<Push>
    package let platformKey: Key<Platform>
    package let lane: Lane
    /// Ascending.
    package let devices: [Key<Device>]
    /// One for each device, in the same order.
    package let answers: [Answer]
    /// How often the page was claimed, this time included.
    package let attempt: Int64
    /// Whether an earlier claim ended without a word, so that some devices may have been told already.
    package let isLapsed: Bool
    /// Until when pending devices rest, by their place: their provider asked for more patience than the page has.
    package let rests: [Int: Instant]

    /// Large enough that transactions do not show, small enough that an urgent push does not wait for one.
    package static let devicesMax = 500

    package init(
        key: Key<Page>, pushKey: Key<Push>, platformKey: Key<Platform>, lane: Lane, devices: [Key<Device>],
        answers: [Answer], attempt: Int64, isLapsed: Bool, rests: [Int: Instant] = [:]
    ) {
        self.key = key
        self.pushKey = pushKey
        self.platformKey = platformKey
        self.lane = lane
        self.devices = devices
        self.answers = answers
        self.attempt = attempt
        self.isLapsed = isLapsed
        self.rests = rests
    }

    /// Where in `devices` those stand that are to be told now.
    package var ready: [Int] { answers.indices.filter { answers[$0] == .pending && rests[$0] == nil } }
}

/// The way of one push through the devices of one platform, as far as it has come.
package struct Walk: Sendable, Hashable {
    package let pushKey: Key<Push>
    package let platformKey: Key<Platform>
    package let lane: Lane
    package let audience: Audience
    /// The last device that has a page already; nil at the start.
    package let cursor: Key<Device>?
    /// How often the walk was claimed, this time included.
    package let attempt: Int64

    package init(
        pushKey: Key<Push>, platformKey: Key<Platform>, lane: Lane, audience: Audience, cursor: Key<Device>?,
        attempt: Int64
    ) {
        self.pushKey = pushKey
        self.platformKey = platformKey
        self.lane = lane
        self.audience = audience
        self.cursor = cursor
        self.attempt = attempt
    }
}

/// What one step of a walk found.
package struct WalkStep: Sendable, Hashable {
    package let walk: Walk
    /// The pages to write, each in ascending order and after the one before.
    package let pages: [[Key<Device>]]
    /// Whether the audience ends here.
    package let isLast: Bool

    package init(walk: Walk, pages: [[Key<Device>]], isLast: Bool) {
        self.walk = walk
        self.pages = pages
        self.isLast = isLast
    }
}

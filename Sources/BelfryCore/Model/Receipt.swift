/// How a caller follows a push: its state, and how many devices got which answer.
package struct Receipt: Sendable, Hashable {
    package let push: PushHead
    /// Whether the whole audience has pages, so that the sum of `counts` is the number of devices.
    package let isSpread: Bool
    /// Counts by answer; `pending` holds those that still wait. Their sum is the number of devices found so far.
    package let counts: [Answer: Int]
    /// When the last device got its answer; nil while some wait.
    package let settledAt: Instant?
    /// When the first device got its answer.
    package let firstAnswerAt: Instant?
    /// The platforms that hold the push up, and why.
    package let parked: [Parking]
    /// Open pages that cannot be read; the push settles once they are mended or written off.
    package let damagedPages: Int
    /// Platforms where its audience cannot be looked for, since the push itself cannot be read; the same holds.
    package let damagedWalks: Int

    package enum State: String, Sendable, Hashable {
        case spreading, delivering, parked, damaged, settled
    }

    package init(
        push: PushHead, isSpread: Bool, counts: [Answer: Int], settledAt: Instant?, firstAnswerAt: Instant?,
        parked: [Parking], damagedPages: Int = 0, damagedWalks: Int = 0
    ) {
        self.push = push
        self.isSpread = isSpread
        self.counts = counts
        self.settledAt = settledAt
        self.firstAnswerAt = firstAnswerAt
        self.parked = parked
        self.damagedPages = damagedPages
        self.damagedWalks = damagedWalks
    }

    package var state: State {
        if settledAt != nil { return .settled }
        if !parked.isEmpty { return .parked }
        if damagedPages + damagedWalks > 0 { return .damaged }
        return isSpread ? .delivering : .spreading
    }

    /// Devices found so far.
    package var devices: Int { counts.values.reduce(0, +) }

    /// Devices that have their final answer.
    package var answered: Int { devices - counts[.pending, default: 0] }
}

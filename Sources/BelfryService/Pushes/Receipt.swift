/// The status of a push: its state, and the number of devices with each answer.
package struct Receipt: Sendable, Hashable {
    package let push: PushHead
    /// Whether the whole audience has batches, so that the sum of `counts` is the number of devices.
    package let isFannedOut: Bool
    /// Counts by answer; `pending` counts devices without one. Their sum is the number of devices found so far.
    package let counts: [Answer: Int]
    /// When the last device got its answer; nil while some wait.
    package let settledAt: Instant?
    /// When the first device got its answer.
    package let firstAnswerAt: Instant?
    /// The parked platforms that block the push.
    package let parked: [ParkedPlatform]
    /// Open batches that cannot be read; the push settles once they are mended or written off.
    package let damagedBatches: Int
    /// Platforms where the audience cannot be scanned, since the push itself cannot be read; the push settles once it
    /// is mended or written off.
    package let damagedFanOuts: Int

    package enum State: String, Sendable, Hashable {
        case fanningOut = "fanning_out"
        case delivering, parked, damaged, settled
    }

    package init(
        push: PushHead, isFannedOut: Bool, counts: [Answer: Int], settledAt: Instant?, firstAnswerAt: Instant?,
        parked: [ParkedPlatform], damagedBatches: Int = 0, damagedFanOuts: Int = 0
    ) {
        self.push = push
        self.isFannedOut = isFannedOut
        self.counts = counts
        self.settledAt = settledAt
        self.firstAnswerAt = firstAnswerAt
        self.parked = parked
        self.damagedBatches = damagedBatches
        self.damagedFanOuts = damagedFanOuts
    }

    package var state: State {
        if settledAt != nil { return .settled }
        if !parked.isEmpty { return .parked }
        if damagedBatches + damagedFanOuts > 0 { return .damaged }
        return isFannedOut ? .delivering : .fanningOut
    }

    /// Devices found so far.
    package var devices: Int { counts.values.reduce(0, +) }

    /// Devices that have their final answer.
    package var answered: Int { devices - counts[.pending, default: 0] }
}

/// The unit of work and the ledger: up to 500 devices of one push on one platform, with an answer for each.
///
/// Claiming a batch leases it. Both the claim and the settlement carry the attempt number.
package struct Batch: Sendable, Hashable {
    package let key: Key<Batch>
    package let pushKey: Key<Push>
    package let platformKey: Key<Platform>
    package let lane: Lane
    /// Ascending.
    package let devices: [Key<Device>]
    /// One for each device, in the same order.
    package let answers: [Answer]
    /// The number of times the batch was claimed, this time included.
    package let attempt: Int64
    /// Whether an earlier lease expired unsettled, so devices may already have been notified.
    package let isLapsed: Bool
    /// When each waiting device may be retried, by its index in `devices`.
    package let retryTimes: [Int: Instant]
    /// Whether its push was cancelled while it was claimed: it is not sent again.
    package let isCancelled: Bool

    /// Large enough that transactions cost little, small enough that an urgent push does not wait for one.
    package static let devicesMax = 500

    package init(
        key: Key<Batch>, pushKey: Key<Push>, platformKey: Key<Platform>, lane: Lane, devices: [Key<Device>],
        answers: [Answer], attempt: Int64, isLapsed: Bool, retryTimes: [Int: Instant] = [:], isCancelled: Bool = false
    ) {
        self.key = key
        self.pushKey = pushKey
        self.platformKey = platformKey
        self.lane = lane
        self.devices = devices
        self.answers = answers
        self.attempt = attempt
        self.isLapsed = isLapsed
        self.retryTimes = retryTimes
        self.isCancelled = isCancelled
    }

    /// Indices of the devices to send to now.
    package var ready: [Int] { answers.indices.filter { answers[$0] == .pending && retryTimes[$0] == nil } }
}

/// The progress of one push through the devices of one platform.
package struct FanOut: Sendable, Hashable {
    package let pushKey: Key<Push>
    package let platformKey: Key<Platform>
    package let lane: Lane
    package let audience: Audience
    /// The last device that is in a batch already; nil at the start.
    package let cursor: Key<Device>?
    /// The number of times the fan-out was claimed, this time included.
    package let attempt: Int64
    /// Whether its push was cancelled: the rest of its devices are answered and not sent to.
    package let isCancelled: Bool
    /// The throttle of its push; see `Pacing`.
    package let perMinute: Int?
    /// The number of platforms that shared the throttle when it was claimed.
    package let platforms: Int

    package init(
        pushKey: Key<Push>, platformKey: Key<Platform>, lane: Lane, audience: Audience, cursor: Key<Device>?,
        attempt: Int64, isCancelled: Bool = false, perMinute: Int? = nil, platforms: Int = 1
    ) {
        self.pushKey = pushKey
        self.platformKey = platformKey
        self.lane = lane
        self.audience = audience
        self.cursor = cursor
        self.attempt = attempt
        self.isCancelled = isCancelled
        self.perMinute = perMinute
        self.platforms = max(platforms, 1)
    }
}

/// The result of one step of a fan-out.
package struct FanOutStep: Sendable, Hashable {
    package let fanOut: FanOut
    /// The batches to write, each in ascending order and after the one before.
    package let batches: [[Key<Device>]]
    /// Whether the audience ends here.
    package let isLast: Bool
    /// The device up to which the audience was read; nil for the last of the batches.
    package let cursor: Key<Device>?

    package init(fanOut: FanOut, batches: [[Key<Device>]], isLast: Bool, cursor: Key<Device>? = nil) {
        self.fanOut = fanOut
        self.cursor = cursor
        self.batches = batches
        self.isLast = isLast
    }
}

/// Batches of a platform that are claimed, loaded, sent and settled together: a full one, or many small ones.
///
/// A burst of small batches costs about as much as a full batch, and counts as one against the in-flight limits. So a
/// push to one device costs a share of a burst.
package struct Burst: Sendable, Hashable {
    /// The most bytes of content that are held in memory for a burst; only a single push may be longer.
    package static let contentBytesMax = 1 << 20

    /// A burst takes batches until it weighs this much.
    package let weightMax: Int

    package init(weightMax: Int = Batch.devicesMax) { self.weightMax = weightMax }

    /// The weight of a batch is the number of its devices. Each batch may bring a push of its own, so one of a single device
    /// weighs as much as one of two.
    package static let weightMin = 2

    package func weight(of batch: Batch) -> Int { min(max(batch.devices.count, Self.weightMin), weightMax) }

    /// The batches of a platform and a lane, split into bursts.
    package func runs(of batches: [Batch]) -> [[Batch]] {
        var runs: [[Batch]] = []
        var weight = weightMax
        for batch in batches {
            if weight < weightMax {
                runs[runs.count - 1].append(batch)
                weight += self.weight(of: batch)
            } else {
                runs.append([batch])
                weight = self.weight(of: batch)
            }
        }
        return runs
    }
}

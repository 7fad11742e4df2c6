extension SQLConnection {
    /// The receipts in the order of the pushes, without those that are gone, or whose counts cannot be read. Takes four trips, however many
    /// pushes there are.
    ///
    /// - Parameter damaged: where it is reported that counts cannot be read; nil throws instead.
    func receipts(of pushes: [PushHead], at now: Instant, _ damaged: DamagedRows?) throws -> [Receipt] {
        guard !pushes.isEmpty else { return [] }
        let keys = pushes.map(\.key)
        var progress = try progress(of: keys, at: now)
        let whole = keys.filter { progress[$0] == nil }
        if !whole.isEmpty {
            try readWhole(whole, into: &progress)
            // Pushes whose answers were deleted meanwhile.
            let rest = whole.filter { progress[$0] == nil }
            if !rest.isEmpty { progress.merge(try self.progress(of: rest, at: now)) { old, _ in old } }
        }
        for (push, progress) in progress where progress.counts == nil {
            let error = StoreError.damaged("the tally of push \(push)")
            guard let damaged else { throw error }
            damaged.note("the tally of push \(push)", error)
        }
        var parkings: [Key<Push>: [ParkedPlatform]] = [:]
        // Of a settled push all batches would be read, to find none open.
        let open = keys.filter { progress[$0]?.isSettled == false }
        try prepared(PushStatements.parkings).each(SQLKeys(open)) { row in
            guard let parking = Parking(row, from: 1, probe: 6), let uuid = row.uuid(4) else { return }
            parkings[Key(row.integer(0)), default: []].append(
                ParkedPlatform(uuid: uuid, name: row.text(5), parking: parking))
        }
        return pushes.compactMap { progress[$0.key]?.receipt(of: $0, parked: parkings[$0.key] ?? []) }
    }

    /// The progress of pushes that have counters of their own.
    ///
    /// The progress is read before the tallies, so that a push never appears as settled with older counts.
    private func progress(of keys: [Key<Push>], at now: Instant) throws -> [Key<Push>: PushProgress] {
        var found: [Key<Push>: PushProgress] = [:]
        try prepared(PushStatements.progress).each(SQLKeys(keys), now) { found[Key($0.integer(0))] = PushProgress($0) }
        guard !found.isEmpty else { return [:] }
        try prepared(TallyStatements.all).each(SQLKeys(found.keys)) { row in
            let push = Key<Push>(row.integer(0))
            if let answer = UInt8(exactly: row.integer(1)).flatMap(Answer.init(code:)) {
                found[push]?.counts?[answer] = Int(row.integer(2))
            } else {
                found[push]?.counts = nil
            }
        }
        return found
    }

    /// Adds the progress of pushes that were accepted with all their batches.
    private func readWhole(_ keys: [Key<Push>], into found: inout [Key<Push>: PushProgress]) throws {
        try prepared(PushStatements.whole).each(SQLKeys(keys)) { row in
            found[Key(row.integer(0)), default: PushProgress()].add(wholeBatch: row)
        }
    }
}

/// How far a push has come.
struct PushProgress {
    private var isFannedOut = true
    private(set) var devices = 0
    private(set) var firstAnswerAt: Instant?
    /// nil while a batch is open, or the audience is not known.
    private(set) var settledAt: Instant?
    var isSettled: Bool { openBatches == 0 && settledAt != nil }
    private var damagedBatches = 0
    private var damagedFanOuts = 0
    private var openBatches = 0
    /// The number of devices with each answer; nil where the counts cannot be read.
    var counts: [Answer: Int]? = [:]

    init() {}

    /// From the columns of `PushStatements.progress`.
    fileprivate init(_ row: some SQLRow) {
        isFannedOut = row.integer(1) == 0
        devices = Int(row.integer(2))
        firstAnswerAt = row.instantIfAny(3)
        settledAt = row.instantIfAny(4)
        damagedBatches = Int(row.integer(5))
        damagedFanOuts = Int(row.integer(6))
    }

    /// From the columns of `PushStatements.whole`.
    mutating func add(wholeBatch row: some SQLRow) {
        var tally = AnswerTally()
        row.withBlob(1) { tally.add($0) }
        devices += tally.devices
        firstAnswerAt = [firstAnswerAt, row.instantIfAny(4)].compactMap(\.self).min()
        if row.bool(2) {
            openBatches += 1
            damagedBatches += Int(row.integer(5))
        } else {
            settledAt = max(settledAt ?? .zero, Instant(milliseconds: row.integer(3)))
        }
        let final = tally.final
        // Only what is closed has an answer for each device.
        if !row.bool(2), final.values.reduce(0, +) != tally.devices { counts = nil }
        counts?.merge(final, uniquingKeysWith: +)
    }

    /// nil when its counts cannot be read.
    fileprivate func receipt(of push: PushHead, parked: [ParkedPlatform]) -> Receipt? {
        guard var counts else { return nil }
        let pending = devices - counts.values.reduce(0, +)
        if pending > 0 { counts[.pending] = pending }
        return Receipt(
            push: push, isFannedOut: isFannedOut, counts: counts, settledAt: openBatches > 0 ? nil : settledAt,
            firstAnswerAt: firstAnswerAt, parked: parked, damagedBatches: damagedBatches,
            damagedFanOuts: damagedFanOuts)
    }
}

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

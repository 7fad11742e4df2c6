import BelfryService
import Logging

/// Checks the end of a simulation against the invariants of docs/Architecture.md.
struct Verdict {
    let contents: Contents
    let ledger: Ledger
    let history: History.State
    private let world: World
    private let errors: [String]
    let devices: [Device]
    /// The pushes that found a device's token dead.
    private let goneIn: [Key<Device>: [Key<Push>]]

    init(of simulation: Simulation) {
        contents = simulation.memory.contents
        ledger = simulation.ledger
        history = simulation.history.state
        world = simulation.world
        errors = simulation.capturedLog.lines(atLeast: .error)
        devices = contents.devices.keys.sorted().compactMap { [contents] in contents.devices[$0] }
        goneIn = contents.batches.values.reduce(into: [:]) { found, row in
            for (device, answer) in zip(row.batch.devices, row.batch.answers) where answer == .gone {
                found[device, default: []].append(row.batch.pushKey)
            }
        }
    }

    var violations: [String] {
        contents.violations + history.pushes.flatMap(violations) + history.movedRetryTimes + scheduleViolations
            + localViolations + deviceViolations + unexpectedErrors + history.claimedInSpiteOfCancel
            + history.sentInSpiteOfRules
            + capViolations
    }

    // MARK: Pushes

    private func violations(of accepted: History.AcceptedPush) -> [String] {
        let push = accepted.push.key
        guard let row = contents.pushes[push], let settledAt = row.settledAt else { return ["push \(push): lost"] }
        var answers: [Key<Device>: Answer] = [:]
        // A batch may have lapsed, and been closed by a cancel or gone on since.
        var lapsed = history.lapsed[push, default: []]
        for batch in contents.batches.values.map(\.batch) where batch.pushKey == push {
            for (device, answer) in zip(batch.devices, batch.answers) { answers[device] = answer }
            if batch.isLapsed { lapsed.formUnion(batch.devices) }
        }
        return lost(from: accepted, answers: answers)
            + answers.sorted { $0.key < $1.key }.flatMap { device, answer in
                wrongs(answer, of: device, in: accepted, isLapsed: lapsed.contains(device), settledAt: settledAt)
            }
    }

    /// Devices that did not change after the push: they have an answer if and only if they are in its audience.
    private func lost(from accepted: History.AcceptedPush, answers: [Key<Device>: Answer]) -> [String] {
        let push = accepted.push.key
        return devices.compactMap { device in
            guard accepted.platforms.contains(device.platformKey), isUnchanged(device, since: accepted) else {
                return nil
            }
            let answer = answers[device.key]
            switch (accepted.audience.contains(device.key), answer) {
            case (true, nil): return "push \(push): device \(device.key) is lost"
            case (true, .skipped(.cancelled)?) where history.cancelledPushes.contains(push): return nil
            case (true, .skipped(let skip)?) where isByRule(skip, of: device, in: accepted.push): return nil
            case (true, .skipped?) where device.isActive: return "push \(push): device \(device.key) was skipped"
            case (false, _?): return "push \(push): device \(device.key) is not in its audience"
            default: return nil
            }
        }
    }

    /// Whether a rule of the push leaves the device out.
    private func isByRule(_ skip: Skip, of device: Device, in push: Push) -> Bool {
        let rules = push.content.pacing.rules
        return switch skip {
        case .quietHours: rules.quietHours.map { $0.then == .skip || $0.then == .wait } ?? false
        case .capped: rules.caps.contains { contents.capUses.count(of: Self.holder(of: device)) >= $0.limit }
        default: false
        }
    }

    private static func holder(of device: Device) -> Int64 {
        PacedDevice(key: device.key, userID: device.customUserID, timeZones: [], quietHours: nil).holder
    }

    /// Users whose devices were sent more pushes within a day than a cap allows.
    private var capViolations: [String] {
        guard let limit = world.pacing?.rules.caps.map(\.limit).min() else { return [] }
        return Dictionary(grouping: devices, by: Self.holder).sorted { $0.key < $1.key }.compactMap { holder, devices in
            let asked = history.pushes.map(\.push).filter { push in
                !push.content.pacing.rules.caps.isEmpty
                    && devices.contains { !ledger[push.key, $0.key].outcomes.isEmpty }
            }
            let times = asked.flatMap { push in devices.flatMap { ledger[push.key, $0.key].times } }
            guard let first = times.min(), let last = times.max(), last - first < .seconds(86_400) else { return nil }
            return asked.count <= limit
                ? nil : "holder \(holder): was sent \(asked.count) pushes in a day, and the cap is \(limit)"
        }
    }

    private func isUnchanged(_ device: Device, since accepted: History.AcceptedPush) -> Bool {
        !history.isTouched(device.key, since: accepted.moment)
            && accepted.active.contains(device.key) == device.isActive
    }

    private func wrongs(
        _ answer: Answer, of device: Key<Device>, in accepted: History.AcceptedPush, isLapsed: Bool,
        settledAt: Instant
    ) -> [String] {
        let push = accepted.push
        let entry = ledger[push.key, device]
        let name = "push \(push.key): device \(device)"
        let doubts = history.doubts(push.key, device)
        let unanswered = entry.outcomes.count { $0 == .unanswered }
        var found: [String] = []
        if entry.told > 1 + doubts + unanswered {
            found.append("\(name) was told \(entry.told) times, with \(doubts) crashes and \(unanswered) unanswered")
        }
        if push.guarantee == .atMostOnce, entry.told > 1 {
            found.append("\(name) was told \(entry.told) times, not once")
        }
        if doubts == 0, !mayHurry, entry.isHurried {
            found.append("\(name) was told again before the time that its provider named")
        }
        let isInDoubt = isLapsed || doubts + unanswered > 0
        if !isFounded(answer, on: entry, of: push, isInDoubt: isInDoubt, settledAt: settledAt) {
            found.append("\(name) is \(answer.name), its provider said \(entry.outcomes)")
        }
        return found
    }

    /// When a platform is resumed, its batches are sent at once.
    private var mayHurry: Bool { contents.hasResumed }

    /// Whether the answer follows from the provider's: from the last, or when in doubt, from any. A delivery worker
    /// that was suspended past its lease may ask the provider after the answer was written.
    private func isFounded(
        _ answer: Answer, on entry: Ledger.Entry, of push: Push, isInDoubt: Bool, settledAt: Instant
    ) -> Bool {
        let said = isInDoubt ? entry.outcomes[...] : entry.outcomes.suffix(1)
        return switch answer {
        case .pending: false
        case .accepted: entry.told > 0 && said.contains(.accepted)
        case .refused(let refusal): said.contains(.refused(refusal))
        case .gone: said.contains { if case .gone = $0 { true } else { false } }
        case .expired:
            world.policy.end(of: push)
                <= settledAt + max(world.policy.longestDelay, entry.longestWait) * 2 + .seconds(20)
        case .unknown:
            isInDoubt && (push.guarantee == .atMostOnce || history.cancelledPushes.contains(push.key))
        case .skipped(.cancelled):
            history.cancelledPushes.contains(push.key) && (isInDoubt || !said.contains(.accepted))
        case .skipped: true
        }
    }

    // MARK: Schedules

    private var scheduleViolations: [String] {
        let asked = Set(history.pushes.map(\.push.key))
        let started = contents.schedules.values.filter { $0.local?.parent != nil }.map(\.key)
        return history.schedules.union(started).sorted().compactMap(violation)
            + contents.pushes.keys.sorted().filter { !asked.contains($0) }.map { "push \($0): no client asked for it" }
    }

    private func violation(of key: Key<Schedule>) -> String? {
        guard let schedule = contents.schedules[key], let ending = schedule.ending else {
            return "schedule \(key): is lost"
        }
        let releases = history.releases[key, default: 0]
        if history.repeated.contains(key) { return "schedule \(key): became two pushes at one time" }
        let isRecurring = schedule.recurrence != nil
        let times = isRecurring ? World.PlannedSchedule.times - history.skips[key, default: 0] : 1
        let isLocal = schedule.local != nil
        let isCancelled = history.cancelled.contains(key)
        if isCancelled, ending.how != .cancelled || !isLocal && releases > (isRecurring ? times : 0) {
            return "schedule \(key): was cancelled, and is \(ending.how.name)"
        }
        switch ending.how {
        case .sent where releases != times && !isLocal: return "schedule \(key): is sent, and became \(releases) pushes"
        case .sent where ending.at < schedule.dueAt: return "schedule \(key): was sent before its time"
        case .expired where schedule.pushRequest.expiresAt.map { $0 > ending.at } ?? true:
            return "schedule \(key): ended as expired before its push does"
        case .cancelled where !isCancelled && !(schedule.local?.parent.map(history.cancelled.contains) ?? false):
            return "schedule \(key): no client cancelled it"
        case .refused(let words), .needless(let words): return "schedule \(key): was refused: \(words)"
        case .sent, .expired, .cancelled, .missed, .started: return nil
        }
    }

    // MARK: Devices

    private var deviceViolations: [String] {
        devices.compactMap { device in
            if !device.isActive, !history.hasLeft(device.key), !isDead(device) {
                return "device \(device.key): is inactive, though no provider said that it died since it registered"
            }
            if device.isActive, isBelieved(deadTokenOf: device) {
                return "device \(device.key): is active, though a provider said that it died since it registered"
            }
            return nil
        }
    }

    /// Whether a provider ever reported that the device died after it last registered.
    private func isDead(_ device: Device) -> Bool {
        history.pushes.contains { accepted in
            ledger[accepted.push.key, device.key].outcomes.contains { $0.isDeadToken(after: device.registeredAt) }
        }
    }

    /// Whether a verdict that the token is dead was written as the final answer of a push, and no later one contradicts
    /// it.
    private func isBelieved(deadTokenOf device: Device) -> Bool {
        guard world.limits.deadTokenBreaker.shareMax >= 1 else { return false }
        return goneIn[device.key, default: []].contains { push in
            history.doubts(push, device.key) == 0
                && (ledger[push, device.key].outcomes.last?.isDeadToken(after: device.registeredAt) ?? false)
        }
    }

    private var unexpectedErrors: [String] {
        errors.filter {
            !$0.contains("drawn by the simulation") && !$0.contains("parked until an operator acts")
                && !$0.contains("parked, and is tried again")
        }
        .map { "error logged: \($0)" }
    }
}

extension Outcome {
    fileprivate func isDeadToken(after registeredAt: Instant) -> Bool {
        if case .gone(let since?, _) = self { registeredAt < since } else { false }
    }
}

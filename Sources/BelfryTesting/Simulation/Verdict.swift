import BelfryCore
import Logging

/// Holds the end of a simulation to DESIGN.md §1.
struct Verdict {
    private let contents: Contents
    private let ledger: Ledger
    private let chronicle: Chronicle.State
    private let world: World
    private let errors: [String]

    init(of simulation: Simulation) {
        contents = simulation.memory.contents
        ledger = simulation.ledger
        chronicle = simulation.chronicle.state
        world = simulation.world
        errors = simulation.logBook.lines(atLeast: .error)
    }

    var violations: [String] {
        contents.violations + chronicle.pushes.flatMap(violations) + deviceViolations + unexpectedErrors
    }

    // MARK: Pushes

    private func violations(of accepted: Chronicle.AcceptedPush) -> [String] {
        let push = accepted.push.key
        guard let row = contents.pushes[push], let settledAt = row.settledAt else { return ["push \(push): lost"] }
        var answers: [Key<Device>: Answer] = [:]
        for page in contents.pages.values where page.page.pushKey == push {
            for (device, answer) in zip(page.page.devices, page.page.answers) { answers[device] = answer }
        }
        return lost(from: accepted, answers: answers)
            + answers.sorted { $0.key < $1.key }.flatMap { device, answer in
                wrongs(answer, of: device, in: accepted, settledAt: settledAt)
            }
    }

    /// Those whom nothing happened to since the push: they have an answer if and only if it was for them.
    private func lost(from accepted: Chronicle.AcceptedPush, answers: [Key<Device>: Answer]) -> [String] {
        let push = accepted.push.key
        return contents.devices.values.sorted { $0.key < $1.key }.compactMap { device in
            guard accepted.platforms.contains(device.platformKey), isUnchanged(device, since: accepted) else { return nil }
            let answer = answers[device.key]
            switch (accepted.audience.contains(device.key), answer) {
            case (true, nil): return "push \(push): device \(device.key) is lost"
            case (true, .skipped?) where device.isActive: return "push \(push): device \(device.key) was skipped"
            case (false, _?): return "push \(push): device \(device.key) is not in its audience"
            default: return nil
            }
        }
    }

    private func isUnchanged(_ device: Device, since accepted: Chronicle.AcceptedPush) -> Bool {
        !chronicle.isTouched(device.key, since: accepted) && accepted.active.contains(device.key) == device.isActive
    }

    private func wrongs(
        _ answer: Answer, of device: Key<Device>, in accepted: Chronicle.AcceptedPush, settledAt: Instant
    ) -> [String] {
        let push = accepted.push
        let entry = ledger[push.key, device]
        let name = "push \(push.key): device \(device)"
        let doubts = chronicle.doubts(push.key, device)
        let unanswered = entry.outcomes.count { $0 == .unanswered }
        var found: [String] = []
        if entry.told > 1 + doubts + unanswered {
            found.append("\(name) was told \(entry.told) times, with \(doubts) crashes and \(unanswered) unanswered")
        }
        if push.guarantee == .atMostOnce, entry.told > 1 { found.append("\(name) was told \(entry.told) times, not once") }
        if !isFounded(answer, on: entry, of: push, doubts: doubts + unanswered, settledAt: settledAt) {
            found.append("\(name) is \(answer.name), its provider said \(entry.outcomes)")
        }
        return found
    }

    /// Whether the answer follows from what the provider said.
    private func isFounded(
        _ answer: Answer, on entry: Ledger.Entry, of push: Push, doubts: Int, settledAt: Instant
    ) -> Bool {
        switch answer {
        case .pending: false
        case .accepted: entry.told > 0 && entry.outcomes.last == .accepted
        case .refused(let refusal): entry.outcomes.last == .refused(refusal)
        case .gone: if case .gone? = entry.outcomes.last { true } else { false }
        case .expired: world.policy.end(of: push) <= settledAt + world.policy.longestDelay * 2 + .seconds(20)
        case .unknown: push.guarantee == .atMostOnce && doubts > 0
        case .skipped: true
        }
    }

    // MARK: Devices

    private var deviceViolations: [String] {
        contents.devices.values.sorted { $0.key < $1.key }.compactMap { device in
            let verdicts = chronicle.pushes.flatMap { ledger[$0.push.key, device.key].outcomes }
            let isDead = verdicts.contains { $0.isDeath(after: device.registeredAt) }
            if !device.isActive, !chronicle.hasLeft(device.key), !isDead {
                return "device \(device.key): is inactive, though no provider said that it died since it registered"
            }
            if device.isActive, isBelieved(deathOf: device) {
                return "device \(device.key): is active, though a provider said that it died since it registered"
            }
            return nil
        }
    }

    /// Whether a verdict of death was written down as the last word of a push, with nobody to doubt it.
    private func isBelieved(deathOf device: Device) -> Bool {
        guard world.limits.deathWatch.shareMax >= 1 else { return false }
        return contents.pages.values.contains { row in
            guard let index = row.page.devices.firstIndex(of: device.key), row.page.answers[index] == .gone else {
                return false
            }
            return ledger[row.page.pushKey, device.key].outcomes.last?.isDeath(after: device.registeredAt) ?? false
        }
    }

    private var unexpectedErrors: [String] {
        errors.filter { !$0.contains("drawn by the simulation") && !$0.contains("parked until a person mends it") }
            .map { "error logged: \($0)" }
    }
}

extension Outcome {
    fileprivate func isDeath(after registeredAt: Instant) -> Bool {
        if case .gone(let since?) = self { registeredAt < since } else { false }
    }
}

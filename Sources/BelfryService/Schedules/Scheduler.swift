import FoundationEssentials
import Logging

/// Turns due schedules into pushes.
///
/// The end of a schedule, or its move to its next time, and the acceptance of its push are one transaction, so a scheduler that dies has lost nothing
/// and repeated nothing; what fell due meanwhile is the first thing the next one finds. Schedules that are due together
/// are released together, since writes that arrive together share one commit.
struct Scheduler: Sendable {
    let store: any DeliveryPorts
    let clock: any WallClock
    /// The longest sleep, however far away the next due time seems.
    let poll: Duration
    let pushObserver: any PushObserver
    let loop: RetryingLoop
    let wakeSignal = WakeSignal()

    private static let releasesAtOnce = 64
    /// How long a step waits before it looks again whether the ones before have found their devices, and in all.
    private static let (fanOutWait, stepWait) = (Duration.seconds(30), Duration.seconds(600))
    /// How long the rest of a campaign waits before it looks again for the winner.
    private static let winnerWait = Duration.seconds(300)

    func run() async throws {
        let builder = PushBuilder(store: store, clock: clock)
        try await loop.run(wokenBy: wakeSignal) {
            let due = try await store.dueSchedules(atMost: Self.releasesAtOnce)
            if due.isEmpty { try await waitForDueSchedule() }
            let faults = await withTaskGroup(of: (any Error)?.self) { group in
                for schedule in due {
                    group.addTask {
                        do { try await tryRelease(schedule, by: builder) } catch { return error }
                        return nil
                    }
                }
                return await group.reduce(into: []) { faults, fault in fault.map { faults.append($0) } }
            }
            if let fault = faults.first { throw fault }
            return true
        }
    }

    /// Sleeps until the next due time or the next wake signal.
    private func waitForDueSchedule() async throws {
        let next = try await store.nextScheduleDue()
        await wakeSignal.wait(atMost: min(next.map { $0 - clock.now } ?? poll, poll), by: clock)
    }

    /// Sets a schedule aside for which something is read that is damaged, so that it holds up no other.
    private func tryRelease(_ schedule: Schedule, by builder: PushBuilder) async throws {
        do { try await release(schedule, by: builder) } catch StoreError.damaged(let row, _) {
            loop.logger.error(
                "schedule was set aside for an hour", metadata: ["schedule": "\(schedule.key.id)", "damaged": "\(row)"])
            _ = try await store.pass(schedule, to: clock.now + Damage.setAsideFor)
        }
    }

    func release(_ stored: Schedule, by builder: PushBuilder) async throws {
        if stored.recurrence?.isLocal == true { return try await start(stored) }
        let schedule = stored.looked(at: clock.now)
        if schedule.isMissed(at: clock.now) { return try await end(schedule, .missed) }
        if let expiresAt = schedule.pushRequest.expiresAt, expiresAt <= clock.now {
            return try await end(schedule, .expired)
        }
        do {
            // The clocks of a stored zone that this system does not know show UTC.
            if let zone = schedule.recurrence?.zone ?? schedule.local?.zone {
                _ = try ZoneInfo(zone.name, field: "time_zone")
            }
            if let reason = try await condition(of: schedule) { return try await end(schedule, .needless(reason)) }
            var (pushRequest, narrowing) = (schedule.pushRequest, AudienceExpression?.none)
            let next = schedule.next(after: max(schedule.dueAt, clock.now))
            if let local = schedule.local {
                let runs = try await store.runs(of: schedule.key)
                let receipts = runs.compactMap(\.how.receiptID)
                // Who travels meanwhile could be found by both. A push that is throttled or parked is waited for by the last step alone.
                if next == nil || clock.now < (local.last(until: clock.now) ?? clock.now) + Self.stepWait,
                    try await !haveFound(receipts)
                {
                    _ = try await store.pass(schedule, to: clock.now + Self.fanOutWait)
                    return
                }
                let earlier = [runs.first?.dueAt, local.step(before: stored.dueAt)].compactMap(\.self).max()
                narrowing = try await due(local, of: schedule, without: receipts, after: next == nil ? nil : earlier)
            }
            // Reminders that wait for the end of quiet hours would come all at once, and the last one long after it was due.
            if let every = schedule.reminders?.every {
                let end = next ?? max(schedule.dueAt, clock.now) + .milliseconds(every.milliseconds)
                pushRequest.expiresAt = min(pushRequest.expiresAt ?? end, end)
            }
            let push = try await builder.build(pushRequest, for: schedule.applicationKey, narrowedBy: narrowing)
            let mayPass = schedule.local != nil && next != nil || schedule.reminders != nil
            if mayPass, try await !builder.reaches(push) { return try await pass(schedule, to: next) }
            // nil when it was changed or cancelled meanwhile: the next round decides then.
            guard let push = try await store.release(schedule, as: push) else { return }
            pushObserver.accepted(push.head)
            DeliveryMetric.scheduleEnded("sent", after: clock.now - schedule.dueAt)
        } catch is WinnerPending {
            _ = try await store.pass(schedule, to: clock.now + Self.winnerWait)
        } catch let error as InvalidInput {
            loop.logger.warning(
                "schedule was not sent", metadata: ["schedule": "\(schedule.key.id)", "reason": "\(error)"])
            try await end(schedule, .refused("\(error)"))
        }
    }

    /// Makes a schedule of the time that has come to the first clocks of the world, which is due at once.
    private func start(_ schedule: Schedule) async throws {
        guard let occurrence = schedule.occurrence(at: clock.now) else { return try await end(schedule, .missed) }
        guard try await store.start(occurrence, of: schedule) else { return }
        DeliveryMetric.scheduleEnded("started", after: clock.now - schedule.dueAt)
    }

    /// The devices whose clocks have come to the time, without those that an earlier step went to.
    ///
    /// - Parameter earlier: the time of the step before; who comes to a time that is over by then gets the push with the last step, which
    ///   has nil.
    private func due(
        _ local: LocalDelivery, of schedule: Schedule, without receipts: [UUID], after earlier: Instant?
    ) async throws -> AudienceExpression {
        let names = try await store.timeZones(of: schedule.applicationKey)
        var parts = [local.expression(for: names, at: schedule.dueAt)]
        if let earlier { parts.append(.not(local.expression(for: names, at: earlier))) }
        if !receipts.isEmpty { parts.append(.not(.term(.sent(receipts)))) }
        return parts.count == 1 ? parts[0] : .all(parts)
    }

    /// Moves a schedule on that goes to nobody now. Reminders end where nobody is left who could get one.
    private func pass(_ schedule: Schedule, to next: Instant?) async throws {
        let first = schedule.reminders == nil ? nil : schedule.pushRequest.content.follows?.receiptID
        let isOver = if let first { try await store.receipt(first)?.settledAt != nil } else { false }
        guard let next, !isOver else {
            return try await end(schedule, .needless("nobody is left who got it and has not opened it"))
        }
        _ = try await store.pass(schedule, to: next)
    }

    /// Why the condition of a schedule keeps it from sending; nil where it sends.
    private func condition(of schedule: Schedule) async throws -> String? {
        guard let condition = schedule.pushRequest.content.pacing.unlessSent else { return nil }
        let since = schedule.dueAt + .milliseconds(-condition.within.milliseconds)
        let sent = try await store.sentPush(of: condition.kind, since: since, besides: schedule)
        return sent.map { "push \($0.receiptID.lowercased) was sent at \($0.at.text)" }
    }

    /// Whether pushes have all their devices in batches. Others, such as throttled ones, find more as they go.
    private func haveFound(_ receipts: [UUID]) async throws -> Bool {
        for receiptID in receipts {
            guard let receipt = try await store.receipt(receiptID) else { continue }
            guard receipt.isFannedOut || receipt.damagedFanOuts > 0 else { return false }
        }
        return true
    }

    private func end(_ schedule: Schedule, _ how: Schedule.How) async throws {
        guard try await store.end(schedule, how) else { return }
        DeliveryMetric.scheduleEnded(how.name, after: clock.now - schedule.dueAt)
    }
}

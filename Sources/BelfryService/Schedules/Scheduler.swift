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

    func run() async throws {
        let builder = PushBuilder(store: store, clock: clock)
        try await loop.run(wokenBy: wakeSignal) {
            let due = try await store.dueSchedules(atMost: Self.releasesAtOnce)
            if due.isEmpty { try await waitForDueSchedule() }
            try await withThrowingDiscardingTaskGroup { group in
                for schedule in due { group.addTask { try await release(schedule, by: builder) } }
            }
            return true
        }
    }

    /// Sleeps until the next due time or the next wake signal.
    private func waitForDueSchedule() async throws {
        let next = try await store.nextScheduleDue()
        await wakeSignal.wait(atMost: min(next.map { $0 - clock.now } ?? poll, poll), by: clock)
    }

    func release(_ schedule: Schedule, by builder: PushBuilder) async throws {
        if schedule.recurrence?.isLocal == true { return try await start(schedule) }
        if schedule.isMissed(at: clock.now) { return try await end(schedule, .missed) }
        if let expiresAt = schedule.pushRequest.expiresAt, expiresAt <= clock.now {
            return try await end(schedule, .expired)
        }
        do {
            let narrowing: AudienceExpression? =
                if let local = schedule.local { try await due(local, of: schedule) } else { nil }
            let push = try await builder.build(
                schedule.pushRequest, for: schedule.applicationKey, narrowedBy: narrowing)
            if schedule.local != nil, schedule.next(after: max(schedule.dueAt, clock.now)) != nil,
                try await !builder.reaches(push)
            {
                _ = try await store.pass(schedule)
                return
            }
            // nil when it was changed or cancelled meanwhile: the next round decides then.
            guard let push = try await store.release(schedule, as: push) else { return }
            pushObserver.accepted(push.head)
            DeliveryMetric.scheduleEnded("sent", after: clock.now - schedule.dueAt)
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
    private func due(_ local: LocalDelivery, of schedule: Schedule) async throws -> AudienceExpression {
        let due = local.expression(
            for: try await store.timeZones(of: schedule.applicationKey), at: clock.now)
        let receipts = try await store.runs(of: schedule.key).compactMap(\.how.receiptID)
        return receipts.isEmpty ? due : .all([due, .not(.term(.sent(receipts)))])
    }

    private func end(_ schedule: Schedule, _ how: Schedule.How) async throws {
        guard try await store.end(schedule, how) else { return }
        DeliveryMetric.scheduleEnded(how.name, after: clock.now - schedule.dueAt)
    }
}

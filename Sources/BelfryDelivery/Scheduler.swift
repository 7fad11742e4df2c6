import BelfryService
import Logging

/// Turns due schedules into pushes.
///
/// The end of a schedule and the acceptance of its push are one transaction, so a scheduler that dies has lost nothing
/// and repeated nothing; what fell due meanwhile is the first thing the next one finds. Schedules that are due together
/// are released together, since writes that arrive together share one commit.
struct Scheduler: Sendable {
    let store: any ApplicationStore & DeviceStore & PushStore & ScheduleStore & AuditStore
    let clock: any WallClock
    /// The longest sleep, however far away the next due time seems.
    let poll: Duration
    let pushObserver: any PushObserver
    let loop: RetryingLoop
    let wakeSignal = WakeSignal()

    private static let releasesAtOnce = 64

    func run() async throws {
        let pushService = PushService(store: store)
        try await loop.run(wokenBy: wakeSignal) {
            let due = try await store.dueSchedules(atMost: Self.releasesAtOnce)
            if due.isEmpty { try await waitForDueSchedule() }
            try await withThrowingDiscardingTaskGroup { group in
                for schedule in due { group.addTask { try await release(schedule, by: pushService) } }
            }
            return true
        }
    }

    /// Sleeps until the next due time or the next wake signal.
    private func waitForDueSchedule() async throws {
        let next = try await store.nextScheduleDue()
        await wakeSignal.wait(atMost: min(next.map { $0 - clock.now } ?? poll, poll), by: clock)
    }

    private func release(_ schedule: Schedule, by pushService: PushService) async throws {
        if let expiresAt = schedule.pushRequest.expiresAt, expiresAt <= clock.now {
            return try await end(schedule, .expired)
        }
        do {
            let push = try await pushService.newPush(schedule.pushRequest, for: schedule.applicationKey)
            // nil when it was changed or cancelled meanwhile: the next round decides then.
            guard let push = try await store.release(schedule, as: push) else { return }
            pushObserver.accepted(push.head)
            Metric.scheduleEnded("sent", after: clock.now - schedule.dueAt)
        } catch let error as InvalidInput {
            loop.logger.warning(
                "schedule was not sent", metadata: ["schedule": "\(schedule.key.id)", "reason": "\(error)"])
            try await end(schedule, .refused("\(error)"))
        }
    }

    private func end(_ schedule: Schedule, _ how: Schedule.How) async throws {
        guard try await store.end(schedule, how) else { return }
        Metric.scheduleEnded(how.name, after: clock.now - schedule.dueAt)
    }
}

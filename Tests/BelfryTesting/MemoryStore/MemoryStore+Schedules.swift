package import BelfryService
package import FoundationEssentials

extension MemoryStore {
    package func schedule(
        _ pushRequest: PushRequest, at dueAt: Instant, recurring recurrence: Recurrence?,
        for application: Key<Application>
    ) async throws -> Schedule {
        let now = clock.now
        let schedule = try transaction { contents in
            guard contents.applications[application] != nil else { throw StoreError.unknown("application") }
            let schedule = Schedule(
                key: contents.nextKey(), applicationKey: application, pushRequest: pushRequest, dueAt: dueAt,
                createdAt: now, version: 1, recurrence: recurrence, ending: nil)
            contents.schedules[schedule.key] = schedule
            return schedule
        }
        if dueAt < now + Schedule.soon { signals.fire(.all) }
        return schedule
    }

    package func schedule(_ key: Key<Schedule>, of application: Key<Application>) async throws -> Schedule? {
        transaction { $0.schedule(key, of: application) }
    }

    package func change(
        _ key: Key<Schedule>, of application: Key<Application>, _ change: Schedule.Change
    ) async throws -> Schedule? {
        let now = clock.now
        let changed = try transaction { contents -> Schedule? in
            guard let schedule = contents.schedule(key, of: application), schedule.ending == nil else { return nil }
            try schedule.check(change)
            let changed = try schedule.changed(by: change, at: now)
            contents.schedules[key] = changed
            return changed
        }
        if let changed, changed.dueAt < now + Schedule.soon { signals.fire(.all) }
        return changed
    }

    package func cancel(_ key: Key<Schedule>, of application: Key<Application>) async throws -> Bool {
        let now = clock.now
        return transaction { contents in
            guard let schedule = contents.schedule(key, of: application) else { return false }
            guard contents.end(schedule, .cancelled, now: now) else { return false }
            for child in contents.waiting where child.local?.parent == key {
                _ = contents.end(child, .cancelled, now: now)
            }
            return true
        }
    }

    package func dueSchedules(atMost limit: Int) async throws -> [Schedule] {
        let now = clock.now
        return transaction { contents in Array(contents.waiting.filter { $0.dueAt <= now }.prefix(limit)) }
    }

    package func nextScheduleDue() async throws -> Instant? { transaction { $0.waiting.first?.dueAt } }

    package func release(_ schedule: Schedule, as push: NewPush) async throws -> Push? {
        let now = clock.now
        let accepted = try transaction { contents -> Push? in
            var changed = contents
            guard changed.end(schedule, .sent(receiptID: push.receiptID), now: now) else { return nil }
            let accepted = try changed.keep(push, now: now)
            contents = changed
            return accepted
        }
        if accepted != nil { signals.fire(.all) }
        return accepted
    }

    package func sentPush(
        of kind: String?, since: Instant, besides schedule: Schedule
    ) async throws -> (receiptID: UUID, at: Instant)? {
        transaction { contents in
            contents.pushes.values.map(\.push).filter { push in
                push.applicationKey == schedule.applicationKey && push.acceptedAt >= since
                    && (kind == nil || push.content.pacing.kind == kind) && push.content.follows == nil
            }.max { $0.key < $1.key }.map { ($0.receiptID, $0.acceptedAt) }
        }
    }

    package func end(_ schedule: Schedule, _ how: Schedule.How) async throws -> Bool {
        let now = clock.now
        return transaction { $0.end(schedule, how, now: now) }
    }

    package func pass(_ schedule: Schedule, to next: Instant) async throws -> Bool {
        let isPassed = transaction { contents in
            guard contents.isCurrent(schedule) else { return false }
            contents.schedules[schedule.key] = schedule.moved(to: next)
            return true
        }
        if isPassed { signals.fire(.all) }
        return isPassed
    }

    package func runs(of schedule: Key<Schedule>) async throws -> [ScheduleRun] {
        transaction { $0.scheduleRuns[schedule, default: []].reversed() }
    }

    package func start(_ occurrence: Schedule.Occurrence, of schedule: Schedule) async throws -> Bool {
        let now = clock.now
        let isStarted = transaction { contents in
            guard contents.isCurrent(schedule) else { return false }
            let child = Schedule(
                key: contents.nextKey(), applicationKey: schedule.applicationKey,
                pushRequest: schedule.pushRequest(of: occurrence), dueAt: occurrence.dueAt, createdAt: now, version: 1,
                ending: nil)
            contents.schedules[child.key] = child
            contents.note(.started(child.key), of: schedule, dueAt: occurrence.at, now: now)
            contents.schedules[schedule.key] =
                schedule.moved(past: occurrence) ?? schedule.ended(.started(child.key), at: now)
            return true
        }
        if isStarted { signals.fire(.all) }
        return isStarted
    }
}

extension Contents {
    /// Waiting schedules, the next due first.
    fileprivate var waiting: [Schedule] {
        schedules.values.filter { $0.ending == nil }.sorted { $0.isDue(before: $1) }
    }

    fileprivate func schedule(_ key: Key<Schedule>, of application: Key<Application>) -> Schedule? {
        schedules[key].flatMap { $0.applicationKey == application ? $0 : nil }
    }

    /// Whether it waits, in the version that was read.
    fileprivate func isCurrent(_ schedule: Schedule) -> Bool {
        schedules[schedule.key].map { $0.ending == nil && $0.version == schedule.version } ?? false
    }

    fileprivate mutating func end(_ schedule: Schedule, _ how: Schedule.How, now: Instant) -> Bool {
        guard isCurrent(schedule) else { return false }
        schedules[schedule.key] = schedule.finished(how, at: now)
        if schedule.isRepeated, how != .cancelled { note(how, of: schedule, dueAt: schedule.dueAt, now: now) }
        schedules = schedules.filter { entry in entry.value.ending.map { $0.at + Schedule.keptFor >= now } ?? true }
        return true
    }

    /// The last of them are kept.
    fileprivate mutating func note(_ how: Schedule.How, of schedule: Schedule, dueAt: Instant, now: Instant) {
        let runs = scheduleRuns[schedule.key, default: []] + [ScheduleRun(dueAt: dueAt, at: now, how: how)]
        scheduleRuns[schedule.key] = Array(runs.suffix(ScheduleRun.keptMax))
    }
}

extension Schedule {
    fileprivate func isDue(before other: Schedule) -> Bool { (dueAt, key) < (other.dueAt, other.key) }

    fileprivate func moved(to next: Instant) -> Schedule {
        Schedule(
            key: key, applicationKey: applicationKey, pushRequest: pushRequest, dueAt: next, createdAt: createdAt,
            version: version + 1, recurrence: recurrence, pausedAt: pausedAt, ending: ending)
    }
}

package import BelfryService

extension MemoryStore {
    package func schedule(
        _ pushRequest: PushRequest, at dueAt: Instant, for application: Key<Application>
    ) async throws -> Schedule {
        let now = clock.now
        let schedule = try transaction { contents in
            guard contents.applications[application] != nil else { throw StoreError.unknown("application") }
            try contents.check(quotas, .schedules, of: application)
            try contents.check(
                quotas, .content, of: application,
                adding: pushRequest.content.storedText.utf8.count + pushRequest.target.storedText.utf8.count)
            let schedule = Schedule(
                key: contents.nextKey(), applicationKey: application, pushRequest: pushRequest, dueAt: dueAt,
                createdAt: now,
                version: 1, ending: nil)
            contents.schedules[schedule.key] = schedule
            return schedule
        }
        if dueAt < now + Schedule.soon { signals.fire(.all) }
        return schedule
    }

    package func schedule(_ key: Key<Schedule>, of application: Key<Application>) async throws -> Schedule? {
        transaction { $0.schedule(key, of: application) }
    }

    package func schedules(of application: Key<Application>, after: Schedule?, limit: Int) async throws -> [Schedule] {
        transaction { contents in
            let rest = contents.waiting.filter { schedule in
                schedule.applicationKey == application && after.map { $0.isDue(before: schedule) } ?? true
            }
            return Array(rest.prefix(limit))
        }
    }

    package func endedSchedules(
        of application: Key<Application>, after: Schedule?, limit: Int
    ) async throws -> [Schedule] {
        transaction { contents in
            let ended = contents.schedules.values.filter { schedule in
                schedule.applicationKey == application && schedule.ending != nil
                    && after.map { schedule.hasEnded(before: $0) } ?? true
            }
            return Array(ended.sorted { $1.hasEnded(before: $0) }.prefix(limit))
        }
    }

    package func change(
        _ key: Key<Schedule>, of application: Key<Application>, _ change: Schedule.Change
    ) async throws -> Schedule? {
        let now = clock.now
        let changed = try transaction { contents -> Schedule? in
            guard let schedule = contents.schedule(key, of: application), schedule.ending == nil else { return nil }
            try schedule.check(change)
            let changed = schedule.changed(by: change)
            let (old, new) = (schedule.pushRequest, changed.pushRequest)
            try contents.check(
                quotas, .content, of: application,
                adding: new.content.storedText.utf8.count + new.target.storedText.utf8.count
                    - old.content.storedText.utf8.count
                    - old.target.storedText.utf8.count)
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
            return contents.end(schedule, .cancelled, now: now)
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

    package func end(_ schedule: Schedule, _ how: Schedule.How) async throws -> Bool {
        let now = clock.now
        return transaction { $0.end(schedule, how, now: now) }
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

    fileprivate mutating func end(_ schedule: Schedule, _ how: Schedule.How, now: Instant) -> Bool {
        guard let current = schedules[schedule.key], current.ending == nil, current.version == schedule.version else {
            return false
        }
        schedules[schedule.key] = current.ended(how, at: now)
        schedules = schedules.filter { entry in entry.value.ending.map { $0.at + Schedule.keptFor >= now } ?? true }
        return true
    }
}

extension Schedule {
    fileprivate func isDue(before other: Schedule) -> Bool { (dueAt, key) < (other.dueAt, other.key) }

    fileprivate func hasEnded(before other: Schedule) -> Bool {
        guard let at = ending?.at, let otherAt = other.ending?.at else { return false }
        return (at, dueAt, key) < (otherAt, other.dueAt, other.key)
    }
}

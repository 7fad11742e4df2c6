import BelfryCore
import BelfryTesting

/// Schedules are kept by a whole store, which is told of the applications as they are used.
extension FakeStore: ScheduleStore {
    func schedule(_ order: Order, at dueAt: Instant, for application: Key<Application>) async throws -> Schedule {
        let known = applicationList.first { $0.key == application }
        memory.tamper { $0.applications[application] = known }
        return try await memory.schedule(order, at: dueAt, for: application)
    }

    func schedule(_ key: Key<Schedule>, of application: Key<Application>) async throws -> Schedule? {
        try await memory.schedule(key, of: application)
    }

    func schedules(of application: Key<Application>, after: Schedule?, limit: Int) async throws -> [Schedule] {
        try await memory.schedules(of: application, after: after, limit: limit)
    }

    func endedSchedules(of application: Key<Application>, after: Schedule?, limit: Int) async throws -> [Schedule] {
        try await memory.endedSchedules(of: application, after: after, limit: limit)
    }

    func change(
        _ key: Key<Schedule>, of application: Key<Application>, _ change: Schedule.Change
    ) async throws -> Schedule? {
        try await memory.change(key, of: application, change)
    }

    func cancel(_ key: Key<Schedule>, of application: Key<Application>) async throws -> Bool {
        try await memory.cancel(key, of: application)
    }

    func dueSchedules(atMost limit: Int) async throws -> [Schedule] { try await memory.dueSchedules(atMost: limit) }
    func nextScheduleDue() async throws -> Instant? { try await memory.nextScheduleDue() }

    func release(_ schedule: Schedule, as push: NewPush) async throws -> Push? {
        try await memory.release(schedule, as: push)
    }

    func end(_ schedule: Schedule, _ how: Schedule.How) async throws -> Bool { try await memory.end(schedule, how) }
}

/// Push requests that wait for their time.
package protocol ScheduleStore: Sendable {
    /// Stores the push request until it is due. Durable when it returns.
    func schedule(_ pushRequest: PushRequest, at dueAt: Instant, for application: Key<Application>) async throws
        -> Schedule
    /// Whether it waits or has ended; nil if the application has no such schedule, or no longer.
    func schedule(_ key: Key<Schedule>, of application: Key<Application>) async throws -> Schedule?
    /// Waiting schedules, the next due first.
    ///
    /// - Parameter after: the last one of the page before.
    func schedules(of application: Key<Application>, after: Schedule?, limit: Int) async throws -> [Schedule]
    /// Ended schedules, the last ended first; each is kept for at least `Schedule.keptFor`.
    func endedSchedules(of application: Key<Application>, after: Schedule?, limit: Int) async throws -> [Schedule]
    /// Returns nil, and changes nothing, if it does not wait any more. Throws `EditConflict` when it is in another version than
    /// the change was made for.
    func change(
        _ key: Key<Schedule>, of application: Key<Application>, _ change: Schedule.Change
    ) async throws -> Schedule?
    /// Returns false if it does not wait any more. After true it is never sent.
    func cancel(_ key: Key<Schedule>, of application: Key<Application>) async throws -> Bool

    /// Due schedules, the longest due first.
    func dueSchedules(atMost limit: Int) async throws -> [Schedule]
    /// When the next schedule is due; nil when none waits.
    func nextScheduleDue() async throws -> Instant?
    /// Ends the schedule and accepts its push, both or neither.
    ///
    /// Returns nil, and does nothing, if it was changed or has ended since it was read.
    func release(_ schedule: Schedule, as push: NewPush) async throws -> Push?
    /// Ends the schedule without a push; returns false if it was changed or has ended since it was read.
    func end(_ schedule: Schedule, _ how: Schedule.How) async throws -> Bool
}

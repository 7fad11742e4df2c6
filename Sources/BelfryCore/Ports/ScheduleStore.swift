/// Push requests that wait for their time.
package protocol ScheduleStore: Sendable {
    /// Keeps the push request until it is due. Durable when it returns.
    func schedule(_ pushRequest: PushRequest, at dueAt: Instant, for application: Key<Application>) async throws
        -> Schedule
    /// Whether it waits or has ended; nil when the application has none of that key, or has it no longer.
    func schedule(_ key: Key<Schedule>, of application: Key<Application>) async throws -> Schedule?
    /// Those that wait, the next due first.
    ///
    /// - Parameter after: the last one of the page before.
    func schedules(of application: Key<Application>, after: Schedule?, limit: Int) async throws -> [Schedule]
    /// Those that have ended, the last ended first; each is kept for `Schedule.keptFor` at least.
    func endedSchedules(of application: Key<Application>, after: Schedule?, limit: Int) async throws -> [Schedule]
    /// nil, and nothing changed, when it does not wait any more.
    func change(
        _ key: Key<Schedule>, of application: Key<Application>, _ change: Schedule.Change
    ) async throws -> Schedule?
    /// False when it does not wait any more. After true it is never sent.
    func cancel(_ key: Key<Schedule>, of application: Key<Application>) async throws -> Bool

    /// Those whose time has come, the longest due first.
    func dueSchedules(atMost limit: Int) async throws -> [Schedule]
    /// When the next one falls due; nil when none waits.
    func nextScheduleDue() async throws -> Instant?
    /// Ends the schedule and accepts its push, both at once or not at all.
    ///
    /// Returns nil, and does nothing, when it was changed or has ended since it was read.
    func release(_ schedule: Schedule, as push: NewPush) async throws -> Push?
    /// Ends the schedule without a push; false when it was changed or has ended since it was read.
    func end(_ schedule: Schedule, _ how: Schedule.How) async throws -> Bool
}

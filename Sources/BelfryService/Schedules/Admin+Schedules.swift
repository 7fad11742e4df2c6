import FoundationEssentials
import Hummingbird

extension Admin {
    /// Scheduled pushes and their results: `/admin/v1/apps/:app_uuid/schedules`. They are created by `POST …/pushes`
    /// with `send_at` or `recurrence`.
    struct Schedules: Sendable {
        let factory: RouteFactory

        var routes: [Route] {
            [
                factory.application(.get, "apps/:app_uuid/schedules", .read, list),
                factory.application(.get, "apps/:app_uuid/schedules/:schedule_id", .read, show),
                factory.application(.patch, "apps/:app_uuid/schedules/:schedule_id", .send, update),
                factory.application(.delete, "apps/:app_uuid/schedules/:schedule_id", .send, cancel),
            ]
                + Schedule.Change.Verb.allCases.map { verb in
                    factory.application(.post, "apps/:app_uuid/schedules/:schedule_id/\(verb.rawValue)", .send) {
                        try await perform(verb, $0, $1)
                    }.repeatable
                }
        }

        private enum State: String, CaseIterable { case waiting, ended }

        /// Waiting schedules, the next due first; or ended schedules, the last ended first.
        private func list(_ call: Call, _ application: Application) async throws -> Response {
            let query = try Query(call, Query.paging + ["state"])
            let limit = try query.limit()
            let state: State = try query.choice("state") ?? .waiting
            let last = try await last(query, application)
            let found =
                switch state {
                case .waiting:
                    try await factory.store.schedules(of: application.key, after: last, limit: limit)
                case .ended:
                    try await factory.store.endedSchedules(of: application.key, after: last, limit: limit)
                }
            return try Response(
                SchedulesReply(
                    schedules: found.map { ScheduleReply($0, now: factory.clock.now) },
                    next_cursor: found.count == limit ? found.last.map(Self.cursor) : nil))
        }

        /// The key of a schedule, and its times as the list has them: it may move on or end before the next page.
        private static func cursor(after last: Schedule) -> String {
            Cursor(last.key.rawValue, last.dueAt.milliseconds, last.ending?.at.milliseconds ?? 0).text
        }

        /// The last schedule of the previous page, as it was then.
        private func last(_ query: Query, _ application: Application) async throws -> Schedule? {
            // A cursor of an earlier version has the key alone.
            if let key = query.text("cursor").flatMap({ Cursor($0) })?.numbers, key.count == 1 {
                guard let last = try await factory.store.schedule(Key(key[0]), of: application.key) else {
                    throw InvalidInput(field: "cursor", "names a schedule that is gone; begin again")
                }
                return last
            }
            guard let numbers = try query.cursor(of: 3) else { return nil }
            let last = Schedule.placeholder(Key(numbers[0]), before: Instant(milliseconds: numbers[1]), application)
            return numbers[2] == 0 ? last : last.ended(.cancelled, at: Instant(milliseconds: numbers[2]))
        }

        private func show(_ call: Call, _ application: Application) async throws -> Response {
            try await response(try await found(call, application))
        }

        private func response(_ schedule: Schedule) async throws -> Response {
            let runs = !schedule.isRepeated ? [] : try await factory.store.runs(of: schedule.key)
            return try Response(ScheduleDetailsReply(schedule, runs, now: factory.clock.now))
                .tagged(EntityTag(schedule))
        }

        /// Takes what `POST …/pushes` does. What is left out stays as it is; null takes the expiry, the urgency or the
        /// recurrence away.
        private func update(_ call: Call, _ application: Application) async throws -> Response {
            let key = try key(call)
            let body = try await call.body(as: PushBody.self)
            let schedule = try await found(call, application)
            guard schedule.ending == nil else { throw Self.tooLate }
            try call.demandMatch(EntityTag(schedule))
            try body.checkTimes(of: schedule, at: factory.clock.now)
            let seen = call.request.headers[.ifMatch] == nil ? nil : schedule.version
            _ = try body.change(channels: body.channels.map { _ in [] }, seen: seen)
            let change = try body.change(
                channels: try await factory.devices(of: body.channels, application), seen: seen)
            let changed = try await factory.pushes.change(key, of: application, change, by: call.author)
            guard let changed else { throw Self.tooLate }
            return try await response(changed)
        }

        /// Pauses or resumes a recurring schedule, or skips its next time.
        private func perform(
            _ verb: Schedule.Change.Verb, _ call: Call, _ application: Application
        ) async throws -> Response {
            let schedule = try await found(call, application)
            guard schedule.ending == nil else { throw Self.tooLate }
            try call.demandMatch(EntityTag(schedule))
            let seen = call.request.headers[.ifMatch] == nil ? nil : schedule.version
            if verb == .skipNext, seen == nil { try IdempotencyMiddleware.refuseRepetition() }
            let change = Schedule.Change(verb: verb, seen: seen)
            let changed = try await factory.pushes.change(schedule.key, of: application, change, by: call.author)
            guard let changed else { throw Self.tooLate }
            return try await response(changed)
        }

        private func cancel(_ call: Call, _ application: Application) async throws -> Response {
            let key = try key(call)
            let schedule = try await factory.unlessDamaged { try await found(call, application) }
            guard schedule?.ending == nil else { throw Self.tooLate }
            guard try await factory.pushes.cancel(key, of: application, by: call.author) else { throw Self.tooLate }
            return Response(status: .noContent)
        }

        private static let tooLate = APIError(.conflict, "The schedule has ended")

        private func found(_ call: Call, _ application: Application) async throws -> Schedule {
            try await factory.store.schedule(try key(call), of: application.key).orMissing("schedule")
        }

        private func key(_ call: Call) throws -> Key<Schedule> {
            try call.parameters.get("schedule_id").flatMap(Key<Schedule>.init(id:)).orMissing("schedule")
        }
    }
}

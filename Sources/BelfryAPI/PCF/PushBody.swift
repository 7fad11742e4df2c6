package import BelfryCore

extension PCFv1 {
    /// The body of `POST /v1/push`.
    package struct PushBody: Sendable, Hashable {
        package let message: Push.Content
        package let target: Target
        let times: Times
        /// Fields that nothing read, although they look like fields that something reads.
        let ignored: IgnoredFields

        /// Reads a body; `null` counts as missing. Throws on invalid values, and on unknown keys unless they are ignored.
        package static func parse(
            _ bytes: [UInt8], _ unknown: UnknownFields = .refused
        ) throws(InvalidInput) -> Self {
            let draft = try PushDraft.parse(bytes, unknown)
            guard let message = try draft.content() else { throw draft.messageIsMissing }
            guard let target = try draft.target() else { throw draft.targetIsMissing }
            return Self(message: message, target: target, times: try draft.times(), ignored: draft.ignored)
        }

        /// What is asked for, whenever it is to be sent.
        package var pushRequest: PushRequest {
            PushRequest(content: message, target: target, expiresAt: times.expiresAt)
        }
    }

    /// The body of `PUT /v1/schedules/:schedule_id`: missing fields keep their values.
    struct ScheduleRequest: Sendable, Hashable {
        let message: Push.Content?
        let target: Target?
        let times: Times
        let ignored: IgnoredFields

        static func parse(_ bytes: [UInt8], _ unknown: UnknownFields = .refused) throws(InvalidInput) -> Self {
            let draft = try PushDraft.parse(bytes, unknown)
            return Self(
                message: try draft.content(), target: try draft.target(), times: try draft.times(),
                ignored: draft.ignored)
        }

        func change(at now: Instant) -> Schedule.Change {
            Schedule.Change(content: message, target: target, dueAt: times.due(at: now), expiresAt: times.expiresAt)
        }
    }

    /// When to send a push, and when it expires. 0 counts as not given.
    struct Times: Sendable, Hashable {
        /// Milliseconds since 1970.
        let scheduleAt: Int64?
        /// Seconds from now.
        let scheduleIn: Int64?
        let expiresAt: Instant?

        /// nil when no time is given.
        func due(at now: Instant) -> Instant? {
            if let scheduleAt { return Instant(milliseconds: scheduleAt) }
            return scheduleIn.map { seconds in
                let (milliseconds, overflow) = seconds.multipliedReportingOverflow(by: 1_000)
                return overflow ? .distantFuture : now + .milliseconds(milliseconds)
            }
        }
    }
}

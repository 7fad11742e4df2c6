package import BelfryService

extension PCF {
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

        /// The push request, without its time to be sent.
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

        func change(at now: Instant) throws(InvalidInput) -> Schedule.Change {
            Schedule.Change(content: message, target: target, dueAt: try times.due(at: now), expiresAt: times.expiresAt)
        }
    }

    /// When to send a push, and when it expires. 0 counts as not given.
    struct Times: Sendable, Hashable {
        /// Milliseconds since 1970.
        let scheduleAt: Int64?
        /// Seconds from now.
        let scheduleIn: Int64?
        let expiresAt: Instant?

        /// nil when no time is given. Throws beyond the year 9999, and where the push would expire while it waits.
        ///
        /// What is over is taken: PCF sent such pushes at once, and its examples have such times. Source: PCF Push API, "Push".
        func due(at now: Instant) throws(InvalidInput) -> Instant? {
            var dueAt = scheduleAt.map(Instant.init(milliseconds:))
            if let scheduleIn {
                let (milliseconds, overflow) = scheduleIn.multipliedReportingOverflow(by: 1_000)
                dueAt = overflow ? .distantFuture : now + .milliseconds(milliseconds)
                guard dueAt?.isWithinReach == true else {
                    throw InvalidInput(field: "scheduleIn", "is \(scheduleIn) s, which ends beyond the year 9999")
                }
            }
            if let dueAt, dueAt > now {
                try PushTimes.check(expiresAt: expiresAt, sendAt: dueAt, field: "expiryTime", now: now)
            }
            return dueAt
        }
    }
}

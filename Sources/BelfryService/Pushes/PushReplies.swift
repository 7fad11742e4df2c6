package import FoundationEssentials

// Replies of the admin API about pushes, shared by server and clients. Times are in ISO 8601, UUIDs in lower case.

extension Admin {
    /// The receipt id of an accepted push.
    package struct CreatedPushReply: Codable, Sendable {
        package let receipt_id: String
        /// Names of the target that no device has, which are usually mistyped; nil where there are none.
        package let unmatched: UnmatchedReply?
        /// The platforms that refuse it for its size; nil where there are none.
        package let too_large: [String]?

        package init(_ push: Push, unmatched: UnresolvedTargets? = nil) {
            receipt_id = push.receiptID.lowercased
            self.unmatched = unmatched.map(UnmatchedReply.init)
            too_large = push.tooLarge.isEmpty ? nil : push.tooLarge.map(\.ofDevices)
        }
    }

    /// A push to one device and the provider's answer; `pending` where none came in time.
    package struct TestedPushReply: Codable, Sendable {
        package let receipt_id: String
        package let answer: String

        package init(_ push: Push, _ answer: Answer) {
            receipt_id = push.receiptID.lowercased
            self.answer = answer.name
        }
    }

    package struct CreatedScheduleReply: Codable, Sendable {
        package let schedule_id: String
        /// The platforms that would refuse it for its size today; nil where there are none.
        package let too_large: [String]?

        init(_ schedule: Schedule) {
            schedule_id = schedule.key.id
            too_large = schedule.tooLarge.isEmpty ? nil : schedule.tooLarge.map(\.ofDevices)
        }
    }

    /// The status of a push.
    package struct ReceiptReply: Codable, Sendable {
        package let receipt_id: String
        package let app_uuid: String
        package let state: String
        package let lane: String
        package let devices: Int
        /// Whether these are all devices of its audience, or those that were found so far.
        package let fanned_out: Bool
        /// Numbers of devices by the answer's name, with the reason after a colon.
        package let counts: [String: Int]
        package let accepted_at: String
        @OrNull package var expires_at: String?
        @OrNull package var first_answer_at: String?
        @OrNull package var settled_at: String?
        package let parked: [ParkedPlatformReply]
        /// Batches that cannot be read: see `belfry write-off`.
        package let damaged_batches: Int
        /// Platforms where its audience cannot be scanned, since the push itself cannot be read.
        package let damaged_fan_outs: Int
        /// Why providers of waiting devices could not be connected to; for one push, not in lists.
        package var connection_faults: [ConnectionFaultReply]?
        /// Names of its target that no device has; for one push, not in lists.
        package var unmatched: UnmatchedReply?
        /// Sentences of providers on devices that they did not accept at once, each sentence once; for one push, not in lists.
        package var provider_words: [String]?
        /// Reasons why the nodes keep the rest of it waiting, a sentence each; for one push, not in lists.
        package var waits: [String]?

        package init(
            _ receipt: Receipt, of application: BelfryService.Application, faults: [PlatformFault]? = nil,
            unmatched: UnresolvedTargets? = nil, words: [String]? = nil, waits: [String]? = nil
        ) {
            receipt_id = receipt.push.receiptID.lowercased
            app_uuid = application.uuid.lowercased
            state = receipt.state.rawValue
            lane = "\(receipt.push.lane)"
            devices = receipt.devices
            fanned_out = receipt.isFannedOut
            counts = receipt.counts.named
            accepted_at = receipt.push.acceptedAt.text
            _expires_at = OrNull(wrappedValue: receipt.push.expiresAt?.text)
            _first_answer_at = OrNull(wrappedValue: receipt.firstAnswerAt?.text)
            _settled_at = OrNull(wrappedValue: receipt.settledAt?.text)
            parked = receipt.parked.map(ParkedPlatformReply.init)
            damaged_batches = receipt.damagedBatches
            damaged_fan_outs = receipt.damagedFanOuts
            connection_faults = faults?.map(ConnectionFaultReply.init)
            self.unmatched = unmatched.map(UnmatchedReply.init)
            provider_words = words
            self.waits = waits
        }
    }

    /// A page of receipts.
    package struct ReceiptsReply: Codable, Sendable {
        package let pushes: [ReceiptReply]
        @OrNull package var next_cursor: String?
    }

    /// A receipt with the push's content and target; null where these cannot be read, or are no longer stored.
    struct PushReply: Encodable {
        let receipt: ReceiptReply
        let request: PushRequest?
        let followUps: [FollowUp]
        let reminders: Key<Schedule>?

        private enum CodingKeys: String, CodingKey { case message, target, follows, followed_by, reminders }

        func encode(to encoder: any Encoder) throws {
            try receipt.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(request?.content.json ?? .null, forKey: .message)
            try container.encode(request?.target.json ?? .null, forKey: .target)
            try container.encodeIfPresent(request?.content.follows.map(FollowUpReply.init), forKey: .follows)
            try container.encode(followUps.map(FollowUpReply.init), forKey: .followed_by)
            let content = request?.content
            if content?.follows?.isReminder != true, let reminders = content?.pacing.reminders {
                try container.encode(RemindersReply(reminders, schedule: self.reminders), forKey: .reminders)
            }
        }
    }

    /// A push that another updates, retracts or reminds of, or that does so.
    struct FollowUpReply: Encodable {
        let receipt_id: String
        /// `update`, `retraction` or `reminder`.
        let kind: String
        let accepted_at: String?

        init(_ followed: FollowedPush) {
            (receipt_id, accepted_at) = (followed.receiptID.lowercased, nil)
            kind = Self.kind(followed.isRetraction, followed.isReminder)
        }

        init(_ followUp: FollowUp) {
            (receipt_id, accepted_at) = (followUp.receiptID.lowercased, followUp.acceptedAt.text)
            kind = Self.kind(followUp.isRetraction, followUp.isReminder)
        }

        private static func kind(_ isRetraction: Bool, _ isReminder: Bool) -> String {
            isRetraction ? "retraction" : isReminder ? "reminder" : "update"
        }
    }

    /// How often a push is sent again until it is opened.
    package struct RemindersReply: Codable, Sendable {
        package let every: String
        package let times: Int
        /// nil in the schedule itself, and where that is gone.
        package let schedule_id: String?
        /// The receipt of the push; nil in the push itself.
        package let receipt_id: String?

        init(_ reminders: Reminders, schedule: Key<Schedule>? = nil, of receiptID: UUID? = nil) {
            (every, times) = (reminders.every.text, reminders.times)
            (schedule_id, receipt_id) = (schedule?.id, receiptID?.lowercased)
        }
    }

    /// The result of an update or a retraction.
    package struct FollowingReply: Codable, Sendable {
        /// null where nothing had been sent that could be removed.
        @OrNull package var receipt_id: String?
        /// The devices that the first push went to, and that it is replaced on or removed from.
        package let devices: Int
        /// The devices of platforms that cannot do so.
        package let other_devices: Int
        /// The part of the first push that was cancelled.
        package let cancelled: CancellationReply
        /// The platforms that refuse an update for its size; nil where there are none.
        package let too_large: [String]?

        init(_ following: PushService.Following) {
            _receipt_id = OrNull(wrappedValue: following.push?.receiptID.lowercased)
            devices = following.devices
            other_devices = following.otherDevices
            cancelled = CancellationReply(following.cancellation)
            let tooLarge = following.push?.tooLarge ?? []
            too_large = tooLarge.isEmpty ? nil : tooLarge.map(\.ofDevices)
        }
    }

    /// Why the provider of a platform could not be connected to.
    package struct ConnectionFaultReply: Codable, Sendable {
        package let platform_uuid: String
        package let fault: String
        package let detail: String
        package let last_at: String

        package init(_ fault: PlatformFault) {
            platform_uuid = fault.platform.lowercased
            self.fault = fault.fault.kind.rawValue
            detail = fault.fault.detail
            last_at = fault.at.text
        }
    }

    /// The numbers of devices and fan-outs that a cancellation changed.
    package struct CancellationReply: Codable, Sendable {
        package let devices: Int
        package let devices_in_flight: Int
        package let fan_outs: Int

        package init(_ cancellation: Cancellation) {
            devices = cancellation.devices
            devices_in_flight = cancellation.devicesInFlight
            fan_outs = cancellation.fanOuts
        }
    }

    /// The result of writing off the unreadable rows of a push.
    package struct WriteOffReply: Codable, Sendable {
        package let devices: Int
        package let fan_outs: Int

        package init(_ writeOff: WriteOff) {
            devices = writeOff.devices
            fan_outs = writeOff.fanOuts
        }
    }

    /// The answers of a push on each platform.
    package struct PlatformCountsReply: Codable, Sendable {
        package let platforms: [Counts]

        /// The answers on deleted platforms are combined, without a platform.
        package struct Counts: Codable, Sendable {
            @OrNull package var platform_uuid: String?
            @OrNull package var type: String?
            @OrNull package var name: String?
            package let devices: Int
            package let counts: [String: Int]

            package init(_ platform: BelfryService.Platform?, _ counts: [Answer: Int]) {
                _platform_uuid = OrNull(wrappedValue: platform?.uuid.lowercased)
                _type = OrNull(wrappedValue: platform?.kind.rawValue)
                _name = OrNull(wrappedValue: platform?.name)
                devices = counts.values.reduce(0, +)
                self.counts = counts.named
            }
        }
    }
}

extension Admin {
    /// Devices with one kind of answer.
    package struct DeviceAnswersReply: Codable, Sendable {
        package let devices: [Device]
        @OrNull package var next_cursor: String?

        /// A device, and its answer.
        package struct Device: Codable, Sendable {
            package let device_uuid: String
            /// null where the platform was deleted.
            @OrNull package var platform_uuid: String?
            package let answer: String

            package init(_ device: UUID, on platform: UUID?, _ answer: Answer) {
                device_uuid = device.lowercased
                _platform_uuid = OrNull(wrappedValue: platform?.lowercased)
                self.answer = answer.name
            }
        }
    }
}

extension Admin {
    /// A schedule.
    package struct ScheduleReply: Codable, Sendable {
        package let schedule_id: String
        /// `waiting`, `paused`, or how it ended.
        package let state: String
        /// The next time; nil while it is paused.
        @OrNull package var due_at: String?
        package let created_at: String
        @OrNull package var expires_at: String?
        @OrNull package var body: String?
        @OrNull package var ended_at: String?
        /// The receipt id of the push that it became.
        package let receipt_id: String?
        /// Why it was refused, or not needed.
        package let reason: String?
        /// nil where it is sent once.
        package let recurrence: RecurrenceReply?
        /// nil where it is sent to all at once.
        package let local: LocalReply?
        package let paused_at: String?
        /// nil where it is not the reminders of a push.
        package let reminders: RemindersReply?

        /// - Parameter isWhole: whether it has what takes a while to compute.
        package init(_ schedule: Schedule, now: Instant, isWhole: Bool = false) {
            schedule_id = schedule.key.id
            let isPaused = schedule.pausedAt != nil && schedule.ending == nil
            state = schedule.ending?.how.name ?? (isPaused ? "paused" : "waiting")
            _due_at = OrNull(wrappedValue: schedule.pausedAt == nil ? schedule.dueAt.text : nil)
            recurrence = RecurrenceReply(schedule, now: now)
            local = schedule.local.map { LocalReply($0, isWhole: isWhole) }
            paused_at = schedule.pausedAt?.text
            reminders = schedule.reminders.map {
                RemindersReply($0, of: schedule.pushRequest.content.follows?.receiptID)
            }
            created_at = schedule.createdAt.text
            _expires_at = OrNull(wrappedValue: schedule.pushRequest.expiresAt?.text)
            _body = OrNull(wrappedValue: schedule.pushRequest.content.body)
            _ended_at = OrNull(wrappedValue: schedule.ending?.at.text)
            (receipt_id, reason) =
                switch schedule.ending?.how {
                case .sent(let receiptID): (receiptID.lowercased, nil)
                case .refused(let reason), .needless(let reason): (nil, reason)
                case .cancelled, .expired, .missed, .started, nil: (nil, nil)
                }
        }
    }

    /// The time by the clocks of each recipient.
    package struct LocalReply: Codable, Sendable {
        package let local: String
        package let past: String
        package let time_zone: String
        /// When the last zone of the world comes to it; nil in lists.
        package let ends_at: String?
        /// The recurring schedule of which it is one time; nil for none.
        package let recurring_schedule_id: String?

        init(_ delivery: LocalDelivery, isWhole: Bool) {
            local = delivery.time.text
            past = delivery.past.rawValue
            time_zone = delivery.zone.name
            ends_at = isWhole ? delivery.steps.last?.text : nil
            recurring_schedule_id = delivery.parent?.id
        }
    }

    /// When a schedule recurs, as it is written, in words, and in times.
    package struct RecurrenceReply: Codable, Sendable {
        package let rule: String
        package let start: String
        package let time_zone: String
        package let except: [String]
        package let missed: String
        /// true where it goes by the clocks of each recipient, else nil.
        package let local: Bool?
        package let past: String?
        package let words: String
        /// The next times; of a paused schedule, those it would have if it was resumed now. By the clocks of each recipient they are local times.
        package let next: [String]

        private static let nextMax = 5

        init?(_ schedule: Schedule, now: Instant) {
            guard let recurrence = schedule.recurrence else { return nil }
            rule = recurrence.rule.text
            start = recurrence.start.text
            time_zone = recurrence.zone.name
            except = recurrence.exceptions
            missed = recurrence.missed.rawValue
            (local, past) = (recurrence.isLocal ? true : nil, recurrence.past?.rawValue)
            words = recurrence.words
            next = schedule.times(atMost: Self.nextMax, now: now).map {
                recurrence.isLocal ? recurrence.localTime(at: $0).text : $0.text
            }
        }
    }

    /// The result of one of the times of a recurring schedule.
    package struct ScheduleRunReply: Codable, Sendable {
        package let due_at: String
        package let at: String
        /// `sent`, `expired`, `refused`, `not_needed`, `missed` or `started`.
        package let result: String
        package let receipt_id: String?
        package let reason: String?
        /// The schedule that was started, and its state; nil for none, and where that is gone.
        package let schedule_id: String?
        package let state: String?

        init(_ run: ScheduleRun) {
            due_at = run.dueAt.text
            at = run.at.text
            result = run.how.name
            receipt_id = run.how.receiptID?.lowercased
            reason = run.how.reason
            (schedule_id, state) = (run.how.child?.id, run.childState)
        }
    }

    /// A schedule with all that its push says, as it is posted. Lists leave that out.
    package struct ScheduleDetailsReply: Encodable, Sendable {
        private let schedule: ScheduleReply
        private let request: PushRequest
        /// The latest first.
        private let history: [ScheduleRunReply]
        private let isRepeated: Bool

        package init(_ schedule: Schedule, _ runs: [ScheduleRun], now: Instant) {
            self.schedule = ScheduleReply(schedule, now: now, isWhole: true)
            request = schedule.pushRequest
            history = runs.map(ScheduleRunReply.init)
            isRepeated = schedule.isRepeated
        }

        private enum CodingKeys: String, CodingKey {
            case message, template, target, urgency, at_most_once, kind, throttle_per_minute, unless_sent, history
            case reminders
        }

        package func encode(to encoder: any Encoder) throws {
            try schedule.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(request.content.json, forKey: .message)
            let template = request.content.template
            try container.encodeIfPresent(template?.campaign == nil ? template?.text : nil, forKey: .template)
            try container.encode(request.target.json, forKey: .target)
            try container.encode(request.lane?.word, forKey: .urgency)
            try container.encode(request.guarantee == .atMostOnce, forKey: .at_most_once)
            try container.encode(request.content.pacing.kind, forKey: .kind)
            try container.encode(request.content.pacing.perMinute, forKey: .throttle_per_minute)
            try container.encodeIfPresent(request.content.pacing.unlessSent?.json, forKey: .unless_sent)
            if request.content.follows?.isReminder != true, let reminders = request.content.pacing.reminders {
                try container.encode(RemindersReply(reminders), forKey: .reminders)
            }
            if isRepeated { try container.encode(history, forKey: .history) }
        }
    }

    package struct SchedulesReply: Codable, Sendable {
        package let schedules: [ScheduleReply]
        @OrNull package var next_cursor: String?
    }

    /// The events that apps reported on one platform, by time.
    package struct AnalyticsReply: Codable, Sendable {
        /// `hour` or `day`.
        package let by: String
        package let buckets: [Bucket]

        /// The counts of an hour or a day.
        package struct Bucket: Codable, Sendable {
            package let start: String
            package let counts: [String: Int64]
            package let activity: Activity
        }

        /// Devices that came and went, and final answers of devices, with the times to the provider's acceptance.
        package struct Activity: Codable, Sendable {
            package let joined: Int64
            package let opted_out: Int64
            package let gone: Int64
            package let lost: Int64
            package let accepted: Int64
            package let failed: Int64
            @OrNull package var accepted_p50_ms: Int64?
            @OrNull package var accepted_p99_ms: Int64?

            package init(_ activity: PlatformActivity) {
                (joined, opted_out) = (activity[.joined], activity[.optedOut])
                (gone, lost) = (activity[.gone], activity[.lost])
                (accepted, failed) = (activity.accepted, activity[.failed])
                accepted_p50_ms = activity.time(ofShare: 0.5)?.milliseconds
                accepted_p99_ms = activity.time(ofShare: 0.99)?.milliseconds
            }
        }
    }

    /// How the heartbeats of a platform come back; times in milliseconds.
    package struct HeartbeatsReply: Codable, Sendable {
        package let devices: Int
        @OrNull package var last_at: String?
        @OrNull package var latency_ms: Percentiles?

        package struct Percentiles: Codable, Sendable {
            package let p50: Int64
            package let p90: Int64
            package let p99: Int64
            package let max: Int64
        }

        package init(_ summary: HeartbeatSummary) {
            devices = summary.devices
            _last_at = OrNull(wrappedValue: summary.lastAt?.text)
            _latency_ms = OrNull(
                wrappedValue: summary.latency.map {
                    Percentiles(
                        p50: $0.p50.milliseconds, p90: $0.p90.milliseconds, p99: $0.p99.milliseconds,
                        max: $0.max.milliseconds)
                })
        }
    }

    /// The events that apps reported about one push, by platform.
    package struct PushAnalyticsReply: Codable, Sendable {
        package let platforms: [Counts]

        /// The counts on one platform.
        package struct Counts: Codable, Sendable {
            package let platform_uuid: String
            package let counts: [String: Int64]
        }
    }

    /// A page of the counts of geofences.
    package struct GeofenceTriggersReply: Codable, Sendable {
        package let triggers: [Triggers]
        @OrNull package var next_cursor: String?

        /// How often a geofence was triggered at one location, on one platform.
        package struct Triggers: Codable, Sendable {
            package let geofence_id: Int64
            /// null where the app did not name it.
            @OrNull package var location_id: Int64?
            /// null where the platform was deleted.
            @OrNull package var platform_uuid: String?
            package let count: Int64
            package let last_at: String

            package init(_ triggers: GeofenceTriggers, on platform: UUID?) {
                geofence_id = triggers.spot.geofence.rawValue
                _location_id = OrNull(wrappedValue: triggers.spot.location?.rawValue)
                _platform_uuid = OrNull(wrappedValue: platform?.lowercased)
                count = triggers.count
                last_at = triggers.lastAt.text
            }
        }
    }
}

extension [Answer: Int] {
    fileprivate var named: [String: Int] {
        [String: Int](uniqueKeysWithValues: filter { $0.value > 0 }.map { ($0.key.name, $0.value) })
    }
}

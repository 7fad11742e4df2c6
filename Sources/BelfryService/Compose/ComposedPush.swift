import FoundationEssentials

/// The push that a form, or its JSON, asks for.
struct ComposedPush: Sendable {
    /// The push as the admin API takes it.
    let json: JSONValue
    let request: PushRequest
    private let body: Admin.PushBody
    /// The time by the clocks of each recipient; nil for one time.
    var local: LocalDelivery? { body.local }
    /// nil for now.
    var sendAt: Instant? { body.sendAt }
    /// nil for once.
    var recurrence: Recurrence? { body.recurrence }

    /// Throws `InvalidInput` as the admin API does.
    init(_ json: JSONValue) throws(InvalidInput) {
        self.json = json
        body = try Admin.PushBody(json: Array(json.storedText.utf8))
        guard body.channels == nil else {
            throw InvalidInput(field: "target.channels", "are sent to by the admin API and the command line alone")
        }
        var request = try body.pushRequest(channels: nil)
        request.target.local = body.local
        self.request = request
    }

    /// Throws where the push would have expired before it is sent, was to be sent long ago, or has a condition and no later time.
    ///
    /// - Parameter schedule: the schedule that it changes; nil for a new push.
    func checkTimes(of schedule: Schedule? = nil, at now: Instant) throws(InvalidInput) {
        guard local == nil || recurrence == nil else {
            throw InvalidInput(
                field: "recurrence", "and the clock of each recipient exclude each other: Repeat has a field of its own"
            )
        }
        if schedule == nil { try body.checkCondition(at: now) }
        if let recurrence {
            guard sendAt == nil else { throw InvalidInput(field: "recurrence", "and send_at exclude each other") }
            try recurrence.check(request)
            _ = try recurrence.firstTime(after: now, isNew: schedule == nil)
        }
        if let sendAt, let schedule, sendAt != schedule.dueAt {
            try PushTimes.check(
                sendAt: sendAt, advice: "of the change: the schedule is due at \(schedule.dueAt.minute)", now: now)
        } else {
            try PushTimes.check(sendAt: sendAt, now: now)
        }
        try PushTimes.check(expiresAt: request.expiresAt, sendAt: sendAt, now: now)
    }

    /// Throws when the schedule was changed since it was read. Fields that the form no longer has are cleared in the schedule.
    func change(of schedule: Schedule, readAt version: String) throws(InvalidInput) -> Schedule.Change {
        guard version == "\(schedule.version)" else { throw Self.isOlder }
        guard sendAt != nil || recurrence != nil || local != nil else {
            throw InvalidInput(field: "send_at", "is missing")
        }
        if let local {
            guard let own = schedule.local, (own.time, own.past, own.zone) == (local.time, local.past, local.zone)
            else {
                throw InvalidInput(field: "send_at", "cannot be changed: cancel the schedule, and make another")
            }
        }
        var removed: Set<Schedule.Change.Part> = []
        if request.expiresAt == nil { removed.insert(.expiry) }
        if request.lane == nil { removed.insert(.lane) }
        if recurrence == nil, local == nil { removed.insert(.recurrence) }
        let pacing = request.content.pacing
        if pacing.kind == nil { removed.insert(.kind) }
        if pacing.perMinute == nil { removed.insert(.throttle) }
        if pacing.reminders == nil { removed.insert(.reminders) }
        if pacing.unlessSent == nil { removed.insert(.condition) }
        return Schedule.Change(
            content: request.content, target: request.target, dueAt: sendAt, expiresAt: request.expiresAt,
            lane: request.lane, guarantee: request.guarantee,
            recurrence: recurrence == schedule.recurrence ? nil : recurrence, removed: removed, seen: schedule.version)
    }

    static let isOlder = InvalidInput(
        field: "send_at", "and the rest may be of an older version: somebody else changed the schedule. Open it again")

    // MARK: At a place

    /// The geofence that shows the push when a device comes or goes.
    ///
    /// Devices show it by themselves: only what their SDK shows is taken over.
    func plan(
        at place: ComposePlace, trigger: String, topics: [String], platform: GeofencePlatform
    ) throws(InvalidInput) -> GeofencePlan {
        guard let trigger = GeofencePlan.Trigger(rawValue: trigger) else {
            throw InvalidInput(field: "trigger", "is missing")
        }
        guard let expiresAt = request.expiresAt else {
            throw InvalidInput(field: "expires_at", "is missing: a geofence has an end")
        }
        guard request.content.template == nil else {
            throw InvalidInput(field: "saved", "is named: a geofence has a message of its own")
        }
        guard !request.content.isPersonal else {
            throw InvalidInput(field: "message", "differs by device, and a geofence is the same for all")
        }
        guard request.content.pacing.isEmpty else {
            throw InvalidInput(field: "limits", "and reminders are for pushes: a geofence has none")
        }
        guard recurrence == nil, local == nil else {
            throw InvalidInput(
                field: recurrence == nil ? "send_at" : "recurrence", "is given: a geofence has its own times")
        }
        return try GeofencePlan(
            locations: place.locations, groups: place.groups, trigger: trigger, platform: platform,
            tags: try Topic.tags(topics, field: "names"), data: try geofenceData(), startsAt: sendAt ?? .zero,
            expiresAt: expiresAt)
    }

    private func geofenceData() throws(InvalidInput) -> GeofenceData {
        // Devices show the same as for a push, in the terms of their SDK.
        let payload = try JSONValue(json: IOSPayload(request.content, receiptID: nil, sentAt: .zero).bytes)
        let aps = payload["aps"]
        var ios: JSONObject = [:]
        ios["alertBody"] = aps?["alert"]?["body"] ?? aps?["alert"]?.stringValue.map(JSONValue.string)
        ios["alertTitle"] = aps?["alert"]?["title"]
        ios["category"] = aps?["category"]
        ios["soundName"] = aps?["sound"]
        if let own = payload.removing(["aps"]), own != .object([:]) { ios["userInfo"] = own }
        let android = try AndroidPayload(request.content, kind: .android, receiptID: nil, sentAt: .zero)
        let members = JSONValue.object(android.data)
        return try GeofenceData(["ios": .object(ios), "android": members, "androidFcm": members])
    }
}

/// A location or a group of them, as a target of the form.
struct ComposePlace: Sendable {
    let id: String
    let name: String
    let locations: [Key<Location>]
    let groups: [Key<LocationGroup>]

    init(_ location: Location) {
        (id, name) = ("location-\(location.key)", location.place.name)
        (locations, groups) = ([location.key], [])
    }

    init(_ group: LocationGroup) {
        (id, name) = ("group-\(group.key)", "Group: \(group.name)")
        (locations, groups) = ([], [group.key])
    }
}

/// A push request as the admin API takes it, with nothing left out.
extension PushRequest {
    func json(sendAt: Instant? = nil, recurring recurrence: Recurrence? = nil) -> JSONValue {
        var members: JSONObject = ["message": content.json, "target": target.json]
        members["template"] = content.template.map { .string($0.text) }
        members["urgency"] = lane.map { .string($0.word) }
        if guarantee == .atMostOnce { members["at_most_once"] = .bool(true) }
        for (name, value) in content.pacing.fields { members[name] = value }
        members["expires_at"] = expiresAt.map { .string($0.text) }
        if let local = target.local {
            members["send_at"] = local.json
        } else if let recurrence {
            members["recurrence"] = recurrence.json
        } else {
            members["send_at"] = sendAt.map { .string($0.text) }
        }
        return .object(members)
    }
}

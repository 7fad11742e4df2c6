import FoundationEssentials

/// Turns push requests into pushes, for every API: finds the platforms and the audience, and checks that each platform
/// supports the content.
package struct PushService: Sendable {
    package typealias Stores = ApplicationStore & DeviceStore & PushStore & ScheduleStore & AuditStore

    private let store: any Stores
    private let pushObserver: any PushObserver

    package init(store: any Stores, pushObserver: any PushObserver = NoPushObserver()) {
        self.store = store
        self.pushObserver = pushObserver
    }

    /// Accepts the push; it is durable when this returns. Throws `InvalidInput` when a selected platform cannot take
    /// the content. If it is only too large for some of them, the push says so.
    package func send(_ pushRequest: PushRequest, for application: Key<Application>) async throws -> Push {
        try await accept(try await newPush(pushRequest, for: application))
    }

    private func accept(_ draft: NewPush) async throws -> Push {
        var push = try await store.accept(draft)
        push.tooLarge = draft.tooLarge
        pushObserver.accepted(push.head)
        return push
    }

    /// The names in an accepted push's target that no device has; nil where there are none.
    ///
    /// A database fault here is ignored, since the push is accepted already.
    package func unmatchedNames(of push: Push, _ target: Target) async -> UnresolvedTargets? {
        let isNaming = target.devices != nil || !target.topics.isEmpty || !target.customUserIDs.isEmpty
        guard isNaming, let names = try? await store.unmatchedNames(of: push.key), !names.isEmpty else {
            return nil
        }
        return names
    }

    /// As `send`, with a line in the audit log, which has the receipt id.
    package func send(_ pushRequest: PushRequest, for application: Application, by author: AuditAuthor) async throws
        -> Push
    {
        let draft = try await newPush(pushRequest, for: application.key)
        let details = ["target": pushRequest.target.summary, "receipt_id": draft.receiptID.lowercased]
        let change = AuditedChange(by: author, "push.create", application, details)
        return try await store.audited(change) { try await accept(draft) }
    }

    /// As `schedule`, with a line in the audit log.
    package func schedule(
        _ pushRequest: PushRequest, at dueAt: Instant, for application: Application, by author: AuditAuthor
    ) async throws -> Schedule {
        let details = ["target": pushRequest.target.summary, "due_at": dueAt.text]
        let change = AuditedChange(by: author, "schedule.create", application, details)
        return try await store.audited(change) { try await schedule(pushRequest, at: dueAt, for: application.key) }
    }

    /// Sends a push to one device, to see whether it arrives; with a line in the audit log.
    ///
    /// - Parameter pushRequest: its target is ignored. Without a lane it goes before all others.
    package func sendTest(
        _ pushRequest: PushRequest, to device: Device, of application: Application, by author: AuditAuthor
    ) async throws -> Push {
        let pushRequest = PushRequest(
            content: pushRequest.content, target: try Target(devices: [device.uuid]), lane: pushRequest.lane ?? .urgent,
            guarantee: pushRequest.guarantee, expiresAt: pushRequest.expiresAt)
        let draft = try await newPush(pushRequest, for: application.key)
        let change = AuditedChange(
            by: author, "device.test_push", device.uuid.lowercased, of: Permission.Subject(application),
            ["receipt_id": draft.receiptID.lowercased])
        return try await store.audited(change) { try await accept(draft) }
    }

    /// As `change`, with a line in the audit log.
    package func change(
        _ key: Key<Schedule>, of application: Application, _ change: Schedule.Change, by author: AuditAuthor
    ) async throws -> Schedule? {
        let line = AuditedChange(by: author, "schedule.update", application, ["schedule": key.id])
        return try await store.audited(line) { try await self.change(key, of: application.key, change) }
    }

    /// The provider's answer for the device of a test push, or `pending` when there is none by the deadline.
    package func verdict(
        on device: Device, of push: Push, by deadline: ContinuousClock.Instant
    ) async throws -> Answer {
        var pause = Duration.milliseconds(10)
        while true {
            let answer = try await store.answer(of: device.key, in: push.key) ?? .pending
            let left = deadline - .now
            guard answer == .pending, left > .zero else { return answer }
            try await Task.sleep(for: min(pause, left))
            pause = min(pause * 2, .milliseconds(250))
        }
    }

    /// Returns false if the schedule does not wait any more; with a line in the audit log.
    package func cancel(
        _ key: Key<Schedule>, of application: Application, by author: AuditAuthor
    ) async throws -> Bool {
        let change = AuditedChange(by: author, "schedule.cancel", application, ["schedule": key.id])
        return try await store.audited(change) { try await store.cancel(key, of: application.key) }
    }

    /// Cancels the rest of a push; see `PushStore.cancel`. Writes a line in the audit log, unless the push is settled: then
    /// nothing is left to cancel.
    package func cancel(
        _ receipt: Receipt, of application: Application, by author: AuditAuthor
    ) async throws -> Cancellation {
        guard receipt.settledAt == nil else { return .nothing }
        let details = [
            "receipt_id": receipt.push.receiptID.lowercased,
            "devices_waiting": String(receipt.counts[.pending, default: 0]),
        ]
        let change = AuditedChange(by: author, "push.cancel", application, details)
        let cancellation = try await store.audited(change) { try await store.cancel(receipt.push.key) }
        pushObserver.pushMayHaveChanged(receipt.push)
        return cancellation
    }

    /// The push that the request would make now, with the devices that it names.
    package func draft(_ pushRequest: PushRequest, for application: Key<Application>) async throws -> NewPush {
        try await newPush(pushRequest, for: application, leaving: [])
    }

    /// The push to accept. If it names a few devices, the acceptance looks them up.
    package func newPush(_ pushRequest: PushRequest, for application: Key<Application>) async throws -> NewPush {
        let target = pushRequest.target
        let devices = target.isInteractiveOnly ? [] : target.devices ?? []
        return try await newPush(
            pushRequest, for: application, leaving: devices.count <= NewPush.namedMax ? devices : [])
    }

    /// - Parameter left: the devices of its target, where the acceptance looks them up.
    private func newPush(
        _ pushRequest: PushRequest, for application: Key<Application>, leaving left: [UUID]
    ) async throws -> NewPush {
        let receiptID = IdempotentID.make()
        let (platforms, checked) = try await check(
            pushRequest.content, for: pushRequest.target, of: application, receiptID: receiptID)
        let keys = platforms.map(\.key)
        let target = pushRequest.target
        let named: DevicesByPlatform? =
            if left.isEmpty, let names = target.named { try await store.devices(named: names, on: keys) } else { nil }
        let audience = target.audience(named: target.devices == nil ? [] : named?.values.flatMap(\.self) ?? [])
        return NewPush(
            receiptID: receiptID, applicationKey: application, content: pushRequest.content, audience: audience,
            platformKeys: keys, platforms: target.platforms, lane: pushRequest.lane ?? Lane(for: audience),
            guarantee: pushRequest.guarantee, expiresAt: pushRequest.expiresAt,
            devices: target.isInteractiveOnly ? nil : named.flatMap { $0.isShort ? $0 : nil },
            unknownDevices: left.isEmpty
                ? try await unknownDevices(of: target, found: named ?? [:], on: keys) : UnknownDevices(),
            named: left, storedContent: checked.stored, tooLarge: checked.tooLarge)
    }

    /// Skips the look-up where each device was found.
    private func unknownDevices(
        of target: Target, found: DevicesByPlatform, on platforms: [Key<Platform>]
    ) async throws -> UnknownDevices {
        guard let devices = target.devices, found.values.reduce(0, { $0 + $1.count }) < devices.count else {
            return UnknownDevices()
        }
        return UnknownDevices(try await store.unknownDevices(among: devices, on: platforms))
    }

    /// Stores the push request until it is due. Throws `InvalidInput` when a platform that is selected at present
    /// cannot take the content.
    package func schedule(
        _ pushRequest: PushRequest, at dueAt: Instant, for application: Key<Application>
    ) async throws -> Schedule {
        let (_, checked) = try await check(pushRequest.content, for: pushRequest.target, of: application)
        var schedule = try await store.schedule(pushRequest, at: dueAt, for: application)
        schedule.tooLarge = checked.tooLarge
        return schedule
    }

    /// Changes a schedule; nil if it does not wait any more. Throws `InvalidInput` as `schedule` does, and `EditConflict`.
    package func change(
        _ key: Key<Schedule>, of application: Key<Application>, _ change: Schedule.Change
    ) async throws -> Schedule? {
        guard let schedule = try await store.schedule(key, of: application) else { return nil }
        try schedule.check(change)
        let changed = schedule.changed(by: change)
        if change.dueAt != nil || change.expiresAt != nil {
            try PushTimes.check(expiresAt: changed.pushRequest.expiresAt, sendAt: changed.dueAt, now: .distantPast)
        }
        try await check(changed.pushRequest.content, for: changed.pushRequest.target, of: application)
        return try await store.change(key, of: application, change)
    }

    /// The platforms that the target selects, each of which supports the content, and the content as it is stored.
    @discardableResult
    private func check(
        _ content: Push.Content, for target: Target, of application: Key<Application>, receiptID: UUID = UUID()
    ) async throws -> ([Platform], Push.Content.Checked) {
        let platforms = target.platforms(of: try await store.platforms(of: application))
            .filter { content.isMeant(for: $0.kind) }
        return (platforms, try content.check(for: Set(platforms.map(\.kind)), receiptID: receiptID))
    }
}

extension Target {
    /// A description of the target for the audit log, without the names of users.
    fileprivate var summary: String {
        if let devices { return devices.count == 1 ? "1 device" : "\(devices.count) devices" }
        if topics.isEmpty && customUserIDs.isEmpty {
            return platforms == nil ? "everyone" : "everyone on some platforms"
        }
        return [(topics.count, "topic"), (customUserIDs.count, "custom user id")]
            .compactMap { count, word in count == 0 ? nil : "\(count) \(word)\(count == 1 ? "" : "s")" }
            .joined(separator: ", ")
    }
}

import FoundationEssentials

/// Turns push requests into pushes, for every API: finds the platforms and the audience, and checks that each platform
/// supports the content.
package struct PushService: Sendable {
    private let store: any ApplicationStore & DeviceStore & PushStore & ScheduleStore & AuditStore
    private let pushObserver: any PushObserver

    package init(
        store: any ApplicationStore & DeviceStore & PushStore & ScheduleStore & AuditStore,
        pushObserver: any PushObserver = NoPushObserver()
    ) {
        self.store = store
        self.pushObserver = pushObserver
    }

    /// Accepts the push; it is durable when this returns. Throws `InvalidInput` when a selected platform cannot take
    /// the content.
    package func send(_ pushRequest: PushRequest, for application: Key<Application>) async throws -> Push {
        let push = try await store.accept(try await draft(pushRequest, for: application))
        pushObserver.noticed(push.head)
        return push
    }

    /// As `send`, with a line in the audit log.
    package func send(_ pushRequest: PushRequest, for application: Application, by author: AuditAuthor) async throws
        -> Push
    {
        let change = AuditedChange(by: author, "push.create", application, ["target": pushRequest.target.summary])
        return try await store.audited(change) { try await send(pushRequest, for: application.key) }
    }

    /// As `schedule`, with a line in the audit log.
    package func schedule(
        _ pushRequest: PushRequest, at dueAt: Instant, for application: Application, by author: AuditAuthor
    ) async throws -> Schedule {
        let details = ["target": pushRequest.target.summary, "due_at": dueAt.text]
        let change = AuditedChange(by: author, "schedule.create", application, details)
        return try await store.audited(change) { try await schedule(pushRequest, at: dueAt, for: application.key) }
    }

    /// Sends a push to one device, before all others, to test delivery; with a line in the audit log.
    package func sendTest(
        _ text: String, to device: Device, of application: Application, by author: AuditAuthor
    ) async throws -> Push {
        let pushRequest = PushRequest(
            content: Push.Content(body: text), target: try Target(devices: [device.uuid]), lane: .urgent)
        let change = AuditedChange(
            by: author, "device.test_push", device.uuid.lowercased, of: Permission.Subject(application))
        return try await store.audited(change) { try await send(pushRequest, for: application.key) }
    }

    /// Returns false if the schedule does not wait any more; with a line in the audit log.
    package func cancel(
        _ key: Key<Schedule>, of application: Application, by author: AuditAuthor
    ) async throws -> Bool {
        let change = AuditedChange(by: author, "schedule.cancel", application, ["schedule": key.id])
        return try await store.audited(change) { try await store.cancel(key, of: application.key) }
    }

    /// The push that the push request would make now.
    package func draft(_ pushRequest: PushRequest, for application: Key<Application>) async throws -> NewPush {
        let receiptID = IdempotentID.make()
        let platforms = try await check(
            pushRequest.content, for: pushRequest.target, of: application, receiptID: receiptID)
        let keys = platforms.map(\.key)
        let devices = pushRequest.target.devices ?? []
        let named = devices.isEmpty ? [] : try await store.deviceKeys(devices, on: keys)
        let audience = pushRequest.target.audience(named: named)
        return NewPush(
            receiptID: receiptID, applicationKey: application, content: pushRequest.content, audience: audience,
            platformKeys: keys, platforms: pushRequest.target.platforms, lane: pushRequest.lane ?? Lane(for: audience),
            guarantee: pushRequest.guarantee,
            expiresAt: pushRequest.expiresAt)
    }

    /// Stores the push request until it is due. Throws `InvalidInput` when a platform that is selected at present
    /// cannot take the content.
    package func schedule(
        _ pushRequest: PushRequest, at dueAt: Instant, for application: Key<Application>
    ) async throws -> Schedule {
        try await check(pushRequest.content, for: pushRequest.target, of: application)
        return try await store.schedule(pushRequest, at: dueAt, for: application)
    }

    /// Changes a schedule; nil if it does not wait any more. Throws `InvalidInput` as `schedule` does.
    package func change(
        _ key: Key<Schedule>, of application: Key<Application>, _ change: Schedule.Change
    ) async throws -> Schedule? {
        guard let schedule = try await store.schedule(key, of: application) else { return nil }
        let changed = schedule.changed(by: change).pushRequest
        try await check(changed.content, for: changed.target, of: application)
        return try await store.change(key, of: application, change)
    }

    /// The platforms that the target selects, each of which supports the content.
    @discardableResult
    private func check(
        _ content: Push.Content, for target: Target, of application: Key<Application>, receiptID: UUID = UUID()
    ) async throws -> [Platform] {
        let platforms = target.platforms(of: try await store.platforms(of: application))
            .filter { content.isMeant(for: $0.kind) }
        try content.check(for: Set(platforms.map(\.kind)), receiptID: receiptID)
        return platforms
    }
}

extension Target {
    /// A description of the target for the audit log, without the names of users.
    fileprivate var summary: String {
        if let devices { return "\(devices.count) devices" }
        if topics.isEmpty && customUserIDs.isEmpty {
            return platforms == nil ? "everyone" : "everyone on some platforms"
        }
        return "\(topics.count) topics, \(customUserIDs.count) custom user ids"
    }
}

import FoundationEssentials

/// Turns orders into pushes, for every API alike: finds the platforms and the audience, and sees that each can take it.
package struct PushService: Sendable {
    private let store: any ApplicationStore & DeviceStore & PushStore & ScheduleStore & AuditStore
    private let witness: any Witness

    package init(
        store: any ApplicationStore & DeviceStore & PushStore & ScheduleStore & AuditStore,
        witness: any Witness = NoWitness()
    ) {
        self.store = store
        self.witness = witness
    }

    /// Accepts the push; it is durable when this returns. Throws `InvalidInput` when a platform that is meant cannot
    /// take the content.
    package func send(_ order: Order, for application: Key<Application>) async throws -> Push {
        let push = try await store.accept(try await draft(order, for: application))
        witness.noticed(push.head)
        return push
    }

    /// As `send`, with a line in the audit log.
    package func send(_ order: Order, for application: Application, by author: AuditAuthor) async throws -> Push {
        let change = AuditedChange(by: author, "push.create", application, ["target": order.target.summary])
        return try await store.audited(change) { try await send(order, for: application.key) }
    }

    /// As `schedule`, with a line in the audit log.
    package func schedule(
        _ order: Order, at dueAt: Instant, for application: Application, by author: AuditAuthor
    ) async throws -> Schedule {
        let details = ["target": order.target.summary, "due_at": dueAt.text]
        let change = AuditedChange(by: author, "schedule.create", application, details)
        return try await store.audited(change) { try await schedule(order, at: dueAt, for: application.key) }
    }

    /// The push that the order makes at present.
    package func draft(_ order: Order, for application: Key<Application>) async throws -> NewPush {
        let receiptID = Seed.make()
        let platforms = try await check(order.content, for: order.target, of: application, receiptID: receiptID)
        let keys = platforms.map(\.key)
        let devices = order.target.devices ?? []
        let named = devices.isEmpty ? [] : try await store.deviceKeys(devices, on: keys)
        let audience = order.target.audience(named: named)
        return NewPush(
            receiptID: receiptID, applicationKey: application, content: order.content, audience: audience,
            platformKeys: keys, platforms: order.target.platforms, lane: order.lane ?? Lane(for: audience),
            guarantee: order.guarantee,
            expiresAt: order.expiresAt)
    }

    /// Keeps the order until it is due. Throws `InvalidInput` when a platform that is meant at present cannot take the
    /// content.
    package func schedule(
        _ order: Order, at dueAt: Instant, for application: Key<Application>
    ) async throws -> Schedule {
        try await check(order.content, for: order.target, of: application)
        return try await store.schedule(order, at: dueAt, for: application)
    }

    /// Changes a schedule; nil when it does not wait any more. Throws `InvalidInput` as `schedule` does.
    package func change(
        _ key: Key<Schedule>, of application: Key<Application>, _ change: Schedule.Change
    ) async throws -> Schedule? {
        guard let schedule = try await store.schedule(key, of: application) else { return nil }
        let changed = schedule.changed(by: change).order
        try await check(changed.content, for: changed.target, of: application)
        return try await store.change(key, of: application, change)
    }

    /// The platforms that the target means, each of which can take the content.
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
    /// For the audit log: how a push was aimed, without the names of users.
    fileprivate var summary: String {
        if let devices { return "\(devices.count) devices" }
        if topics.isEmpty && customUserIDs.isEmpty {
            return platforms == nil ? "everyone" : "everyone on some platforms"
        }
        return "\(topics.count) topics, \(customUserIDs.count) custom user ids"
    }
}

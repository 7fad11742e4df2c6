import FoundationEssentials

/// Turns push requests into pushes, for every API: finds the platforms and the audience, and checks that each platform
/// supports the content.
package struct PushService: Sendable {
    let store: any Store
    private let pushObserver: any PushObserver
    /// Counts of recipients, each of which reads all batches of a push.
    let counts = FairQueue(FairTurns<Key<Application>>(places: 2, waitingMax: .max))
    private var builder: PushBuilder { PushBuilder(store: store, clock: store.clock) }

    package init(store: any Store, pushObserver: any PushObserver = NoPushObserver()) {
        self.store = store
        self.pushObserver = pushObserver
    }

    /// Accepts the push; it is durable when this returns. Throws `InvalidInput` when a selected platform cannot take
    /// the content. If it is only too large for some of them, the push says so.
    package func send(_ pushRequest: PushRequest, for application: Key<Application>) async throws -> Push {
        try await accept(try await builder.build(pushRequest, for: application))
    }

    private func accept(_ new: NewPush) async throws -> Push {
        var push = try await store.accept(new)
        push.tooLarge = new.tooLarge
        pushObserver.accepted(push.head)
        return push
    }

    /// The push that the request would make now, with the devices that it names. Nothing is sent.
    package func preview(_ pushRequest: PushRequest, for application: Key<Application>) async throws -> NewPush {
        try await builder.build(pushRequest, for: application, findsAll: true)
    }

    /// The devices that a push to the target would go to now, on the platforms that it selects.
    package func audience(of target: Target, for application: Key<Application>) async throws -> AudienceDraft {
        try await builder.audience(of: target, application)
    }

    /// The names in an accepted push's target that no device has; nil where there are none.
    ///
    /// A database fault here is ignored, since the push is accepted already.
    package func unmatchedNames(of push: Push, _ target: Target) async -> UnresolvedTargets? {
        let isNaming = target.devices != nil || !target.topics.isEmpty || !target.customUserIDs.isEmpty
        guard isNaming, let names = try? await store.unmatchedNames(of: push.key), !names.isEmpty else { return nil }
        return names
    }

    /// As `send`, with a line in the audit log, which has the receipt id, and that of the push which it updates or retracts.
    ///
    /// - Parameter first: the push that it updates or retracts, whose reminders end.
    package func send(
        _ pushRequest: PushRequest, for application: Application, by author: AuditAuthor,
        following first: Receipt? = nil
    ) async throws -> Push {
        let new = try await builder.build(pushRequest, for: application.key)
        let followed = pushRequest.content.follows
        var details = ["target": pushRequest.target.summary, "receipt_id": new.receiptID.lowercased]
        if let followed { details["target"] = "push \(followed.receiptID.lowercased)" }
        details["template"] = pushRequest.content.template?.text
        let action = followed.map { $0.isRetraction ? "push.retract" : "push.update" } ?? "push.create"
        let change = AuditedChange(by: author, action, application, details)
        let push = try await store.audited(change) { try await accept(new) }
        if let first { _ = try await store.cancelOpenReminders(of: first.push.key) }
        return push
    }

    /// As `schedule`, again and again: first at the next time of the recurrence, which by the clocks of each recipient may have come to some of
    /// them. Throws `InvalidInput` where that has none left, or the push an expiry. Writes a line in the audit log.
    package func schedule(
        _ pushRequest: PushRequest, recurring recurrence: Recurrence, for application: Application,
        by author: AuditAuthor
    ) async throws -> Schedule {
        try recurrence.check(pushRequest)
        return try await schedule(
            pushRequest, at: try recurrence.firstTime(after: store.clock.now, isNew: true), recurring: recurrence,
            for: application, by: author)
    }

    /// As `schedule`, at a time by the clocks of each recipient. Throws `InvalidInput` where that is past everywhere, or the push names
    /// devices of broadcast channels.
    package func schedule(
        _ pushRequest: PushRequest, at local: LocalDelivery, for application: Application, by author: AuditAuthor
    ) async throws -> Schedule {
        let first = try local.first()
        try PushTimes.check(expiresAt: pushRequest.expiresAt, sendAt: first, now: store.clock.now)
        var pushRequest = pushRequest
        pushRequest.target.local = local
        return try await schedule(pushRequest, at: first, recurring: nil, for: application, by: author)
    }

    /// As `schedule`, with a line in the audit log.
    package func schedule(
        _ pushRequest: PushRequest, at dueAt: Instant, recurring recurrence: Recurrence? = nil,
        for application: Application, by author: AuditAuthor
    ) async throws -> Schedule {
        var details = ["target": pushRequest.target.summary, "due_at": dueAt.text]
        details["recurrence"] = recurrence?.words
        details["template"] = pushRequest.content.template?.text
        let change = AuditedChange(by: author, "schedule.create", application, details)
        return try await store.audited(change) {
            try await schedule(pushRequest, at: dueAt, recurring: recurrence, for: application.key)
        }
    }

    /// Sends a push to one device, to see whether it arrives; with a line in the audit log.
    ///
    /// - Parameter pushRequest: its target is ignored. Without a lane it goes before all others.
    package func sendTest(
        _ pushRequest: PushRequest, to device: Device, of application: Application, by author: AuditAuthor
    ) async throws -> Push {
        var pushRequest = pushRequest
        pushRequest.target = try Target(devices: [device.uuid])
        pushRequest.lane = pushRequest.lane ?? .urgent
        pushRequest.content.pacing = .exempt
        let new = try await builder.build(pushRequest, for: application.key)
        let change = AuditedChange(
            by: author, "device.test_push", device.uuid.lowercased, of: Permission.Subject(application),
            ["receipt_id": new.receiptID.lowercased])
        return try await store.audited(change) { try await accept(new) }
    }

    /// As `change`, with a line in the audit log.
    package func change(
        _ key: Key<Schedule>, of application: Application, _ change: Schedule.Change, by author: AuditAuthor
    ) async throws -> Schedule? {
        var details = ["schedule": key.id]
        details["recurrence"] = change.recurrence?.words
        let line = AuditedChange(by: author, change.verb?.action ?? "schedule.update", application, details)
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

    /// Cancels the rest of a push, and its reminders; see `PushStore.cancel`. Writes a line in the audit log, unless nothing is left to
    /// cancel.
    package func cancel(
        _ receipt: Receipt, of application: Application, by author: AuditAuthor
    ) async throws -> Cancellation {
        if receipt.settledAt != nil, try await !store.isReminding(of: receipt.push.key) { return .nothing }
        let details = [
            "receipt_id": receipt.push.receiptID.lowercased,
            "devices_waiting": String(receipt.counts[.pending, default: 0]),
        ]
        let change = AuditedChange(by: author, "push.cancel", application, details)
        let cancellation = try await store.audited(change) { try await store.cancel(receipt.push.key) }
        pushObserver.pushMayHaveChanged(receipt.push)
        return cancellation
    }

    /// Cancels the rest of a push for its sender, without a line in the audit log.
    func cancel(_ push: PushHead) async throws {
        _ = try await store.cancel(push.key)
        pushObserver.pushMayHaveChanged(push)
    }

    /// Stores the push request until it is due. Throws `InvalidInput` when a platform that is selected at present
    /// cannot take the content.
    package func schedule(
        _ pushRequest: PushRequest, at dueAt: Instant, recurring recurrence: Recurrence? = nil,
        for application: Key<Application>
    ) async throws -> Schedule {
        let (prepared, tooLarge) = try await prepared(pushRequest, of: application)
        var schedule = try await store.schedule(prepared, at: dueAt, recurring: recurrence, for: application)
        schedule.tooLarge = tooLarge
        return schedule
    }

    /// A push request as a schedule stores it, and the types of platform that would refuse it for its size. Throws `InvalidInput` when a
    /// platform that is selected at present cannot take the content.
    func prepared(
        _ pushRequest: PushRequest, of application: Key<Application>
    ) async throws -> (PushRequest, tooLarge: [InvalidInput]) {
        let (_, checked) = try await builder.check(pushRequest.content, for: pushRequest.target, of: application)
        var prepared = pushRequest
        prepared.target = try await settled(pushRequest.target, of: application)
        prepared.content = try await settled(pushRequest.content, of: application)
        return (prepared, checked.tooLarge)
    }

    /// Changes a schedule; nil if it does not wait any more. Throws `InvalidInput` as `schedule` does, and where the target or the template
    /// of a campaign's part would be another; and `EditConflict`.
    package func change(
        _ key: Key<Schedule>, of application: Key<Application>, _ change: Schedule.Change
    ) async throws -> Schedule? {
        guard let schedule = try await store.schedule(key, of: application) else { return nil }
        try schedule.check(change)
        let changed = try schedule.changed(by: change, at: store.clock.now)
        if change.dueAt != nil || change.expiresAt != nil {
            try PushTimes.check(expiresAt: changed.pushRequest.expiresAt, sendAt: changed.dueAt, now: .distantPast)
        }
        let (old, new) = (schedule.pushRequest, changed.pushRequest)
        if old.target != new.target || old.content.template != new.content.template,
            let campaign = try await store.campaign(of: key, application)
        {
            throw InvalidInput(
                field: old.target == new.target ? "template" : "target",
                "belongs to the campaign '\(campaign)' and stays: stop the campaign, and make another")
        }
        // Nothing chooses the winner of a campaign before its time.
        if new.content.template?.campaign == nil {
            try await builder.check(new.content, for: new.target, of: application)
        }
        var change = change
        if let target = change.target { change.target = try await settled(target, of: application) }
        if let content = change.content { change.content = try await settled(content, of: application) }
        return try await store.change(key, of: application, change)
    }

    /// The content over that of the template which it names.
    package func resolved(_ content: Push.Content, of application: Key<Application>) async throws -> Push.Content {
        try await builder.resolved(content, of: application)
    }

    /// The content of a schedule: with a version of a template as it is now, else with its name.
    private func settled(_ content: Push.Content, of application: Key<Application>) async throws -> Push.Content {
        guard let reference = content.template else { return content }
        guard reference.version == nil else { return try await builder.resolved(content, of: application) }
        try content.checkStored()
        return content
    }

    /// The target of a schedule, whose segments have to exist, and are written out where it takes them as they are now.
    func settled(_ target: Target, of application: Key<Application>) async throws -> Target {
        guard let expression = target.expression else { return target }
        let resolved = try await builder.resolved(expression, of: application)
        guard target.fixesSegments else { return target }
        guard resolved.depth <= AudienceExpression.resolvedDepthMax else {
            throw InvalidInput(
                field: "target.segments",
                "cannot be now: written out, \(resolved.depth) expressions stand in one another, the limit is "
                    + "\(AudienceExpression.resolvedDepthMax)")
        }
        var settled = Target(resolved, isInteractiveOnly: target.isInteractiveOnly)
        settled.local = target.local
        return settled
    }
}

extension Target {
    /// A description of the target for the audit log, without the names of users.
    fileprivate var summary: String {
        if expression != nil { return "an expression" }
        if let devices { return devices.count == 1 ? "1 device" : "\(devices.count) devices" }
        if topics.isEmpty && customUserIDs.isEmpty {
            return platforms == nil ? "everyone" : "everyone on some platforms"
        }
        return [(topics.count, "topic"), (customUserIDs.count, "custom user id")]
            .compactMap { count, word in count == 0 ? nil : "\(count) \(word)\(count == 1 ? "" : "s")" }
            .joined(separator: ", ")
    }
}

/// Receives hints that a push may have changed.
package protocol PushObserver: Sendable {
    /// Receives each accepted push once, from any API. Must return at once.
    func accepted(_ push: PushHead)
    /// Receives a hint that a push may have changed. Must return at once; the observer reads the receipt for details.
    func pushMayHaveChanged(_ push: PushHead)
    /// Receives the result of each batch that this process settled. Must return at once.
    func settled(_ push: PushHead, _ settlement: Settlement)
}

extension PushObserver {
    package func accepted(_ push: PushHead) { pushMayHaveChanged(push) }

    package func settled(_ push: PushHead, _ settlement: Settlement) {}
}

/// Ignores all hints.
package struct NoPushObserver: PushObserver {
    package init() {}

    package func pushMayHaveChanged(_ push: PushHead) {}
}

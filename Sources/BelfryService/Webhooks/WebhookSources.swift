import FoundationEssentials
import NIOCore

// What events are told of, in the transactions that make it so. Where nothing listens, each costs a look at `WebhookListeners`.

extension WriteSession {
    /// Writes an event down, where anything listens to such. To be called once the row of the subject is locked or changed, so that events
    /// of a subject have the order of its changes.
    ///
    /// - Parameter data: the members of the event's data.
    func tell(
        _ kind: WebhookEvent.Kind, of application: Key<Application>, about subject: @autoclosure () -> String,
        _ data: (inout JSONWriter) -> Void
    ) throws {
        guard listeners.wants(kind, application) else { return }
        var json = JSONWriter()
        json.object(data)
        try prepared(WebhookTurnStatements.addEvent).send(
            application, kind.rawValue, subject(), String(buffer: json.buffer), now, now + WebhookEvent.lifetime)
        effects.due.insert(.webhooks)
    }

    // MARK: Devices and users

    /// Tells of devices of a platform that became active or inactive.
    ///
    /// - Parameter reason: why they are inactive.
    func tell(
        _ kind: WebhookEvent.Kind, _ devices: @autoclosure () -> [Key<Device>], on platform: Key<Platform>,
        because reason: String? = nil
    ) throws {
        guard listeners.wants(kind) else { return }
        let devices = devices()
        guard !devices.isEmpty, let platform = try platformRow(platform),
            listeners.wants(kind, platform.applicationKey)
        else { return }
        let rows = try prepared(DirectoryStatements.byKeys).all(SQLKeys(devices)) { row in
            try readable { try DeviceRow(row) }
        }
        for row in rows.compactMap(\.self) {
            let device = row.device(naming: secrets.naming, topicNames: [])
            try tell(kind, of: platform.applicationKey, about: device.uuid.lowercased) { json in
                json.uuid("device_uuid", device.uuid)
                json.uuid("platform_uuid", platform.uuid)
                json.string("platform_type", platform.kind.rawValue)
                json.string("user_id", device.customUserID)
                if let reason { json.string("reason", reason) }
            }
        }
    }

    func tell(_ kind: WebhookEvent.Kind, user id: String, of application: Key<Application>) throws {
        try tell(kind, of: application, about: id) { $0.string("user_id", id) }
    }

    // MARK: Platforms

    /// nil where it cannot be read: then its events are left out, and what they would tell of is done.
    private func platformRow(_ platform: Key<Platform>) throws -> Platform? {
        try prepared(PlatformStatements.byKey).first(platform) { row in try readable { try Platform(row) } } ?? nil
    }

    /// - Parameter more: further members of the data.
    func tell(
        _ kind: WebhookEvent.Kind, platform: Key<Platform>, _ more: (inout JSONWriter) -> Void = { _ in }
    ) throws {
        guard listeners.wants(kind), let platform = try platformRow(platform) else { return }
        try tell(kind, of: platform.applicationKey, about: platform.uuid.lowercased) { json in
            json.uuid("platform_uuid", platform.uuid)
            json.string("platform_type", platform.kind.rawValue)
            json.string("name", platform.name)
            more(&json)
        }
    }

    func tellParked(_ platform: Key<Platform>, _ parking: Parking) throws {
        try tell(.platformParked, platform: platform) { json in
            json.string("cause", parking.cause.rawValue)
            json.string("detail", parking.detail)
        }
    }

    // MARK: Pushes

    /// Notes that a push may be settled now: see `tellSettled`.
    func noteSettled(_ push: Key<Push>) {
        if listeners.wants(.pushSettled) { effects.settled.insert(push) }
    }

    /// Tells of the pushes that this transaction settled. To be called before the commit.
    ///
    /// Transactions that close the last batches of a push at once wait for one another here, so that one of them sees all closed.
    func tellSettled() throws {
        guard !effects.settled.isEmpty else { return }
        let pushes = try prepared(WebhookSourceStatements.holdPushes).all(SQLKeys(effects.settled.sorted())) {
            row in try readable { try PushHead(row) }
        }.compactMap(\.self).filter { listeners.wants(.pushSettled, $0.applicationKey) }
        for receipt in try db.receipts(of: pushes, at: now, DamagedRows { _, _ in }) {
            guard let settledAt = receipt.settledAt else { continue }
            let push = receipt.push
            try tell(.pushSettled, of: push.applicationKey, about: push.receiptID.lowercased) { json in
                json.uuid("receipt_id", push.receiptID)
                json.string("accepted_at", push.acceptedAt.text)
                json.string("settled_at", settledAt.text)
                json.integer("devices", Int64(receipt.devices))
                json.integers("counts", receipt.counts.map { ($0.key.name, Int64($0.value)) }.sorted { $0.0 < $1.0 })
            }
        }
    }

    /// Tells that devices reported a push, some at a time.
    func tell(
        _ report: PushReport, of push: UUID, by devices: [UUID], on platform: Platform
    ) throws {
        for some in stride(from: 0, to: devices.count, by: WebhookEvent.devicesMax).map({
            devices[$0..<min($0 + WebhookEvent.devicesMax, devices.count)]
        }) {
            // Reports of other devices need not wait for these.
            let subject = "\(push.lowercased) \(some.first?.lowercased ?? "")"
            try tell(report.event, of: platform.applicationKey, about: subject) { json in
                json.uuid("receipt_id", push)
                json.uuid("platform_uuid", platform.uuid)
                json.strings("device_uuids", some.map(\.lowercased))
            }
        }
    }

    // MARK: Campaigns and imports

    /// Tells that a campaign has ended, where a schedule that has ended was its last. Nodes that end two of its schedules at once wait for
    /// one another.
    func tellFinished(with schedule: Key<Schedule>, of application: Key<Application>) throws {
        guard listeners.wants(.campaignFinished, application) else { return }
        let campaign = try prepared(WebhookSourceStatements.holdCampaign).first(application, schedule) { row in
            (key: Key<Campaign>(row.integer(0)), name: row.text(1))
        }
        guard let campaign, try !prepared(WebhookSourceStatements.runs).hasRow(campaign.key) else { return }
        try tell(.campaignFinished, campaign: campaign.name, of: application, because: "sent")
    }

    func tell(
        _ kind: WebhookEvent.Kind, campaign name: String, of application: Key<Application>,
        because reason: String? = nil
    ) throws {
        try tell(kind, of: application, about: name) { json in
            json.string("campaign", name)
            if let reason { json.string("reason", reason) }
        }
    }

    func tell(_ job: ImportJob) throws {
        try tell(.importFinished, of: job.applicationKey, about: job.uuid.lowercased) { json in
            json.uuid("import_id", job.uuid)
            json.string("state", job.state == .failed ? "failed" : "completed")
            json.string("reason", job.reason.isEmpty ? nil : job.reason)
            json.bool("dry_run", job.source.isDryRun)
            json.integers(
                "rows",
                [
                    ("new", Int64(job.tally.new)), ("updated", Int64(job.tally.updated)),
                    ("duplicate", Int64(job.tally.duplicate)), ("refused", Int64(job.tally.refused)),
                ])
        }
    }
}

extension Store {
    /// Tells that the credentials of a platform expire, once a day whatever the number of nodes.
    package func tellExpiring(_ platform: Platform, at end: Instant) async throws {
        try await write { session in
            guard session.listeners.wants(.credentialsExpiring, platform.applicationKey),
                try session.prepared(WebhookSourceStatements.noteExpiry).run(
                    session.now, platform.key, session.now + .seconds(-Self.expiryPause)) > 0
            else { return }
            try session.tell(.credentialsExpiring, platform: platform.key) { $0.string("expires_at", end.text) }
        }
    }

    /// Less than a day, so that a check a little earlier than that of the day before counts.
    private static var expiryPause: Int64 { 20 * 3_600 }
}

extension PlatformActivity.Figure {
    /// Why a device was lost, as events say it.
    var reason: String {
        switch self {
        case .gone: "token_dead"
        case .optedOut: "unregistered"
        default: "deactivated"
        }
    }
}

extension PushReport {
    var event: WebhookEvent.Kind { self == .opened ? .pushOpened : .pushReceived }
}

enum WebhookSourceStatements {
    /// Without those whose progress says that they are not settled; the counts of others are read from their batches.
    static let holdPushes: SQLText = """
        SELECT id, receipt_id, application_id, lane, guarantee, accepted_at_ms, expires_at_ms
               /* webhook_sources.hold_pushes */
          FROM push
         WHERE id \(among: "$1")
           AND NOT EXISTS (SELECT 1 FROM push_progress WHERE push_id = push.id AND settled_at_ms IS NULL)
         ORDER BY id
         \(SQLText.forNoKeyUpdate)
        """

    /// Looks at the campaigns of the application, which has at most `Campaign.countMax`. The schedule may be one that a part started.
    static let holdCampaign: SQLText = """
        SELECT id, name /* webhook_sources.hold_campaign */ FROM campaign
         WHERE application_id = $1 AND started_at_ms IS NOT NULL AND stopped_at_ms IS NULL
           AND ($2 IN (SELECT schedule_id FROM campaign_part WHERE campaign_id = campaign.id)
                OR $2 IN (SELECT schedule_run.child_id FROM \(runsOfParts) WHERE campaign_id = campaign.id))
         \(SQLText.forNoKeyUpdate)
        """

    static let runs: SQLText = """
        SELECT 1 /* webhook_sources.runs */ FROM campaign_part JOIN schedule ON schedule.id = schedule_id
         WHERE campaign_id = $1 AND schedule.ended_at_ms IS NULL
         UNION ALL
        SELECT 1 FROM \(runsOfParts) JOIN schedule ON schedule.id = schedule_run.child_id
         WHERE campaign_id = $1 AND schedule.ended_at_ms IS NULL
        """

    private static let runsOfParts =
        "campaign_part JOIN schedule_run ON schedule_run.schedule_id = campaign_part.schedule_id"

    static let noteExpiry: SQLText = """
        UPDATE platform /* webhook_sources.note_expiry */ SET expiry_told_at_ms = $1
         WHERE id = $2 AND (expiry_told_at_ms IS NULL OR expiry_told_at_ms < $3)
        """
}

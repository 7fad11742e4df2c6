package import FoundationEssentials

extension Store {
    /// The campaigns of an application, the newest first.
    package func campaigns(of application: Key<Application>) async throws -> [CampaignEntry] {
        try await readCommitted { db in
            try db.prepared(CampaignStatements.list).all(application, Campaign.countMax, as: CampaignEntry.init)
        }
    }

    package func campaign(named name: String, of application: Key<Application>) async throws -> Campaign? {
        try await readCommitted { db in
            try db.prepared(CampaignStatements.byName).first(application, name, as: Campaign.init)
        }
    }

    /// The names of the campaigns that were not started, and whose plan fulfils a condition.
    func drafts(
        of application: Key<Application>, where isMeant: @escaping @Sendable (CampaignPlan) -> Bool
    ) async throws -> [String] {
        try await readCommitted { [damagedRows] db in
            var names: [String] = []
            try db.prepared(CampaignStatements.drafts).each(application) { row in
                let draft = try damagedRows.readable("campaign \(row.integer(0))") { try Campaign(row) }
                if let draft, isMeant(draft.plan) { names.append(draft.name) }
            }
            return names
        }
    }

    func campaign(_ key: Key<Campaign>, of application: Key<Application>) async throws -> Campaign? {
        try await readCommitted { db in
            try db.prepared(CampaignStatements.byKey).first(key, application, as: Campaign.init)
        }
    }

    /// The schedules of a campaign, in the order of its variants; empty before its start.
    package func parts(of campaign: Key<Campaign>) async throws -> [CampaignPart] {
        try await readCommitted { db in
            try db.prepared(CampaignStatements.parts).all(campaign, CampaignPart.winnerPlace + 1) { row in
                CampaignPart(place: Int(row.integer(0)), schedule: Key(row.integer(1)))
            }
        }
    }

    /// The name of the campaign that sent a push once; nil for any other. Looks at the schedules of all campaigns of the application.
    func campaign(of push: PushHead) async throws -> String? {
        try await readCommitted { db in
            try db.prepared(CampaignStatements.ofPush).first(push.applicationKey, push.receiptID) { $0.text(0) }
        }
    }

    /// The name of the campaign that a schedule is a part of; nil for any other.
    func campaign(of schedule: Key<Schedule>, _ application: Key<Application>) async throws -> String? {
        try await readCommitted { db in
            try db.prepared(CampaignStatements.ofSchedule).first(application, schedule) { $0.text(0) }
        }
    }

    func create(
        _ name: String, _ plan: CampaignPlan, of application: Key<Application>, by maker: CampaignPerson
    ) async throws -> Campaign {
        let text = plan.storedText
        return try await write { session in
            try session.checkAlone(application)
            guard try session.prepared(CampaignStatements.count).count(application) < Campaign.countMax else {
                throw StoreError.conflict("the application has \(Campaign.countMax) campaigns, which is the limit")
            }
            guard try !session.prepared(CampaignStatements.byName).hasRow(application, name) else {
                throw StoreError.conflict("a campaign of that name exists")
            }
            let now = session.now
            let key = try session.insert(
                CampaignStatements.insert, application, name, text, plan.storedLabels, plan.variants.count, maker.name,
                maker.person, now)
            return Campaign(
                key: Key(key), applicationKey: application, name: name, plan: plan, version: 1, maker: maker,
                createdAt: now, updatedAt: now, approval: nil, startedAt: nil, stoppedAt: nil, winner: nil)
        }
    }

    /// Replaces the plan of a draft, which ends its approval. Throws where it was changed or started since it was read.
    func change(_ campaign: Campaign, to plan: CampaignPlan, by maker: CampaignPerson) async throws {
        let text = plan.storedText
        try await write { session in
            let changed = try session.prepared(CampaignStatements.update).run(
                text, plan.storedLabels, plan.variants.count, maker.name, maker.person, session.now, campaign.key,
                campaign.version)
            guard changed > 0 else { throw EditConflict() }
        }
    }

    /// Throws where it was changed, approved or started since it was read.
    ///
    /// - Parameter digest: of what is approved; it is kept beside the members of the plan.
    func approve(_ campaign: Campaign, by person: CampaignPerson, _ digest: String) async throws {
        var members = campaign.plan.members
        members[CampaignPlan.digestMember] = .string(digest)
        let text = JSONValue.object(members).storedText
        try await write { session in
            let approved = try session.prepared(CampaignStatements.approve).run(
                person.name, session.now, campaign.key, campaign.version, text, campaign.approval?.at ?? .zero)
            guard approved > 0 else { throw EditConflict() }
        }
    }

    /// Makes its schedules, all or none. Throws where it was changed or started since it was read.
    func start(_ campaign: Campaign, _ parts: [NewCampaignPart]) async throws {
        try await write { session in
            let started = try session.prepared(CampaignStatements.start).run(
                session.now, campaign.key, campaign.version)
            guard started > 0 else { throw EditConflict() }
            try session.tell(.campaignStarted, campaign: campaign.name, of: campaign.applicationKey)
            for part in parts {
                let schedule = try session.schedule(
                    part.request, at: part.dueAt, recurring: part.recurrence, for: campaign.applicationKey)
                try session.prepared(CampaignStatements.addPart).send(campaign.key, part.place, schedule.key)
            }
        }
    }

    /// Cancels its schedules. Returns false when it does not run.
    func stop(_ campaign: Campaign) async throws -> Bool {
        try await writeIfFound { session in
            guard try session.prepared(CampaignStatements.stop).run(session.now, campaign.key) > 0 else {
                return false
            }
            let parts = try session.prepared(CampaignStatements.parts).all(
                campaign.key, CampaignPart.winnerPlace + 1
            ) { Key<Schedule>($0.integer(1)) }
            for schedule in parts {
                // A recurring one may have ended with a schedule that still goes round the world.
                if try !session.cancel(schedule, of: campaign.applicationKey) {
                    try session.cancelChildren(of: schedule, campaign.applicationKey)
                }
            }
            try session.tell(
                .campaignFinished, campaign: campaign.name, of: campaign.applicationKey, because: "stopped")
            return true
        }
    }

    /// Returns false when it runs, or is not there.
    func delete(_ campaign: Campaign) async throws -> Bool {
        try await writeIfFound { session in
            guard try session.prepared(CampaignStatements.held).hasRow(campaign.key) else { return false }
            for sql in [CampaignStatements.deleteParts, CampaignStatements.delete] {
                try session.prepared(sql).send(campaign.key)
            }
            return true
        }
    }

    /// Notes the winner, unless one is noted. Returns the one that is noted then.
    private func note(winner: Int, of campaign: Key<Campaign>) async throws -> Int {
        try await write { session in
            try session.prepared(CampaignStatements.noteWinner).send(winner, campaign)
            return try session.prepared(CampaignStatements.winner).first(campaign) { Int($0.integer(0)) } ?? winner
        }
    }

    /// The content of the variant that was reported by the largest part of its devices; nil where none was sent. The first of equals wins.
    /// Throws `WinnerPending` while one was sent too late to be judged, or for up to a day has no device yet, unless the rest expires soon.
    func winningContent(of key: Key<Campaign>, _ application: Key<Application>) async throws -> Push.Content? {
        guard let campaign = try await campaign(key, of: application) else { return nil }
        let all = try await parts(of: key)
        let parts = all.filter { $0.place != CampaignPart.winnerPlace }
        var winner = campaign.winner
        if winner == nil, let rest = all.first(where: { $0.place == CampaignPart.winnerPlace }) {
            let waiting = try await schedule(rest.schedule, of: application)
            let latest = (waiting?.pushRequest.expiresAt ?? .distantFuture) + (.zero - WinnerPending.expiryMargin)
            let after = Duration.milliseconds(campaign.plan.winner?.after.milliseconds ?? 0)
            var best: (place: Int, rate: Double)?
            for part in parts {
                guard let figures = try await figures(of: part.schedule, application) else { continue }
                let longer = figures.isUnsent ? WinnerPending.waitMax : .zero - WinnerPending.leeway
                let end = figures.sentAt + after + longer
                // Where somebody moved the rest to an earlier time, that counts.
                let mayBeLate = figures.accepted > 0 && figures.schedule.dueAt + after <= waiting?.dueAt ?? .zero
                if figures.isUnsent || mayBeLate, clock.now < min(end, latest) { throw WinnerPending() }
                // One that was cancelled, or refused by all, cannot win. One whose share has no devices can.
                let isUntried = !figures.receipts.isEmpty && (figures.isUnsent || figures.devices == 0)
                guard figures.accepted > 0 || isUntried else { continue }
                let rate = figures.accepted > 0 ? figures.rate(of: campaign.plan.winner?.by ?? .opened) : -1
                if best.map({ rate > $0.rate }) ?? true { best = (part.place, rate) }
            }
            guard let best else { return nil }
            winner = try await note(winner: best.place, of: key)
        }
        guard let part = parts.first(where: { $0.place == winner }) else { return nil }
        guard var content = try await schedule(part.schedule, of: application)?.pushRequest.content else { return nil }
        content.pacing = Pacing()
        return content
    }

    package func campaignReceipts(_ name: String, of application: Key<Application>) async throws -> [UUID]? {
        guard let campaign = try await campaign(named: name, of: application) else { return nil }
        var found: [UUID] = []
        for part in try await parts(of: campaign.key) {
            guard let schedule = try await schedule(part.schedule, of: application) else { continue }
            found += try await receipts(of: schedule)
        }
        return Array(found.prefix(AudienceExpression.valuesMax))
    }

    /// The receipts of its pushes, of those of many the latest.
    private func receipts(of schedule: Schedule) async throws -> [UUID] {
        let runs = try await runs(of: schedule.key)
        var receipts = runs.compactMap(\.how.receiptID)
        if receipts.isEmpty, let receipt = schedule.ending?.how.receiptID { receipts = [receipt] }
        for case .started(let child) in runs.map(\.how).prefix(CampaignFigures.childrenMax) {
            receipts += try await self.runs(of: child).compactMap(\.how.receiptID)
        }
        return receipts
    }

    /// The sums of all pushes of a schedule; nil where it is not kept any more.
    func figures(of key: Key<Schedule>, _ application: Key<Application>) async throws -> CampaignFigures? {
        guard let schedule = try await schedule(key, of: application) else { return nil }
        var figures = CampaignFigures(schedule: schedule)
        for id in try await receipts(of: schedule) {
            guard let receipt = try await receipt(id), receipt.push.applicationKey == application else { continue }
            let push = receipt.push.key
            figures.add(receipt, try await reports(of: push), try await reporters(of: push))
        }
        return figures
    }

    /// The number of devices that reported so of a push; none once its answers are deleted.
    func reporters(of push: Key<Push>) async throws -> [PushReport: Int] {
        try await readCommitted { db in
            var found: [PushReport: Int] = [:]
            try db.prepared(ReportStatements.counts).each(push) { row in
                guard let report = AnalyticsKind(rawValue: row.integer(0)).flatMap({ PushReport($0) }) else { return }
                found[report, default: 0] += row.integer(1).nonzeroBitCount + Int(row.integer(2))
            }
            return found
        }
    }
}

/// A schedule that a campaign starts with.
struct NewCampaignPart: Sendable {
    let place: Int
    let request: WrittenRequest
    let dueAt: Instant
    var recurrence: Recurrence?
}

extension CampaignPlan {
    /// The stored member that no request has.
    fileprivate static let digestMember = "approved_digest"
    var storedText: String { JSONValue.object(members).storedText }
    fileprivate var storedLabels: String { JSONValue.strings(labels).storedText }
}

extension Campaign {
    fileprivate init(_ row: some SQLRow) throws {
        let (plan, digest) = try StoreError.reading("campaign \(row.integer(0))") {
            guard case .object(var members) = try JSONValue(json: row.blob(3)) else {
                throw InvalidInput(field: "plan", "is no object")
            }
            let digest = members[CampaignPlan.digestMember]?.stringValue
            members[CampaignPlan.digestMember] = nil
            return (try CampaignPlan(stored: members), digest)
        }
        self.init(
            key: Key(row.integer(0)), applicationKey: Key(row.integer(1)), name: row.text(2), plan: plan,
            version: row.integer(4), maker: CampaignPerson(name: row.text(5), person: row.integerIfAny(6)),
            createdAt: Instant(milliseconds: row.integer(7)), updatedAt: Instant(milliseconds: row.integer(8)),
            approval: row.textIfAny(9).flatMap { by in
                row.instantIfAny(10).map { Approval(by: by, at: $0, digest: digest) }
            },
            startedAt: row.instantIfAny(11), stoppedAt: row.instantIfAny(12),
            winner: row.integerIfAny(13).map { Int($0) })
    }
}

extension CampaignEntry {
    fileprivate init(_ row: some SQLRow) throws {
        let labels = try StoreError.reading("the labels of a campaign") {
            try JSONValue(json: row.blob(1)).strings("labels")
        }
        self.init(
            name: row.text(0), labels: labels, variants: Int(row.integer(2)), version: row.integer(3),
            maker: row.text(4), approver: row.textIfAny(5), createdAt: Instant(milliseconds: row.integer(6)),
            startedAt: row.instantIfAny(7), stoppedAt: row.instantIfAny(8))
    }
}

enum CampaignStatements {
    private static let columns = """
        id, application_id, name, plan, version, maker, maker_person_id, created_at_ms, updated_at_ms, approver, approved_at_ms,
               started_at_ms, stopped_at_ms, winner
        """

    /// Scans `campaign_application` backwards.
    static let list: SQLText = """
        SELECT name, labels, variants, version, maker, approver, created_at_ms, started_at_ms,
               stopped_at_ms /* campaigns.list */ FROM campaign
         WHERE application_id = $1
         ORDER BY id DESC
         LIMIT $2
        """

    /// Scans `campaign_name`.
    static let byName: SQLText = """
        SELECT \(columns) /* campaigns.by_name */ FROM campaign WHERE application_id = $1 AND name = $2
        """

    static let byKey: SQLText = """
        SELECT \(columns) /* campaigns.by_key */ FROM campaign WHERE id = $1 AND application_id = $2
        """

    static let drafts: SQLText = """
        SELECT \(columns) /* campaigns.drafts */ FROM campaign WHERE application_id = $1 AND started_at_ms IS NULL
        """

    static let count: SQLText = "SELECT count(*) /* campaigns.count */ FROM campaign WHERE application_id = $1"

    static let insert: SQLText = """
        INSERT INTO campaign /* campaigns.insert */ (
            application_id, name, plan, labels, variants, version, maker, maker_person_id, created_at_ms, updated_at_ms)
        VALUES ($1, $2, $3, $4, $5, 1, $6, $7, $8, $8)
        RETURNING id
        """

    static let update: SQLText = """
        UPDATE campaign /* campaigns.update */
           SET plan = $1, labels = $2, variants = $3, maker = $4, maker_person_id = $5, updated_at_ms = $6,
               version = version + 1, approver = NULL, approved_at_ms = NULL
         WHERE id = $7 AND version = $8 AND started_at_ms IS NULL
        """

    static let approve: SQLText = """
        UPDATE campaign /* campaigns.approve */ SET approver = $1, approved_at_ms = $2, plan = $5
         WHERE id = $3 AND version = $4 AND started_at_ms IS NULL AND coalesce(approved_at_ms, 0) = $6
        """

    static let start: SQLText = """
        UPDATE campaign /* campaigns.start */ SET started_at_ms = $1
         WHERE id = $2 AND version = $3 AND started_at_ms IS NULL
        """

    static let stop: SQLText = """
        UPDATE campaign /* campaigns.stop */ SET stopped_at_ms = $1
         WHERE id = $2 AND started_at_ms IS NOT NULL AND stopped_at_ms IS NULL
        """

    static let noteWinner: SQLText = """
        UPDATE campaign /* campaigns.note_winner */ SET winner = $1 WHERE id = $2 AND winner IS NULL
        """

    static let winner: SQLText = "SELECT winner /* campaigns.winner */ FROM campaign WHERE id = $1"

    /// Scans the primary key.
    static let parts: SQLText = """
        SELECT place, schedule_id /* campaigns.parts */ FROM campaign_part
         WHERE campaign_id = $1
         ORDER BY place
         LIMIT $2
        """

    /// Scans `campaign_name`; an application has at most `Campaign.countMax`.
    static let ofPush: SQLText = """
        SELECT name /* campaigns.of_push */ FROM campaign
         WHERE application_id = $1
           AND $2 IN (SELECT (SELECT receipt_id FROM schedule WHERE schedule.id = schedule_id)
                        FROM campaign_part WHERE campaign_id = campaign.id)
         LIMIT 1
        """

    /// Scans as `ofPush`.
    static let ofSchedule: SQLText = """
        SELECT name /* campaigns.of_schedule */ FROM campaign
         WHERE application_id = $1
           AND $2 IN (SELECT schedule_id FROM campaign_part WHERE campaign_id = campaign.id)
         LIMIT 1
        """

    static let addPart: SQLText = """
        INSERT INTO campaign_part /* campaigns.add_part */ (campaign_id, place, schedule_id) VALUES ($1, $2, $3)
        """

    /// One that does not run.
    static let held: SQLText = """
        SELECT 1 /* campaigns.held */ FROM campaign
         WHERE id = $1 AND (started_at_ms IS NULL OR stopped_at_ms IS NOT NULL) \(SQLText.forUpdate)
        """

    static let deleteParts: SQLText = """
        DELETE FROM campaign_part /* campaigns.delete_parts */ WHERE campaign_id = $1
        """

    static let delete: SQLText = "DELETE FROM campaign /* campaigns.delete */ WHERE id = $1"
}

/// Campaigns, and the schedules that they started.
enum CampaignMigration: SchemaMigration {
    static let identifier = "0017 campaigns (additive)"
    static let tables = [
        StoreTable("campaign", rows: .perRow("application", Campaign.countMax), of: .application),
        StoreTable(
            "campaign_part", rows: .perRow("campaign", CampaignPlan.variantsMax + 1), key: "campaign_id, place",
            of: .row(of: "campaign", by: "campaign_id")),
    ]

    static func run(in db: some SQLConnection) throws {
        try db.run(
            script: """
                -- `plan`: see `CampaignPlan`; `labels` (a JSON array) and `variants` repeat a part of it for lists. `maker_person_id` may
                -- outlive the person.
                CREATE TABLE campaign (
                    id \(.key),
                    application_id \(.bigint) NOT NULL REFERENCES application (id) ON DELETE CASCADE,
                    name text \(postgres: "COLLATE \"C\"") NOT NULL,
                    plan text NOT NULL,
                    labels text NOT NULL,
                    variants \(.bigint) NOT NULL,
                    version \(.bigint) NOT NULL CHECK (version > 0),
                    maker text NOT NULL,
                    maker_person_id \(.bigint),
                    created_at_ms \(.bigint) NOT NULL,
                    updated_at_ms \(.bigint) NOT NULL,
                    approver text,
                    approved_at_ms \(.bigint),
                    started_at_ms \(.bigint),
                    stopped_at_ms \(.bigint),
                    winner \(.bigint),
                    CHECK ((approver IS NULL) = (approved_at_ms IS NULL))
                ) \(.byID);
                CREATE UNIQUE INDEX campaign_name ON campaign (application_id, name);
                CREATE INDEX campaign_application ON campaign (application_id\(postgres: ", id"));

                -- `place`: of the variant, or `CampaignPart.winnerPlace`. The schedule may be gone.
                CREATE TABLE campaign_part (
                    campaign_id \(.bigint) NOT NULL REFERENCES campaign (id) ON DELETE CASCADE,
                    place \(.bigint) NOT NULL CHECK (place BETWEEN 0 AND 4),
                    schedule_id \(.bigint) NOT NULL,
                    PRIMARY KEY (campaign_id, place)
                ) \(.byKey);
                """)
    }
}

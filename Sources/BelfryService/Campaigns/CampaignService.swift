import Crypto
package import FoundationEssentials

/// Makes, approves, starts and stops the campaigns of applications. Each change has its line in the audit log.
package struct CampaignService: Sendable {
    private let store: any Store
    private let pushes: PushService

    package init(store: any Store, pushes: PushService) { (self.store, self.pushes) = (store, pushes) }

    /// The most devices of a test.
    package static let testDevicesMax = 1_000

    package func create(
        _ name: String, _ plan: CampaignPlan, of application: Application, by author: AuditAuthor
    ) async throws -> Campaign {
        _ = try await requests(of: plan, named: name, application)
        return try await store.audited(line(by: author, "create", name, application)) {
            try await store.create(name, plan, of: application.key, by: CampaignPerson(author))
        }
    }

    /// Changes members of the plan of a draft; a null removes one.
    package func change(
        _ campaign: Campaign, _ members: JSONObject, of application: Application, by author: AuditAuthor
    ) async throws -> Campaign {
        try check(campaign, is: .draft, "changed")
        let plan = try CampaignPlan(campaign.plan.members.merging(members) { $1 })
        _ = try await requests(of: plan, named: campaign.name, application)
        try await store.audited(line(by: author, "update", campaign.name, application)) {
            try await store.change(campaign, to: plan, by: CampaignPerson(author))
        }
        return try await found(campaign.name, application)
    }

    /// Approves a draft, with its templates and segments as they are. Throws where the author is who last changed it.
    package func approve(
        _ campaign: Campaign, of application: Application, by author: AuditAuthor
    ) async throws -> Campaign {
        try check(campaign, is: .draft, "approved")
        let person = CampaignPerson(author)
        guard !person.isSame(as: campaign.maker) else {
            throw StoreError.conflict("somebody else than \(campaign.maker.name), who made it, has to approve it")
        }
        let digest = try await digest(
            of: try await requests(of: campaign.plan, named: campaign.name, application), application)
        if let approval = campaign.approval, approval.digest == nil || approval.digest == digest {
            throw StoreError.conflict("it is approved already")
        }
        try await store.audited(line(by: author, "approve", campaign.name, application)) {
            try await store.approve(campaign, by: person, digest)
        }
        return try await found(campaign.name, application)
    }

    /// Makes its schedules. Throws where it needs an approval that it does not have.
    package func start(
        _ campaign: Campaign, of application: Application, by author: AuditAuthor
    ) async throws -> Campaign {
        try check(campaign, is: .draft, "started")
        guard campaign.approval != nil || !application.deliveryRules.approvesCampaigns else {
            throw StoreError.conflict("somebody else than \(campaign.maker.name), who made it, has to approve it first")
        }
        let requests = try await requests(of: campaign.plan, named: campaign.name, application)
        if application.deliveryRules.approvesCampaigns, let seen = campaign.approval?.digest,
            try await digest(of: requests, application) != seen
        {
            throw StoreError.conflict("a template or segment was changed since: it has to be approved again")
        }
        let parts = try await parts(of: campaign, requests, application)
        try await store.audited(line(by: author, "start", campaign.name, application)) {
            try await store.start(campaign, parts)
        }
        return try await found(campaign.name, application)
    }

    /// Ends its schedules at once, and cancels what is left of its pushes. One that is stopped already may have pushes left, where that was
    /// cut short.
    package func stop(
        _ campaign: Campaign, of application: Application, by author: AuditAuthor
    ) async throws -> Campaign {
        if campaign.state != .stopped {
            try check(campaign, is: .running, "stopped")
            try await store.audited(line(by: author, "stop", campaign.name, application)) {
                guard try await store.stop(campaign) else { throw StoreError.conflict("it does not run") }
            }
        }
        for part in try await store.parts(of: campaign.key) {
            for receipt in try await store.figures(of: part.schedule, application.key)?.receipts ?? [] {
                _ = try await pushes.cancel(receipt, of: application, by: author)
            }
        }
        return try await found(campaign.name, application)
    }

    /// Throws while it runs, and where something else uses it.
    package func delete(_ campaign: Campaign, of application: Application, by author: AuditAuthor) async throws {
        let users = try await store.users(in: application.key) { $0.campaigns.contains(campaign.name) }
            .map(\.words).filter { $0 != "campaign \(campaign.name)" }
        guard users.isEmpty else {
            throw StoreError.conflict("the campaign is used by \(users.prefix(3).joined(separator: ", "))")
        }
        try await store.audited(line(by: author, "delete", campaign.name, application)) {
            guard try await store.delete(campaign) else {
                throw StoreError.conflict("the campaign runs: stop it first")
            }
        }
    }

    /// Sends each variant to the campaign's test audience, without quiet hours and caps.
    package func test(
        _ campaign: Campaign, of application: Application, by author: AuditAuthor
    ) async throws -> [CampaignTest] {
        guard let target = campaign.plan.testTarget else {
            throw InvalidInput(field: "test_target", "is missing: the campaign has no test audience")
        }
        let size = try await store.size(
            of: try await pushes.audience(of: target, for: application.key), by: .now + .seconds(1)
        ).reduce(AudienceSize(devices: 0), +)
        guard 1...Self.testDevicesMax ~= size.devices else {
            throw InvalidInput(
                field: "test_target",
                "means \(size.devices) devices, a test goes to 1 to \(Self.testDevicesMax)")
        }
        var sent: [CampaignTest] = []
        let requests = try await requests(of: campaign.plan, named: campaign.name, application)
        for (place, variant) in campaign.plan.variants.enumerated() {
            var request = requests[place]
            request.target = target
            request.expiresAt = nil
            request.content.pacing = .exempt
            let push = try await IdempotentID.$given.withValue(IdempotentID.part(place)) { [request] in
                try await pushes.send(request, for: application, by: author)
            }
            sent.append(CampaignTest(variant: variant.name, receiptID: push.receiptID))
        }
        return sent
    }

    /// The figures of each part so far, in the order of the variants; the winner's rest is the last.
    package func report(of campaign: Campaign) async throws -> [CampaignReportLine] {
        var lines: [CampaignReportLine] = []
        let parts = try await store.parts(of: campaign.key)
        let plan = campaign.plan
        func line(_ name: String, _ share: Range<Int>, at place: Int) async throws -> CampaignReportLine {
            let schedule = parts.first { $0.place == place }?.schedule
            return CampaignReportLine(
                name: name, share: share, isWinner: campaign.winner == place, schedule: schedule,
                figures: try await figures(schedule, campaign))
        }
        for (place, variant) in plan.variants.enumerated() {
            lines.append(try await line(variant.name, variant.share, at: place))
        }
        if plan.winner != nil { lines.append(try await line("winner", plan.rest, at: CampaignPart.winnerPlace)) }
        return lines
    }

    private func figures(_ schedule: Key<Schedule>?, _ campaign: Campaign) async throws -> CampaignFigures? {
        guard let schedule else { return nil }
        return try await store.figures(of: schedule, campaign.applicationKey)
    }

    private func found(_ name: String, _ application: Application) async throws -> Campaign {
        guard let campaign = try await store.campaign(named: name, of: application.key) else {
            throw StoreError.unknown("such campaign")
        }
        return campaign
    }

    private func check(_ campaign: Campaign, is state: Campaign.State, _ verb: String) throws(StoreError) {
        guard campaign.state != state else { return }
        let now =
            switch campaign.state {
            case .draft: "was not started"
            case .running: "was started"
            case .stopped: "was stopped"
            }
        throw StoreError.conflict("the campaign \(now), so it cannot be \(verb)")
    }

    private func line(
        by author: AuditAuthor, _ verb: String, _ name: String, _ application: Application
    ) -> AuditedChange {
        AuditedChange(by: author, "campaign.\(verb)", application, ["campaign": name])
    }

    // MARK: What it sends

    /// The push requests of the variants, as schedules store them. Throws where one of them would be refused today.
    private func requests(
        of plan: CampaignPlan, named name: String, _ application: Application
    ) async throws -> [PushRequest] {
        let body = try plan.body()
        let whole = try body.pushRequest(or: Push.Content())
        try body.checkTimes(at: .distantPast)
        try body.recurrence?.check(whole)
        let base = try await pushes.resolved(whole.content, of: application.key)
        var requests: [PushRequest] = []
        for (place, variant) in plan.variants.enumerated() {
            var request = whole
            request.target = plan.target(of: variant.share, whole.target, campaign: name)
            request.content = base
            if let own = variant.content {
                let resolved = try await pushes.resolved(own, of: application.key)
                do { request.content = try resolved.over(base) } catch {
                    throw InvalidInput(field: "variants[\(place)].\(error.field)", error.problem)
                }
            }
            request.content.pacing = whole.content.pacing
            requests.append(try await pushes.prepared(request, of: application.key).0)
        }
        return requests
    }

    /// The tag of a campaign, and the messages of a draft, as an approval would be of: none where it would be refused today.
    func shown(
        _ campaign: Campaign, of application: Application
    ) async throws -> (tag: Admin.EntityTag, contents: [Push.Content]) {
        if campaign.state == .draft {
            do {
                let requests = try await requests(of: campaign.plan, named: campaign.name, application)
                let digest = try await digest(of: requests, application)
                return (Admin.EntityTag(campaign, digest), requests.map(\.content))
            } catch is InvalidInput {}
        }
        return (Admin.EntityTag(campaign, ""), [])
    }

    /// The SHA-256 digest of what the variants send and to whom, with templates and segments written out.
    private func digest(of requests: [PushRequest], _ application: Application) async throws -> String {
        var hash = SHA256()
        for request in requests {
            let audience = try await request.target.asExpression.resolved {
                try await store.segmentExpression($0, of: application.key)
            }
            for text in [request.content.storedText, audience.json.storedText] { hash.update(data: Array(text.utf8)) }
        }
        return Array(hash.finalize()).hex
    }

    private func parts(
        of campaign: Campaign, _ requests: [PushRequest], _ application: Application
    ) async throws -> [NewCampaignPart] {
        let (plan, now) = (campaign.plan, store.clock.now)
        let body = try plan.body()
        try body.checkTimes(at: now)
        let local = body.local?.made(at: now)
        let dueAt: Instant
        if let local {
            dueAt = try local.first()
        } else {
            dueAt = try body.recurrence?.firstTime(after: now, isNew: true) ?? max(body.sendAt ?? now, now)
        }
        var parts = requests.enumerated().map { place, request in
            var request = request
            request.target.local = local
            // Together they keep to the throttle, though each sends at least one a minute.
            request.content.pacing.perMinute = request.content.pacing.perMinute.map {
                max(1, $0 * plan.variants[place].share.count / plan.rest.lowerBound)
            }
            return NewCampaignPart(
                place: place, request: WrittenRequest(request), dueAt: dueAt, recurrence: body.recurrence)
        }
        let lastAt = dueAt + .milliseconds(plan.winner?.after.milliseconds ?? 0)
        try PushTimes.check(expiresAt: requests.first?.expiresAt, sendAt: lastAt, now: now)
        if plan.winner != nil, var rest = requests.first {
            let whole = try body.pushRequest(or: Push.Content())
            let target = try await pushes.settled(whole.target, of: application.key)
            rest.target = plan.target(of: plan.rest, target, campaign: campaign.name)
            rest.content = Push.Content()
            rest.content.template = TemplateReference(winnerOf: campaign.key)
            rest.content.pacing = whole.content.pacing
            parts.append(
                NewCampaignPart(
                    place: CampaignPart.winnerPlace, request: WrittenRequest(rest), dueAt: lastAt))
        }
        return parts
    }
}

/// A push of a test.
package struct CampaignTest: Sendable {
    package let variant: String
    package let receiptID: UUID
}

/// The error for a winner that cannot be chosen yet.
struct WinnerPending: Error {
    /// How long the choice may be put off.
    static let waitMax = Duration.seconds(86_400)
    /// How much earlier than its time a variant may be judged, since pushes are accepted a little late.
    static let leeway = Duration.seconds(300)
    /// Longer than `Scheduler.winnerWait`.
    static let expiryMargin = Duration.seconds(600)
}

/// The sums of a part's pushes.
package struct CampaignFigures: Sendable {
    package let schedule: Schedule
    package private(set) var receipts: [Receipt] = []
    package private(set) var devices = 0
    package private(set) var accepted = 0
    package private(set) var failed = 0
    package private(set) var pending = 0
    package private(set) var received = 0
    package private(set) var opened = 0

    /// The times by the clocks of each recipient that are looked at, the latest: each has some 40 pushes.
    static let childrenMax = 10

    init(schedule: Schedule) { self.schedule = schedule }

    mutating func add(
        _ receipt: Receipt, _ events: [Key<Platform>: AnalyticsCounts], _ noted: [PushReport: Int]
    ) {
        receipts.append(receipt)
        devices += receipt.devices
        accepted += receipt.count(.accepted)
        failed += receipt.count(.failed)
        pending += receipt.count(.pending)
        received += receipt.reporters(.received, events, noted)
        opened += receipt.reporters(.opened, events, noted)
    }

    /// When the first of its pushes was accepted, or is due.
    var sentAt: Instant { receipts.map(\.push.acceptedAt).min() ?? schedule.dueAt }

    /// Whether no device accepted it, and some still may.
    var isUnsent: Bool {
        accepted == 0 && (receipts.isEmpty ? schedule.ending == nil : receipts.contains { $0.settledAt == nil })
    }

    func count(of report: PushReport) -> Int { report == .opened ? opened : received }

    /// The reports by accepted devices, from 0 to 1.
    func rate(of report: PushReport) -> Double {
        accepted > 0 ? min(1, Double(count(of: report)) / Double(accepted)) : 0
    }

    /// The interval that holds the true rate in 95 of 100 cases. Source: E. B. Wilson, 1927.
    package func interval(of report: PushReport) -> ClosedRange<Double>? {
        guard accepted > 0 else { return nil }
        let (count, rate, z) = (Double(accepted), rate(of: report), 1.959_964)
        let middle = (rate + z * z / (2 * count)) / (1 + z * z / count)
        let half =
            z / (1 + z * z / count) * (rate * (1 - rate) / count + z * z / (4 * count * count)).squareRoot()
        return max(0, middle - half)...min(1, middle + half)
    }
}

/// A line of the report: a variant, or the rest that gets the winner.
package struct CampaignReportLine: Sendable {
    package let name: String
    package let share: Range<Int>
    package let isWinner: Bool
    /// nil before the start.
    package let schedule: Key<Schedule>?
    /// nil before the start, and where its schedule is not kept any more.
    package let figures: CampaignFigures?
}

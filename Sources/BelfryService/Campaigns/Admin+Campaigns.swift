import FoundationEssentials
import Hummingbird

extension Admin {
    /// Campaigns: `/admin/v1/apps/:app_uuid/campaigns`, by their names.
    struct Campaigns: Sendable {
        let factory: RouteFactory

        var routes: [Route] {
            [
                factory.application(.get, "apps/:app_uuid/campaigns", .read, list),
                factory.application(.post, "apps/:app_uuid/campaigns", .change, create),
                factory.application(.get, "apps/:app_uuid/campaigns/:campaign", .read, show),
                factory.application(.patch, "apps/:app_uuid/campaigns/:campaign", .change, update),
                factory.application(.delete, "apps/:app_uuid/campaigns/:campaign", .change, delete),
                verb("approve", CampaignService.approve), verb("start", CampaignService.start),
                verb("stop", CampaignService.stop),
                factory.application(.post, "apps/:app_uuid/campaigns/:campaign/test", .send, test).repeatable,
            ]
        }

        private var service: CampaignService { factory.services.campaigns }

        private func verb(
            _ name: String,
            _ run:
                @escaping @Sendable (CampaignService) -> (Campaign, Application, AuditAuthor) async throws -> Campaign
        ) -> Route {
            factory.application(.post, "apps/:app_uuid/campaigns/:campaign/\(name)", .send) { call, application in
                let found = try await found(call, application)
                try await demandMatch(call, found, application)
                let campaign = try await run(service)(found, application, call.author)
                return try await Response(CampaignReply(campaign)).tagged(tag(campaign, application))
            }
        }

        private func list(_ call: Call, _ application: Application) async throws -> Response {
            let query = try Query(call, ["label"])
            let label = query.text("label")
            let campaigns = try await factory.store.campaigns(of: application.key)
                .filter { campaign in label.map { campaign.labels.contains($0.asName) } ?? true }
            return try Response(CampaignsReply(campaigns: campaigns.map { CampaignEntryReply($0) }))
        }

        private func create(_ call: Call, _ application: Application) async throws -> Response {
            let body = try await call.body(as: CampaignBody.self)
            guard let name = body.name else { throw InvalidInput.missing("name") }
            let campaign = try await service.create(
                try Campaign.checked(name: name), try CampaignPlan(body.members), of: application, by: call.author)
            return try .created(CampaignReply(campaign))
        }

        private func show(_ call: Call, _ application: Application) async throws -> Response {
            let campaign = try await found(call, application)
            let report = try await factory.shares.holding(.searches, for: ShareHolder(call.key, application)) {
                try await service.report(of: campaign)
            }
            return try await Response(CampaignReply(campaign, report)).tagged(tag(campaign, application))
        }

        private func update(_ call: Call, _ application: Application) async throws -> Response {
            let body = try await call.body(as: CampaignBody.self)
            guard body.name == nil else { throw InvalidInput(field: "name", "stays: make another campaign") }
            guard !body.members.isEmpty else { throw InvalidInput.missing("a field") }
            let found = try await found(call, application)
            try await demandMatch(call, found, application)
            let campaign = try await service.change(found, body.members, of: application, by: call.author)
            return try await Response(CampaignReply(campaign)).tagged(tag(campaign, application))
        }

        private func delete(_ call: Call, _ application: Application) async throws -> Response {
            let found = try await found(call, application)
            try await demandMatch(call, found, application)
            try await factory.shares.holding(.searches, for: ShareHolder(call.key, application)) {
                try await service.delete(found, of: application, by: call.author)
            }
            return Response(status: .noContent)
        }

        private func test(_ call: Call, _ application: Application) async throws -> Response {
            let campaign = try await found(call, application)
            let sent = try await factory.shares.holding(.searches, for: ShareHolder(call.key, application)) {
                try await service.test(campaign, of: application, by: call.author)
            }
            return try Response(
                CampaignTestsReply(
                    pushes: sent.map { .init(variant: $0.variant, receipt_id: $0.receiptID.lowercased) }))
        }

        private func tag(_ campaign: Campaign, _ application: Application) async throws -> EntityTag {
            try await service.shown(campaign, of: application).tag
        }

        private func demandMatch(_ call: Call, _ campaign: Campaign, _ application: Application) async throws {
            guard call.request.headers[.ifMatch] != nil else { return }
            try call.demandMatch(try await tag(campaign, application))
        }

        private func found(_ call: Call, _ application: Application) async throws -> Campaign {
            try await factory.store.campaign(named: (call.text("campaign") ?? "").asName, of: application.key)
                .orMissing("campaign")
        }
    }

    private struct CampaignBody: Body {
        static let fields = ["name"] + CampaignPlan.fields
        static let sends = true
        private(set) var name: String?
        private(set) var members: JSONObject = [:]

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            if field == "name" {
                name = try reader.string(field)
            } else {
                members[field] = try reader.value(field, bytesMax: 2 * PushLimits.contentWrittenBytesMax)
            }
        }
    }

    private struct CampaignsReply: Encodable {
        let campaigns: [CampaignEntryReply]
    }

    private struct CampaignEntryReply: Encodable {
        let name: String
        let state: String
        let labels: [String]
        let version: Int64
        let created_at: String
        @OrNull var approved_by: String?
        @OrNull var started_at: String?
        @OrNull var stopped_at: String?

        init(_ campaign: CampaignEntry) {
            (name, state, labels) = (campaign.name, campaign.state.rawValue, campaign.labels)
            (version, created_at) = (campaign.version, campaign.createdAt.text)
            _approved_by = OrNull(wrappedValue: campaign.approver)
            _started_at = OrNull(wrappedValue: campaign.startedAt?.text)
            _stopped_at = OrNull(wrappedValue: campaign.stoppedAt?.text)
        }
    }

    private struct CampaignTestsReply: Encodable {
        let pushes: [Push]

        struct Push: Encodable {
            let variant: String
            let receipt_id: String
        }
    }

    private struct CampaignReply: Encodable {
        let name: String
        let state: String
        let version: Int64
        /// As it was requested, without the name.
        let plan: JSONValue
        let created_at: String
        let updated_at: String
        let made_by: String
        @OrNull var approved_by: String?
        @OrNull var approved_at: String?
        @OrNull var started_at: String?
        @OrNull var stopped_at: String?
        /// The name of the variant that the rest gets; null until it is known.
        @OrNull var winner: String?
        /// nil where it is not asked for.
        let report: [Line]?

        init(_ campaign: Campaign, _ report: [CampaignReportLine]? = nil) {
            (name, state, version) = (campaign.name, campaign.state.rawValue, campaign.version)
            plan = .object(campaign.plan.members)
            (created_at, updated_at) = (campaign.createdAt.text, campaign.updatedAt.text)
            made_by = campaign.maker.name
            _approved_by = OrNull(wrappedValue: campaign.approval?.by)
            _approved_at = OrNull(wrappedValue: campaign.approval?.at.text)
            _started_at = OrNull(wrappedValue: campaign.startedAt?.text)
            _stopped_at = OrNull(wrappedValue: campaign.stoppedAt?.text)
            _winner = OrNull(wrappedValue: campaign.winner.map { campaign.plan.variants[$0].name })
            self.report = report?.map(Line.init)
        }

        struct Line: Encodable {
            let variant: String
            let from_percent: Int
            let to_percent: Int
            @OrNull var schedule_id: String?
            @OrNull var due_at: String?
            /// How it ended, or `waiting`.
            @OrNull var state: String?
            let receipts: [String]
            let devices: Int
            let accepted: Int
            let failed: Int
            let pending: Int
            let received: Rate
            let opened: Rate

            init(_ line: CampaignReportLine) {
                variant = line.name
                (from_percent, to_percent) = (line.share.lowerBound, line.share.upperBound)
                let figures = line.figures
                _schedule_id = OrNull(wrappedValue: line.schedule?.id)
                _due_at = OrNull(wrappedValue: figures?.schedule.nextAt?.text)
                _state = OrNull(wrappedValue: figures.map { $0.schedule.ending?.how.name ?? "waiting" })
                receipts = figures?.receipts.map { $0.push.receiptID.lowercased } ?? []
                (devices, accepted) = (figures?.devices ?? 0, figures?.accepted ?? 0)
                (failed, pending) = (figures?.failed ?? 0, figures?.pending ?? 0)
                received = Rate(figures, .received)
                opened = Rate(figures, .opened)
            }
        }

        /// Reports, as a share of the accepted devices, with the interval of 95 % around it; null where there are none.
        struct Rate: Encodable {
            let count: Int
            @OrNull var rate: Double?
            @OrNull var low: Double?
            @OrNull var high: Double?

            init(_ figures: CampaignFigures?, _ report: PushReport) {
                count = figures?.count(of: report) ?? 0
                let interval = figures?.interval(of: report)
                _rate = OrNull(wrappedValue: interval == nil ? nil : figures?.rate(of: report).rounded4)
                _low = OrNull(wrappedValue: interval?.lowerBound.rounded4)
                _high = OrNull(wrappedValue: interval?.upperBound.rounded4)
            }
        }
    }
}

extension Double {
    fileprivate var rounded4: Double { (self * 10_000).rounded() / 10_000 }
}

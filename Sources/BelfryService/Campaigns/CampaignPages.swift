import FoundationEssentials

/// Campaigns: the list, a form for a new one, and each with its plan, its report, and what can be done with it.
struct CampaignPages {
    let make: RouteMaker

    var routes: [PageRoute] {
        [
            make.application(.get, "campaigns", .read, list),
            make.application(.post, "campaigns", .change, create).taking(bytes: ComposePages.bodyBytesMax),
            make.application(.get, "campaigns/:campaign", .read, show),
            make.application(.post, "campaigns/:campaign", .change, change).taking(bytes: ComposePages.bodyBytesMax),
            make.application(.post, "campaigns/:campaign/test", .send, test),
            make.application(.post, "campaigns/:campaign/approve", .send, approve),
            make.application(.post, "campaigns/:campaign/start", .send, start),
            make.application(.post, "campaigns/:campaign/stop", .send, stop),
            make.application(.post, "campaigns/:campaign/delete", .change, delete),
        ]
    }

    private static let letters = ["a", "b", "c", "d"]

    // MARK: The list

    @Sendable private func list(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        .page(try await page(visit, application, Self.newForm(application)))
    }

    private func page(_ visit: DashboardRequest, _ application: Application, _ form: Form) async throws -> PageView {
        let campaigns = try await visit.services.store.campaigns(of: application.key)
        var page = PageView(
            "Campaigns", in: application,
            lead: "Pushes with variants of a message for parts of an audience, and one report of all."
        ) {
            Section {
                Table(
                    "Campaigns", ["Campaign", "State", "Labels", "Variants", "Made by", "Started"],
                    campaigns.map { campaign in
                        [
                            [.link(campaign.name, Address.of(application, "campaigns", campaign.name))],
                            [Self.badge(campaign.state, isApproved: campaign.approver != nil)],
                            [.text(campaign.labels.joined(separator: ", "))], [.number(campaign.variants)],
                            [.text(campaign.maker)],
                            [.time(campaign.startedAt, none: "–")],
                        ]
                    }, empty: "No campaigns yet.")
            }
        }
        if visit.may(.change, Permission.Subject(application)) {
            page.sections.append(Section("New campaign") { form })
        }
        return page.saying(visit, ["deleted": "Deleted."])
    }

    private static func badge(_ state: Campaign.State, isApproved: Bool) -> Value {
        switch state {
        case .draft: isApproved ? .badge("approved", .good) : .badge("draft", .calm)
        case .running: .badge("running", .good)
        case .stopped: .badge("stopped", .warn)
        }
    }

    // MARK: The form of a new one

    private static func newForm(_ application: Application) -> Form {
        var form = Form(
            Address.of(application, "campaigns"), "Create",
            [
                .text(
                    "name", "Name", hint: "Up to \(Campaign.nameBytesMax) bytes. It cannot be changed later.",
                    isRequired: true),
                .text("labels", "Labels", hint: "Separated by commas."),
                .area(
                    "where", "To", hint: "An expression, or segment:NAME. Empty: everyone.",
                    placeholder: "topic:news lang:de version>=5", isMono: true),
                .area("test_where", "Test audience", hint: "An expression, such as user:emma.", isMono: true),
            ])
        form.groups = letters.enumerated().map { place, letter in
            FieldGroup(
                place == 0 ? "Message" : "Variant \(letter.uppercased())",
                [
                    .text("title-\(letter)", "Title"), .area("body-\(letter)", "Message"),
                    .text("template-\(letter)", "Or a saved template", hint: "Such as welcome or welcome@3."),
                    .text("share-\(letter)", "Share in percent", hint: "Empty: equal parts.", type: "number"),
                ], isFolding: place > 0)
        }
        form.lastGroups = [
            FieldGroup(
                "When",
                [
                    .time("send_at", "Send at", hint: "Empty: as it is started."),
                    .text(
                        "hold_out", "Hold out, in percent", hint: "This part gets nothing, for comparison.",
                        type: "number"),
                    .select(
                        "winner", "The rest gets the best variant", "",
                        [
                            ("", "No: the variants go to all"), ("PT1H", "after an hour"), ("PT4H", "after 4 hours"),
                            ("P1D", "after a day"), ("P2D", "after two days"),
                        ], hint: "The shares then have to add up to less than 100 %."),
                    .select(
                        "winner_by", "The best is", "opened",
                        [("opened", "opened most"), ("received", "received most")]),
                ])
        ]
        return form
    }

    /// The letters of the variants that have a message, in the order in which the plan has them.
    private static func written(_ form: FormData) -> [String] {
        letters.filter { letter in ["title", "body", "template"].contains { !form["\($0)-\(letter)"].isEmpty } }
    }

    /// Names of fields in faults, by those in the form.
    private static func names(_ form: FormData) -> [String: String] {
        var names = [
            "target.where": "where", "target": "where", "test_target.where": "test_where", "test_target": "test_where",
            "message": "body-a", "message.body": "body-a", "message.title": "title-a", "winner.after": "winner",
        ]
        for (place, letter) in written(form).enumerated() {
            names["variants[\(place)].share"] = "share-\(letter)"
            names["variants[\(place)].template"] = "template-\(letter)"
            names["variants[\(place)].message.body"] = "body-\(letter)"
            names["variants[\(place)].message.title"] = "title-\(letter)"
        }
        return names
    }

    private static func members(_ form: FormData) throws(InvalidInput) -> JSONObject {
        var members: JSONObject = [:]
        let labels = form.list("labels")
        if !labels.isEmpty { members["labels"] = .strings(labels) }
        members["target"] =
            form["where"].isEmpty ? .object(["everyone": .bool(true)]) : .object(["where": .string(form["where"])])
        if !form["test_where"].isEmpty { members["test_target"] = .object(["where": .string(form["test_where"])]) }
        if let sendAt = try form.instant("send_at") { members["send_at"] = .string(sendAt.text) }
        if !form["hold_out"].isEmpty { members["hold_out"] = try number("hold_out", form) }
        if !form["winner"].isEmpty {
            members["winner"] = .object(["by": .string(form["winner_by"]), "after": .string(form["winner"])])
        }
        let written = written(form)
        for letter in letters where !written.contains(letter) && !form["share-\(letter)"].isEmpty {
            throw InvalidInput(field: "share-\(letter)", "is of no message: write one, or empty this field")
        }
        var variants: [JSONValue] = []
        for letter in written {
            var variant: JSONObject = [:]
            var message: JSONObject = [:]
            for name in ["title", "body"] where !form["\(name)-\(letter)"].isEmpty {
                message[name] = .string(form["\(name)-\(letter)"])
            }
            if !message.isEmpty { variant["message"] = .object(message) }
            if !form["template-\(letter)"].isEmpty { variant["template"] = .string(form["template-\(letter)"]) }
            variant["name"] = .string(letter.uppercased())
            if !form["share-\(letter)"].isEmpty { variant["share"] = try number("share-\(letter)", form) }
            variants.append(.object(variant))
        }
        guard !variants.isEmpty else { throw InvalidInput(field: "body-a", "is empty: write a message") }
        members["variants"] = .array(variants)
        return members
    }

    private static func number(_ name: String, _ form: FormData) throws(InvalidInput) -> JSONValue {
        guard let number = Int64(form[name]) else { throw InvalidInput(field: name, "has to be a whole number") }
        return .integer(number)
    }

    @Sendable private func create(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let form = Self.newForm(application)
        return try await visit.trying(
            form, names: Self.names(visit.form), on: { try await page(visit, application, $0) }
        ) {
            guard !visit.form["name"].isEmpty else { throw InvalidInput(field: "name", "is empty") }
            let campaign = try await visit.services.all.campaigns.create(
                try Campaign.checked(name: visit.form["name"]), try CampaignPlan(try Self.members(visit.form)),
                of: application, by: visit.author)
            return .redirect(Address.query(Self.address(campaign, application), [("done", "created")]))
        }
    }

    // MARK: One campaign

    private func campaign(_ visit: DashboardRequest, _ application: Application) async throws -> Campaign {
        try await visit.services.store.campaign(named: visit.text("campaign").asName, of: application.key)
            .orMissing("campaign")
    }

    @Sendable private func show(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let campaign = try await campaign(visit, application)
        return .page(try await page(of: campaign, visit, application))
    }

    private func page(
        of campaign: Campaign, _ visit: DashboardRequest, _ application: Application, _ form: Form? = nil
    ) async throws -> PageView {
        let report = try await visit.searching(application) {
            try await visit.services.all.campaigns.report(of: campaign)
        }
        let shown = try await visit.services.all.campaigns.shown(campaign, of: application)
        var page = Self.page(campaign, application, report)
        if visit.may(.send, Permission.Subject(application)) {
            let buttons = Self.buttons(campaign, report, application, visit.author).map { $0.guarded(by: shown.tag) }
            page.sections.insert(Section { ButtonRow(buttons) }, at: 1)
        }
        if !shown.contents.isEmpty {
            page.sections.append(
                Section("Messages", text: "With templates as they are now.") {
                    for (variant, content) in zip(campaign.plan.variants, shown.contents) {
                        Code(variant.name.isEmpty ? "JSON" : variant.name, content.storedText)
                    }
                })
        }
        if visit.may(.change, Permission.Subject(application)) {
            if campaign.state == .draft {
                page.sections.append(Section("Edit") { form ?? Self.planForm(campaign, application, shown.tag) })
            }
            if campaign.state != .running {
                page.sections.append(
                    Section("Delete", text: "Its pushes are kept.", style: .danger) {
                        ButtonRow([
                            Form.button(
                                Self.address(campaign, application, "delete"), "Delete the campaign", isDanger: true)
                        ])
                    })
            }
        }
        return page.saying(
            visit,
            [
                "created": "Created. Nothing is sent before it is started.", "saved": "Saved.", "approved": "Approved.",
                "started": "Started.", "stopped": "Stopped.", "tested": "Sent to the test audience.",
            ])
    }

    private static func page(
        _ campaign: Campaign, _ application: Application, _ report: [CampaignReportLine]
    ) -> PageView {
        PageView(campaign.name, in: application, "Campaigns") {
            Section {
                Facts {
                    Fact("State", badge(campaign.state, isApproved: campaign.approval != nil))
                    Fact(
                        "Labels",
                        .text(campaign.plan.labels.isEmpty ? "none" : campaign.plan.labels.joined(separator: ", ")))
                    Fact("Made by", .text(campaign.maker.name))
                    if campaign.approval != nil || application.deliveryRules.approvesCampaigns {
                        Fact(
                            "Approved by", .text(campaign.approval.map { "\($0.by), \($0.at.minute)" } ?? "nobody yet"))
                    }
                    for fact in audience(campaign) { fact }
                    Fact("Started", .time(campaign.startedAt, none: "not yet"))
                    if campaign.stoppedAt != nil { Fact("Stopped", .time(campaign.stoppedAt)) }
                    if campaign.plan.holdOut > 0 { Fact("Held out", .text("\(campaign.plan.holdOut) %")) }
                    if let winner = campaign.plan.winner {
                        Fact(
                            "Winner",
                            .text(
                                campaign.winner.map { campaign.plan.variants[$0].name }
                                    ?? "\(winner.by.rawValue) most, \(winner.after.words) after the variants"))
                    }
                }
            }
            Section("Report", text: "Rates are of the accepted devices; their 95 % intervals stand beside them.") {
                Table(
                    "Report",
                    [
                        "Variant", "Share", "State", "#Devices", "#Accepted", "#Failed", "#Received", "#Opened",
                        "Opened of accepted",
                    ],
                    report.map { line in row(line, application) }, empty: "")
            }
            Section("Plan") { Code("JSON", JSONValue.object(campaign.plan.members).storedText) }
        }
    }

    private static func audience(_ campaign: Campaign) -> [Fact] {
        guard let body = try? campaign.plan.body(), let request = try? body.pushRequest(or: Push.Content()) else {
            return []
        }
        let words = body.local?.words ?? body.recurrence?.words
        let when = words.map(Value.text) ?? .time(body.sendAt, none: "as it is started")
        return [Fact("To", .text(request.target.words)), Fact("When", when)]
    }

    private static func row(_ line: CampaignReportLine, _ application: Application) -> [[Value]] {
        let figures = line.figures
        let name = line.name.isEmpty ? "all" : line.name
        let state: [Value] =
            line.schedule.map {
                [.link(figures?.schedule.ending?.how.name ?? "waiting", Address.of(application, "schedules", $0.id))]
            }
            ?? [.text("not started")]
        let rate = figures.flatMap { figures in
            figures.interval(of: .opened).map {
                "\(percent(figures.rate(of: .opened))) (\(percent($0.lowerBound)) – \(percent($0.upperBound)))"
            }
        }
        return [
            line.isWinner ? [.text(name), .badge("winner", .good)] : [.text(name)],
            [.text("\(line.share.count) %")], state, [.number(figures?.devices ?? 0)],
            [.number(figures?.accepted ?? 0)], [.number(figures?.failed ?? 0)], [.number(figures?.received ?? 0)],
            [.number(figures?.opened ?? 0)], [.text(rate ?? "–")],
        ]
    }

    private static func percent(_ rate: Double) -> String {
        let tenths = Int((rate * 1_000).rounded())
        return "\(tenths / 10).\(tenths % 10) %"
    }

    private static func buttons(
        _ campaign: Campaign, _ report: [CampaignReportLine], _ application: Application, _ author: AuditAuthor
    ) -> [Form] {
        func button(_ verb: String, _ label: String, isDanger: Bool = false) -> Form {
            Form.button(address(campaign, application, verb), label, isDanger: isDanger)
        }
        var buttons: [Form] = []
        if campaign.plan.testTarget != nil { buttons.append(button("test", "Send to the test audience")) }
        switch campaign.state {
        case .draft:
            // What was approved may have changed since: then a second approval is needed, else it is refused.
            let (isApproved, isNeeded) = (campaign.approval != nil, application.deliveryRules.approvesCampaigns)
            if !isApproved || isNeeded, !CampaignPerson(author).isSame(as: campaign.maker) {
                buttons.append(button("approve", isApproved ? "Approve again" : "Approve"))
            }
            if isApproved || !isNeeded { buttons.append(button("start", "Start")) }
        case .running: buttons.append(button("stop", "Stop it at once", isDanger: true))
        case .stopped:
            guard report.contains(where: { ($0.figures?.pending ?? 0) > 0 }) else { break }
            buttons.append(button("stop", "Cancel what is left", isDanger: true))
        }
        return buttons
    }

    // MARK: Changes

    private func planForm(
        _ campaign: Campaign, _ visit: DashboardRequest, _ application: Application
    ) async throws -> Form {
        let tag = try await visit.services.all.campaigns.shown(campaign, of: application).tag
        return Self.planForm(campaign, application, tag)
    }

    private static func planForm(_ campaign: Campaign, _ application: Application, _ tag: Admin.EntityTag) -> Form {
        Form(
            address(campaign, application), "Save",
            [
                .area(
                    "plan", "Plan", JSONValue.object(campaign.plan.members).storedText,
                    hint: "As the admin API takes it: docs/Campaigns.md.", isMono: true)
            ]
        ).guarded(by: tag)
    }

    @Sendable private func change(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let campaign = try await campaign(visit, application)
        let form = try await planForm(campaign, visit, application)
        return try await visit.trying(form, on: { try await page(of: campaign, visit, application, $0) }) {
            guard case .object(let given) = try JSONValue(json: visit.form.raw("plan").utf8, field: "plan") else {
                throw InvalidInput(field: "plan", "has to be a JSON object")
            }
            for (name, _) in given where !CampaignPlan.fields.contains(name) {
                throw InvalidInput.unknown(name, instead: CampaignPlan.fields)
            }
            // What the text leaves out goes.
            var members = given
            for (name, _) in campaign.plan.members where given[name] == nil { members[name] = .null }
            do {
                _ = try await visit.services.all.campaigns.change(
                    campaign, members, of: application, by: visit.author)
            } catch let error as InvalidInput {
                throw InvalidInput(field: "plan", "has a fault: \(error.field) \(error.problem)")
            }
            return .redirect(Address.query(Self.address(campaign, application), [("done", "saved")]))
        }
    }

    @Sendable private func test(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        try await act(visit, application, "tested") { campaign, service in
            _ = try await visit.searching(application) {
                try await service.test(campaign, of: application, by: visit.author)
            }
        }
    }

    @Sendable private func approve(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        try await act(visit, application, "approved") { campaign, service in
            _ = try await service.approve(campaign, of: application, by: visit.author)
        }
    }

    @Sendable private func start(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let campaign = try await campaign(visit, application)
        let target = try campaign.plan.body().pushRequest(or: Push.Content()).target
        let size = try await visit.searching(application) {
            let draft = try await visit.services.pushes.audience(of: target, for: application.key)
            return try await visit.services.store.size(of: draft, by: .now + .milliseconds(500))
                .reduce(AudienceSize(devices: 0), +)
        }
        let question = visit.question(
            "Start the campaign “\(campaign.name)”?", "Its audience has \(size.words) now.", [], yes: "Start it",
            no: Self.address(campaign, application))
        if let question { return question }
        return try await act(visit, application, "started") { campaign, service in
            _ = try await service.start(campaign, of: application, by: visit.author)
        }
    }

    @Sendable private func stop(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        try await act(visit, application, "stopped") { campaign, service in
            _ = try await service.stop(campaign, of: application, by: visit.author)
        }
    }

    private func act(
        _ visit: DashboardRequest, _ application: Application, _ done: String,
        _ run: (Campaign, CampaignService) async throws -> Void
    ) async throws -> PageAnswer {
        let campaign = try await campaign(visit, application)
        let form = try await planForm(campaign, visit, application)
        // The buttons stand above the plan, which not everybody may edit.
        func refused(_ form: Form) async throws -> PageView {
            var page = try await page(of: campaign, visit, application)
            page.problem = form.problem
            return page
        }
        return try await visit.trying(form, on: refused) {
            try await run(campaign, visit.services.all.campaigns)
            return .redirect(Address.query(Self.address(campaign, application), [("done", done)]))
        }
    }

    @Sendable private func delete(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let campaign = try await campaign(visit, application)
        let question = visit.question(
            "Delete the campaign “\(campaign.name)”?", "Its report is deleted too. Its pushes are kept.", [],
            yes: "Delete the campaign", no: Self.address(campaign, application))
        if let question { return question }
        try await visit.searching(application) {
            try await visit.services.all.campaigns.delete(campaign, of: application, by: visit.author)
        }
        return .redirect(Address.query(Address.of(application, "campaigns"), [("done", "deleted")]))
    }

    private static func address(_ campaign: Campaign, _ application: Application, _ verb: String = "") -> String {
        Address.of(application, "campaigns", campaign.name, verb)
    }
}

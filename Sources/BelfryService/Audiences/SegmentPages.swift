import FoundationEssentials

/// Segments: the list with their sizes, and each with its expression, its sizes over time, its versions and what uses it.
struct SegmentPages {
    let make: RouteMaker

    var routes: [PageRoute] {
        [
            make.application(.get, "segments", .read, list), make.application(.post, "segments", .change, create),
            make.application(.get, "segments/:segment", .read, show),
            make.application(.post, "segments/:segment", .change, update),
            make.application(.post, "segments/:segment/delete", .change, delete),
        ]
    }

    private static let perPage = 50
    /// The days that the chart of a segment covers.
    private static let chartDays = 90
    private static let sampleSize = 5
    /// The platforms whose devices are counted in the head of a page.
    private static let statsMax = 4

    // MARK: The list

    @Sendable private func list(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let names = ["deleted": "Deleted."]
        return .page(try await page(visit, application, Self.newForm(application)).saying(visit, names))
    }

    private func page(_ visit: DashboardRequest, _ application: Application, _ form: Form) async throws -> PageView {
        let store = visit.services.store
        let after = visit.query.raw("after")
        let segments = Array(
            try await store.segments(of: application.key).filter { $0.name > after }.prefix(Self.perPage))
        let sizes = try await store.latestPoints(of: segments.map(\.key))
        let users = try await visit.searching(application) {
            try await visit.services.all.segments.users(ofAll: application.key)
        }
        var page = Self.page(application, segments, sizes, users)
        if segments.count == Self.perPage, let last = segments.last {
            page.sections[0].next = Address.query(
                Address.of(application, "segments"), [("after", last.name)])
        }
        if visit.may(.change, Permission.Subject(application)) {
            page.sections.append(Section("New segment") { form })
        }
        return page
    }

    static func page(
        _ application: Application, _ segments: [Segment], _ sizes: [Key<Segment>: SegmentPoint],
        _ users: [String: [SegmentUser]]
    ) -> PageView {
        PageView(
            "Segments", in: application,
            lead: "Saved audiences for pushes, schedules and other segments. Expressions name one as segment:NAME."
        ) {
            Section {
                Table(
                    "Segments", ["Segment", "Expression", "#Devices", "Counted", "Used by"],
                    segments.map { segment in
                        let size = sizes[segment.key]
                        return [
                            [.link(segment.name, segment.address(in: application))],
                            [.text(segment.expression.text.cut(at: 200))],
                            [.text(size.map { $0.size.number } ?? "–")],
                            [size.map { .text(String($0.day.text.prefix(10))) } ?? .text("not yet")],
                            [.text(words(users[segment.name] ?? []))],
                        ]
                    }, empty: "No segments yet. Save an expression below, and use it by its name.")
            }
        }
    }

    /// Such as `2 segments, 1 schedule`.
    static func words(_ users: [SegmentUser]) -> String {
        let counts = Dictionary(grouping: users, by: \.kind).mapValues(\.count).sorted { $0.key < $1.key }
        return counts.map { "\($0.value) \($0.key)\($0.value == 1 ? "" : "s")" }.joined(separator: ", ")
    }

    // MARK: Forms

    private static func newForm(_ application: Application) -> Form {
        var form = Form(
            Address.of(application, "segments"), "Create",
            [
                .text(
                    "name", "Name", hint: "Up to \(Segment.nameBytesMax) bytes. It cannot be changed later.",
                    isRequired: true),
                expressionField(),
            ])
        form.others = [counting]
        return form
    }

    private static func editForm(_ segment: Segment, _ application: Application) -> Form {
        var form = Form(segment.address(in: application), "Save", [expressionField(segment.expression.text)])
        form.others = [counting]
        return form.guarded(by: "\(segment.key)-\(segment.version)")
    }

    private static func expressionField(_ text: String = "") -> Field {
        .area(
            "where", "Expression", text,
            hint: "All terms have to match. Use or, - for not, and parentheses; docs/Audiences.md lists all terms.",
            isRequired: true, placeholder: "topic:news -topic:sports lang:de version>=5 seen:P30D", isMono: true)
    }

    private static let counting = Form.Submit(name: "action", value: "count", label: "Count")

    /// Counts the devices of the expression in the form, without saving it.
    private func counted(
        _ visit: DashboardRequest, _ application: Application, _ form: Form, on page: (Form) async throws -> PageView
    ) async throws -> PageAnswer {
        let expression = try Self.expression(visit.form)
        let size = try await size(of: expression, visit, application).total
        var form = form
        form.keep(visit.form)
        return .page(try await page(form).saying("\(expression.text) selects \(size.words). It is not saved yet."))
    }

    private static func expression(_ form: FormData) throws(InvalidInput) -> AudienceExpression {
        guard !form["where"].isEmpty else {
            throw InvalidInput(field: "where", "is empty: which devices does it select?")
        }
        return try AudienceExpression(text: form["where"], field: "where")
    }

    private static let names = ["target.where": "where"]

    @Sendable private func create(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let form = Self.newForm(application)
        return try await visit.trying(form, names: Self.names, on: { try await page(visit, application, $0) }) {
            if visit.form["action"] == "count" {
                return try await counted(visit, application, form) { try await page(visit, application, $0) }
            }
            guard !visit.form["name"].isEmpty else { throw InvalidInput(field: "name", "is empty") }
            let segment = try await visit.services.all.segments.create(
                try Segment.checked(name: visit.form["name"]), try Self.expression(visit.form), of: application,
                by: visit.author)
            return .redirect(Address.query(segment.address(in: application), [("done", "created")]))
        }
    }

    // MARK: One segment

    private func segment(_ visit: DashboardRequest, _ application: Application) async throws -> Segment {
        try await visit.services.store.segment(named: visit.text("segment").asName, of: application.key)
            .orMissing("segment")
    }

    @Sendable private func show(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let segment = try await segment(visit, application)
        let page = try await page(of: segment, visit, application, Self.editForm(segment, application))
        return .page(page.saying(visit, ["created": "Created.", "saved": "Saved."]))
    }

    private func page(
        of segment: Segment, _ visit: DashboardRequest, _ application: Application, _ form: Form
    ) async throws -> PageView {
        let store = visit.services.store
        let users = try await visit.searching(application) {
            try await visit.services.all.segments.users(of: segment.name, application.key)
        }
        let sizes = try await sizes(of: segment.expression, visit, application)
        var page = Self.page(
            segment, application, users, try await store.points(of: segment.key, limit: Self.chartDays),
            try await store.versions(of: segment.key), sizes)
        if visit.may(.send, Permission.Subject(application)) {
            page.actions = [
                Link("Send to it", Address.query(Address.of(application, "compose"), [("segment", segment.name)]))
            ]
        }
        if visit.may(.change, Permission.Subject(application)) {
            page.sections.append(Section("Edit") { form })
            page.sections.append(
                Section(
                    "Delete", text: users.isEmpty ? "" : "Remove it from everything that uses it first.",
                    style: .danger
                ) { if users.isEmpty { ButtonRow([Self.deleteForm(segment, application)]) } })
        }
        return page
    }

    /// The size of an audience now, by platform, and some of its devices.
    struct Sizes: Sendable {
        var byPlatform: [(platform: Platform, size: AudienceSize)] = []
        var sample: [SampledDevice] = []
        /// Why there are none.
        var problem: String?

        var total: AudienceSize { byPlatform.reduce(AudienceSize(devices: 0)) { $0 + $1.size } }
    }

    private func size(
        of expression: AudienceExpression, _ visit: DashboardRequest, _ application: Application, sample: Int = 0
    ) async throws -> Sizes {
        let store = visit.services.store
        let draft = try await visit.services.pushes.audience(of: Target(expression), for: application.key)
        return try await visit.searching(application) {
            let sizes = try await store.size(of: draft, by: .now + .milliseconds(500))
            return Sizes(
                byPlatform: Array(zip(draft.platforms, sizes)).map { ($0, $1) },
                sample: sample > 0 ? try await store.sample(of: draft, atMost: sample) : [])
        }
    }

    /// The sizes have a problem in their place where the expression names a segment that there is not any more, for one.
    private func sizes(
        of expression: AudienceExpression, _ visit: DashboardRequest, _ application: Application
    ) async throws -> Sizes {
        do {
            return try await size(of: expression, visit, application, sample: Self.sampleSize)
        } catch let error as InvalidInput {
            return Sizes(problem: error.problem)
        }
    }

    static func page(
        _ segment: Segment, _ application: Application, _ users: [SegmentUser], _ points: [SegmentPoint],
        _ versions: [Segment.Earlier], _ sizes: Sizes
    ) -> PageView {
        var page = PageView(segment.name, in: application, "Segments")
        if let problem = sizes.problem {
            page.problem = "It \(problem)."
        } else {
            page.stats = [Stat("Devices now", sizes.total.number, detail: sizes.total.detail)]
            let largest = sizes.byPlatform.filter { $0.size.devices > 0 }.sorted { $0.size.devices > $1.size.devices }
            page.stats += largest.prefix(statsMax).map { Stat($0.platform.name, $0.size.number) }
        }
        page.sections = [
            Section { Code("Expression", segment.expression.text) },
            Section {
                Facts {
                    Fact("Version", .number(Int(segment.version)))
                    Fact("Created", .time(segment.createdAt))
                    Fact("Changed", .time(segment.updatedAt))
                }
            },
            chart(points), sample(sizes.sample, application), usedBy(users, application), earlier(versions),
        ]
        return page
    }

    private static func chart(_ points: [SegmentPoint]) -> Section {
        Section("Size", text: points.isEmpty ? "Counted once a day, and not yet so far." : "Counted once a day.") {
            if !points.isEmpty {
                Chart(
                    "Devices on each day", series: ["devices"],
                    points.reversed().map { Chart.Column(String($0.day.text.prefix(10)), [$0.size.devices]) })
            }
        }
    }

    private static func sample(_ devices: [SampledDevice], _ application: Application) -> Section {
        Section("Some of its devices") {
            Table(
                "Some of its devices", ["Device", "Platform", "User", "System", "Last seen"],
                devices.map { found in
                    let device = found.device
                    return [
                        [.link(device.label, Address.of(application, "devices", device.uuid.lowercased))],
                        [.text(found.platform.name)], [.text(device.customUserID ?? "")],
                        [.text([device.about.os, device.about.osVersion].compactMap(\.self).joined(separator: " "))],
                        [.time(device.lastSeenAt)],
                    ]
                }, empty: "No devices match now.")
        }
    }

    private static func usedBy(_ users: [SegmentUser], _ application: Application) -> Section {
        Section("Used by") {
            Table(
                "Used by", ["What", "Name"], users.map { [[.text($0.kind)], [$0.link(in: application)]] },
                empty: "Not used yet.")
        }
    }

    private static func earlier(_ versions: [Segment.Earlier]) -> Section {
        Section("Earlier versions") {
            Table(
                "Earlier versions", ["#Version", "Expression", "Until"],
                versions.map { version in
                    [
                        [.number(Int(version.version))], [.text(version.contents.text.cut(at: 1_000))],
                        [.time(version.replacedAt)],
                    ]
                }, empty: "No earlier versions.")
        }
    }

    @Sendable private func update(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let segment = try await segment(visit, application)
        let form = Self.editForm(segment, application)
        func changing(_ form: Form) async throws -> PageView {
            try await page(of: segment, visit, application, form)
        }
        return try await visit.trying(form, names: Self.names, on: changing) {
            if visit.form["action"] == "count" { return try await counted(visit, application, form, on: changing) }
            _ = try await visit.services.all.segments.change(
                segment.name, of: application, to: try Self.expression(visit.form), by: visit.author)
            return .redirect(Address.query(segment.address(in: application), [("done", "saved")]))
        }
    }

    private static func deleteForm(_ segment: Segment, _ application: Application) -> Form {
        .button(Address.of(application, "segments", segment.name, "delete"), "Delete the segment", isDanger: true)
    }

    @Sendable private func delete(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let segment = try await segment(visit, application)
        let service = visit.services.all.segments
        let isUsed = try await visit.searching(application) {
            try await !service.users(of: segment.name, application.key).isEmpty
        }
        if !isUsed,
            let question = visit.question(
                "Delete the segment “\(segment.name)”?", "Its versions and its daily sizes are deleted too.",
                [Fact("Expression", .code(segment.expression.text))], yes: "Delete the segment",
                no: segment.address(in: application))
        {
            return question
        }
        do {
            try await visit.searching(application) {
                try await service.delete(segment.name, of: application, by: visit.author)
            }
        } catch StoreError.conflict(let words) {
            var page = try await page(of: segment, visit, application, Self.editForm(segment, application))
            page.problem = "It was not deleted: \(words)."
            return .invalid(page)
        }
        return .redirect(Address.query(Address.of(application, "segments"), [("done", "deleted")]))
    }
}

extension Segment {
    func address(in application: Application) -> String { Address.of(application, "segments", name) }
}

extension SegmentUser {
    fileprivate func link(in application: Application) -> Value {
        switch self {
        case .segment(let segment): .link(segment.name, segment.address(in: application))
        case .schedule(let schedule):
            .link(schedule.pushRequest.content.summary, schedule.address(in: application))
        case .campaign(let name): .link(name, Address.of(application, "campaigns", name))
        }
    }
}

extension AudienceSize {
    fileprivate var number: String { (margin == nil ? "" : "about ") + devices.grouped }

    fileprivate var detail: String { margin.map { "± \($0.grouped)" } ?? "" }

    var words: String {
        "\(number) \(devices == 1 ? "device" : "devices")" + (margin == nil ? "" : " (\(detail))")
    }
}

extension String {
    fileprivate func cut(at length: Int) -> String { count > length ? prefix(length) + "…" : self }
}

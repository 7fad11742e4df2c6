import BelfryAPI
import BelfryService
import FoundationEssentials

/// Platforms: the list, a new one of each provider, its credentials, test, park and resume.
struct PlatformPages {
    let make: RouteMaker

    var routes: [PageRoute] {
        [
            make.application(.get, "platforms", .read, list), make.application(.get, "platforms/new", .change, new),
            make.application(.post, "platforms/new", .change, create).taking(bytes: 2 << 20),
            make.platform(.get, "", .read, show), make.platform(.post, "", .change, edit),
            make.platform(.post, "/credentials", .change, replace).taking(bytes: 2 << 20),
            make.platform(.post, "/web", .change, setWebAccess),
            make.platform(.post, "/test", .change, test), make.platform(.post, "/park", .change, park),
            make.platform(.post, "/resume", .change, resume), make.platform(.post, "/delete", .change, delete),
        ]
    }

    @Sendable private func list(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let platforms = try await visit.services.store.platforms(of: application.key)
        var counts: [Key<Platform>: Int] = [:]
        try await visit.searching(application) {
            for platform in platforms {
                counts[platform.key] = try await visit.services.store.deviceCount(on: platform.key)
            }
        }
        let mayChange = visit.may(.change, Permission.Subject(application))
        return .page(Self.page(application, platforms, counts, mayChange: mayChange))
    }

    static func page(
        _ application: Application, _ platforms: [Platform], _ counts: [Key<Platform>: Int], mayChange: Bool
    ) -> PageView {
        var page = PageView(
            "Platforms", lead: "One set of provider credentials each, and the devices reached with them.")
        page.crumbs = [Link(application.name, Address.of(application))]
        let new = Link("Add a platform", Address.of(application, "platforms", "new"), isMain: true)
        if mayChange { page.actions = [new] }
        var section = Section()
        section.table = Table(
            "Platforms", ["Name", "Type", "Mode", "State", "#Devices", "UUID"],
            platforms.map { platform in
                [
                    [.link(platform.name, Address.of(application, "platforms", platform.uuid.lowercased))],
                    [.text(platform.kind.title)], [.text(platform.kind.hasModes ? platform.mode.rawValue : "—")],
                    [state(platform)],
                    [.number(counts[platform.key] ?? 0)], [.code(platform.uuid.lowercased)],
                ]
            }, empty: "This application has no platform yet, so it reaches no device.", emptyLink: mayChange ? new : nil
        )
        page.sections = [section]
        return page
    }

    static func state(_ platform: Platform) -> Value {
        guard let parked = platform.parked else {
            return platform.parkedServices.isEmpty ? .badge("sending", .good) : .badge("partly parked", .warn)
        }
        return .badge("parked", parked.cause == .operator ? .warn : .bad)
    }

    // MARK: A new one

    @Sendable private func new(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        guard let kind = PlatformKind(rawValue: visit.query["type"]) else { return .page(Self.choice(application)) }
        return .page(Self.newPage(application, kind, Self.newForm(application, kind)))
    }

    static func choice(_ application: Application) -> PageView {
        var page = PageView("Add a platform", lead: "Which service carries pushes to your devices?")
        page.crumbs = [
            Link(application.name, Address.of(application)), Link("Platforms", Address.of(application, "platforms")),
        ]
        var section = Section()
        section.table = Table(
            "Providers", ["Service", "What you need"],
            CredentialFields.kinds.map { kind in
                let address = Address.query(Address.of(application, "platforms", "new"), [("type", kind.rawValue)])
                return [[.link(kind.title, address)], [.text(CredentialFields.explanation(of: kind))]]
            }, empty: "")
        page.sections = [section]
        return page
    }

    private static func newForm(_ application: Application, _ kind: PlatformKind) -> Form {
        var fields: [Field] = [.text("name", "Name", kind.title, isRequired: true)]
        if kind.hasModes { fields.append(modeField("production")) }
        var form = Form(
            Address.of(application, "platforms", "new"), "Add the platform",
            fields + CredentialFields.fields(of: kind) + CredentialFields.rareFields(of: kind))
        form.hidden = [.init(name: "type", value: kind.rawValue)]
        form.isMultipart = true
        return form
    }

    private static func modeField(_ value: String) -> Field {
        .select(
            "mode", "Environment", value, [("production", "Production"), ("development", "Development (sandbox)")],
            hint: "Apps from Xcode register in development, apps from TestFlight and the store in production.")
    }

    static func newPage(_ application: Application, _ kind: PlatformKind, _ form: Form) -> PageView {
        var page = PageView("Add \(kind.title)", lead: CredentialFields.explanation(of: kind))
        page.crumbs = [
            Link(application.name, Address.of(application)), Link("Platforms", Address.of(application, "platforms")),
            Link("Add", Address.of(application, "platforms", "new")),
        ]
        var section = Section()
        section.form = form
        page.sections = [section]
        return page
    }

    @Sendable private func create(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let kind = try PlatformKind(visit.form["type"], field: "type")
        return try await visit.trying(
            Self.newForm(application, kind), on: { Self.newPage(application, kind, $0) }
        ) {
            let created = try await visit.services.admin.createPlatform(
                of: application, kind: kind, mode: kind.hasModes ? Platform.Mode(rawValue: visit.form["mode"]) : nil,
                name: try Name(visit.form["name"]), credentials: CredentialFields.entered(visit.form, of: kind),
                by: visit.author)
            return .outcome(
                Self.created(created, of: application, published: created.platform.facts?.published ?? [:]))
        }
    }

    static func created(_ created: CreatedPlatform, of application: Application, published: [String: String])
        -> PageView
    {
        var page = PageView(created.platform.name)
        page.notice = "The platform is added."
        page.crumbs = [
            Link(application.name, Address.of(application)), Link("Platforms", Address.of(application, "platforms")),
        ]
        var section = Section(
            "For your app, shown this once",
            text: "Devices register with these two. Only a hash of the secret is kept here.")
        section.isSecret = true
        section.facts =
            [
                Fact("Platform UUID", .code(created.platform.uuid.lowercased)),
                Fact("Platform secret", .code(created.secret)),
            ] + published.sorted { $0.key < $1.key }.map { Fact($0.key.replacing("_", with: " "), .code($0.value)) }
        let address = Address.of(application, "platforms", created.platform.uuid.lowercased)
        section.links = [
            Link("Next: register a device", Address.of(application, "setup"), isMain: true),
            Link("The platform", address),
        ]
        page.sections = [section]
        return page
    }

    // MARK: One platform

    @Sendable private func show(
        _ visit: DashboardRequest, _ platform: Platform, _ application: Application
    ) async throws -> PageAnswer {
        var page = try await page(visit, platform, application)
        switch visit.query["done"] {
        case "saved": page.notice = "Saved."
        case "replaced": page.notice = "The credentials are replaced. Test them before you rely on them."
        case "parked": page.notice = "Parked: pushes wait until you resume."
        case "resumed": page.notice = "Resumed: what waited is sent now."
        default: break
        }
        return .page(page)
    }

    func page(
        _ visit: DashboardRequest, _ platform: Platform, _ application: Application, edit: Form? = nil,
        replace: Form? = nil,
        delete: Form? = nil, web: Form? = nil
    ) async throws -> PageView {
        let store = visit.services.store
        let devices = try await store.deviceCount(on: platform.key)
        let inactive = try await store.inactiveDeviceCount(on: platform.key)
        let unseen = platform.hasImports ? try await store.unseenDeviceCount(on: [platform.key]) : 0
        let mayChange = visit.may(.change, Permission.Subject(application))
        var page = Self.page(
            platform, application, devices: devices, inactive: inactive, unseen: unseen,
            expiry: platform.facts?.expiresAt, published: platform.facts?.published ?? [:], mayChange: mayChange,
            edit: edit ?? Self.editForm(platform, application),
            replace: replace ?? Self.replaceForm(platform, application),
            delete: delete ?? Self.deleteForm(platform, application))
        if platform.kind == .web {
            let form = mayChange ? web ?? Self.webForm(platform, application) : nil
            let server = visit.services.options.hasTestPage ? visit.serverURL : nil
            let section = Self.webPages(of: platform, form: form, server: server)
            page.sections.insert(section, at: 1)
        }
        return page
    }

    static func page(
        _ platform: Platform, _ application: Application, devices: Int, inactive: Int?, unseen: Int, expiry: Instant?,
        published: [String: String], mayChange: Bool, edit: Form, replace: Form, delete: Form
    ) -> PageView {
        var page = PageView(platform.name, lead: platform.description)
        page.crumbs = [
            Link(application.name, Address.of(application)), Link("Platforms", Address.of(application, "platforms")),
        ]
        var facts = Section()
        facts.facts = [
            Fact("Type", .text(platform.kind.title)),
            Fact("State", [state(platform)] + (platform.parked.map { [.text($0.detail), .time($0.since)] } ?? [])),
        ]
        if let probe = platform.parked?.probe { facts.facts.append(Fact("Next probe", .time(probe.at))) }
        for service in platform.parkedServices {
            facts.facts.append(
                Fact(
                    "Parked service", .code(service.origin), .text(service.parking.detail), .time(service.parking.since)
                ))
            if let probe = service.parking.probe { facts.facts.append(Fact("Next probe", .time(probe.at))) }
        }
        facts.facts += [
            Fact("UUID", .code(platform.uuid.lowercased)),
            Fact(
                "Devices",
                .link(
                    Self.words(devices, inactive: inactive),
                    Address.query(Address.of(application, "devices"), [("platform", platform.uuid.lowercased)]))),
        ]
        if platform.kind.hasModes { facts.facts.insert(Fact("Environment", .text(platform.mode.rawValue)), at: 1) }
        if unseen > 0 { facts.facts.append(Fact("Imported, not seen yet", .number(unseen))) }
        if let expiry { facts.facts.append(Fact("Credentials end", .time(expiry))) }
        facts.facts += published.sorted { $0.key < $1.key }.map {
            Fact($0.key.replacing("_", with: " "), .code($0.value))
        }
        page.sections = [facts]
        guard mayChange else { return page }
        let base = Address.of(application, "platforms", platform.uuid.lowercased)
        page.sections[0].buttons = [.button("\(base)/test", "Test the credentials")]
        if !platform.parkedServices.isEmpty, platform.parked == nil {
            page.sections[0].buttons.append(.button("\(base)/resume", "Try the services again"))
        }
        if platform.parked == nil {
            var park = Form("\(base)/park", "Park", [.text("reason", "Reason", "")])
            park.isInline = true
            page.sections[0].buttons.append(park)
        } else {
            page.sections[0].buttons.append(.button("\(base)/resume", "Resume"))
        }
        var (editing, replacing, danger) = (
            Section("Name and environment"),
            Section(
                "Replace the credentials",
                text: CredentialFields.explanation(of: platform.kind)
                    + " What is left empty and is no secret stays as it is."),
            Section("Delete the platform", text: "Its \(devices.grouped) devices, inactive ones included, go with it.")
        )
        (editing.form, replacing.form, danger.form, danger.isDanger) = (edit, replace, delete, true)
        page.sections +=
            CredentialFields.fields(of: platform.kind).isEmpty ? [editing, danger] : [replacing, editing, danger]
        return page
    }

    /// The active devices of all; of very many inactive ones the number is not known.
    private static func words(_ devices: Int, inactive: Int?) -> String {
        guard let inactive else { return "\(devices.grouped), inactive ones included" }
        return inactive == 0 ? devices.grouped : "\((devices - inactive).grouped) active of \(devices.grouped)"
    }

    private static func editForm(_ platform: Platform, _ application: Application) -> Form {
        var fields: [Field] = [
            .text("name", "Name", platform.name, isRequired: true),
            .text("description", "Description", platform.description),
        ]
        if platform.kind.hasModes { fields.append(modeField(platform.mode.rawValue)) }
        return Form(Address.of(application, "platforms", platform.uuid.lowercased), "Save", fields).guarded
    }

    private static func replaceForm(_ platform: Platform, _ application: Application) -> Form {
        var form = Form(
            Address.of(application, "platforms", platform.uuid.lowercased, "credentials"), "Replace",
            CredentialFields.fields(of: platform.kind) + CredentialFields.rareFields(of: platform.kind))
        form.isMultipart = true
        return form
    }

    private static func deleteForm(_ platform: Platform, _ application: Application) -> Form {
        var form = Form(
            Address.of(application, "platforms", platform.uuid.lowercased, "delete"), "Delete for ever",
            [.text("confirm", "Type the name of the platform", hint: platform.name, isRequired: true)])
        form.isDanger = true
        return form
    }

    // MARK: Changes

    static func done(_ platform: Platform, _ application: Application, _ what: String) -> PageAnswer {
        .redirect(Address.query(Address.of(application, "platforms", platform.uuid.lowercased), [("done", what)]))
    }

    @Sendable private func edit(
        _ visit: DashboardRequest, _ platform: Platform, _ application: Application
    ) async throws -> PageAnswer {
        try await visit.trying(
            Self.editForm(platform, application), on: { try await page(visit, platform, application, edit: $0) }
        ) {
            let edit = PlatformEdit(
                name: try Name(visit.form["name"]), description: try Description(visit.form["description"]),
                mode: platform.kind.hasModes ? Platform.Mode(rawValue: visit.form["mode"]) : nil)
            try await visit.services.admin.edit(platform, of: application, edit, by: visit.author)
            return Self.done(platform, application, "saved")
        }
    }

    @Sendable private func replace(
        _ visit: DashboardRequest, _ platform: Platform, _ application: Application
    ) async throws -> PageAnswer {
        try await visit.trying(
            Self.replaceForm(platform, application), on: { try await page(visit, platform, application, replace: $0) }
        ) {
            try await visit.services.admin.replaceCredentials(
                of: platform, of: application, with: CredentialFields.entered(visit.form, of: platform.kind),
                by: visit.author)
            return Self.done(platform, application, "replaced")
        }
    }

    @Sendable private func test(
        _ visit: DashboardRequest, _ platform: Platform, _ application: Application
    ) async throws -> PageAnswer {
        let result = try await visit.services.shares.holding(.tests, for: visit.holder(application)) {
            try await visit.services.admin.testCredentials(of: platform, of: application, by: visit.author)
        }
        var page = try await page(visit, platform, application)
        switch result {
        case .works: page.notice = "The provider accepts the credentials."
        case .refused(let words): page.problem = "The provider refuses the credentials: \(words)"
        case .unknown(let words): page.problem = "No verdict: \(words)"
        }
        return .outcome(page)
    }

    @Sendable private func park(
        _ visit: DashboardRequest, _ platform: Platform, _ application: Application
    ) async throws -> PageAnswer {
        let reason =
            visit.form["reason"].isEmpty ? "parked by hand" : try Name(visit.form["reason"], field: "reason").text
        try await visit.services.admin.park(platform, of: application, because: reason, by: visit.author)
        return Self.done(platform, application, "parked")
    }

    @Sendable private func resume(
        _ visit: DashboardRequest, _ platform: Platform, _ application: Application
    ) async throws -> PageAnswer {
        try await visit.services.admin.resume(platform, of: application, by: visit.author)
        return Self.done(platform, application, "resumed")
    }

    @Sendable private func delete(
        _ visit: DashboardRequest, _ platform: Platform, _ application: Application
    ) async throws -> PageAnswer {
        try await visit.trying(
            Self.deleteForm(platform, application), on: { try await page(visit, platform, application, delete: $0) }
        ) {
            guard visit.form["confirm"] == platform.name.trimmed else {
                throw InvalidInput(field: "confirm", "has to be the name: \(platform.name)")
            }
            try await visit.services.admin.delete(platform, of: application, force: true, by: visit.author)
            return .redirect(Address.of(application, "platforms"))
        }
    }
}

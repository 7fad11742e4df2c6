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
        var (counts, inactive): ([Key<Platform>: Int], [Key<Platform>: Int]) = ([:], [:])
        try await visit.searching(application) {
            for platform in platforms {
                counts[platform.key] = try await visit.services.store.deviceCount(on: platform.key)
                inactive[platform.key] = try await visit.services.store.inactiveDeviceCount(on: platform.key)
            }
        }
        let mayChange = visit.may(.change, Permission.Subject(application))
        return .page(Self.page(application, platforms, counts, inactive: inactive, mayChange: mayChange))
    }

    static func page(
        _ application: Application, _ platforms: [Platform], _ counts: [Key<Platform>: Int],
        inactive: [Key<Platform>: Int],
        mayChange: Bool
    ) -> PageView {
        let new = Link("Add a platform", Address.of(application, "platforms", "new"), isMain: true)
        var page = PageView(
            "Platforms", in: application,
            lead: "Each has the credentials of one push service, and the devices that it reaches."
        ) {
            Section {
                Table(
                    "Platforms", ["Name", "Type", "Mode", "State", "#Devices", "#Active", "UUID"],
                    platforms.map { platform in
                        [
                            [.link(platform.name, Address.of(application, "platforms", platform.uuid.lowercased))],
                            [.text(platform.kind.title)],
                            [.text(platform.kind.hasModes ? platform.mode.rawValue : "—")],
                            [state(platform)],
                            [.number(counts[platform.key] ?? 0)],
                            [inactive[platform.key].map { .number((counts[platform.key] ?? 0) - $0) } ?? .text("—")],
                            [.code(platform.uuid.lowercased)],
                        ]
                    }, empty: "No platforms yet. Add one to reach devices.",
                    emptyLink: mayChange ? new : nil
                )
            }
        }
        if mayChange { page.actions = [new] }
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
        PageView(
            "Add a platform", in: application, "Platforms", lead: "Which service carries pushes to your devices?"
        ) {
            Section {
                gallery("Providers", PlatformKind.offeredFirst, application)
                Tag("details", ["class": "group"]) {
                    Tag("summary", PlatformKind.offeredLater.map(\.title).joined(separator: ", "))
                    gallery("Other providers", PlatformKind.offeredLater, application)
                }
            }
        }
    }

    private static func gallery(_ caption: String, _ kinds: [PlatformKind], _ application: Application) -> Table {
        Table(
            caption, ["Service", "What you need"],
            kinds.map { kind in
                let address = Address.query(Address.of(application, "platforms", "new"), [("type", kind.rawValue)])
                return [[.link(kind.title, address)], [.text(CredentialFields.explanation(of: kind))]]
            }, empty: "")
    }

    private static func newForm(_ application: Application, _ kind: PlatformKind) -> Form {
        var fields: [Field] = [.text("name", "Name", kind.title, isRequired: true)]
        if kind.hasModes { fields.append(modeField("production")) }
        return Form(
            Address.of(application, "platforms", "new"), "Add the platform",
            fields + CredentialFields.fields(of: kind) + CredentialFields.rareFields(of: kind),
            hidden: [.init(name: "type", value: kind.rawValue)], isMultipart: true)
    }

    private static func modeField(_ value: String) -> Field {
        .select(
            "mode", "Environment", value, [("production", "Production"), ("development", "Development (sandbox)")],
            hint: "Apps from Xcode register in development, apps from TestFlight and the store in production.")
    }

    static func newPage(_ application: Application, _ kind: PlatformKind, _ form: Form) -> PageView {
        var page = PageView("Add \(kind.title)", lead: CredentialFields.explanation(of: kind)) {
            Section { form }
        }
        page.crumbs = [
            Link(application.name, Address.of(application)), Link("Platforms", Address.of(application, "platforms")),
            Link("Add", Address.of(application, "platforms", "new")),
        ]
        return page
    }

    @Sendable private func create(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let kind = try PlatformKind(visit.form["type"], field: "type")
        return try await visit.trying(
            Self.newForm(application, kind), names: CredentialFields.names(of: kind),
            on: { Self.newPage(application, kind, $0) }
        ) {
            let created = try await visit.services.admin.createPlatform(
                of: application, kind: kind, mode: kind.hasModes ? Platform.Mode(rawValue: visit.form["mode"]) : nil,
                name: try Name(visit.form["name"]), credentials: CredentialFields.entered(visit.form, of: kind),
                by: visit.author)
            let page = Self.created(created, of: application, published: created.platform.facts?.published ?? [:])
            return .outcome(
                page.saying(try await verdict(visit, created.platform, application), after: "The platform is added."))
        }
    }

    /// The provider's verdict on credentials that were just stored. They stay stored whatever it is.
    private func verdict(
        _ visit: DashboardRequest, _ platform: Platform, _ application: Application
    ) async throws -> CredentialsTest {
        do {
            return try await visit.services.shares.holding(.tests, for: visit.holder(application)) {
                try await visit.services.admin.testCredentials(of: platform, of: application, by: visit.author)
            }
        } catch  where !(error is CancellationError) {
            return .unknown(APIError(cause: error).message)
        }
    }

    static func created(_ created: CreatedPlatform, of application: Application, published: [String: String])
        -> PageView
    {
        let address = Address.of(application, "platforms", created.platform.uuid.lowercased)
        return PageView(created.platform.name, in: application, "Platforms") {
            Section(
                "For your app, shown only once",
                text: "Devices register with these two. Copy the secret now: the server keeps only a hash.",
                style: .secret
            ) {
                Facts {
                    Fact("Platform UUID", .code(created.platform.uuid.lowercased))
                    Fact("Platform secret", .code(created.secret))
                    facts(published)
                }
                ButtonRow([
                    Link("Next: register a device", Address.of(application, "setup"), isMain: true),
                    Link("The platform", address),
                ])
            }
        }
    }

    /// Parts of credentials that apps and pages may know.
    private static func facts(_ published: [String: String]) -> [Fact] {
        published.sorted { $0.key < $1.key }.map { Fact($0.key.replacing("_", with: " "), .code($0.value)) }
    }

    // MARK: One platform

    @Sendable private func show(
        _ visit: DashboardRequest, _ platform: Platform, _ application: Application
    ) async throws -> PageAnswer {
        .page(
            try await page(visit, platform, application).saying(
                visit,
                [
                    "saved": "Saved.",
                    "parked": "Parked: pushes wait until you resume.", "resumed": "Resumed: what waited is sent now.",
                ]))
    }

    func page(
        _ visit: DashboardRequest, _ platform: Platform, _ application: Application, edit: Form? = nil,
        replace: Form? = nil,
        delete: Form? = nil, web: Form? = nil
    ) async throws -> PageView {
        let store = visit.services.store
        let devices = try await store.deviceCount(on: platform.key)
        let inactive = try await store.inactiveDeviceCount(on: platform.key)
        let unseen = platform.hasImports ? try await store.unseenDeviceCount(on: platform.key) : 0
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
            page.sections.insert(Self.webPages(of: platform, form: form, server: server), at: 1)
        }
        return page
    }

    static func page(
        _ platform: Platform, _ application: Application, devices: Int, inactive: Int?, unseen: Int, expiry: Instant?,
        published: [String: String], mayChange: Bool, edit: Form, replace: Form, delete: Form
    ) -> PageView {
        let base = Address.of(application, "platforms", platform.uuid.lowercased)
        let devicesAddress = Address.query(
            Address.of(application, "devices"), [("platform", platform.uuid.lowercased)])
        var page = PageView(platform.name, in: application, "Platforms", lead: platform.description) {
            Section {
                Facts {
                    Fact("Type", .text(platform.kind.title))
                    if platform.kind.hasModes { Fact("Environment", .text(platform.mode.rawValue)) }
                    Fact(
                        "State",
                        [state(platform)] + (platform.parked.map { [.text($0.detail), .time($0.since)] } ?? []))
                    if let probe = platform.parked?.probe { Fact("Next probe", .time(probe.at)) }
                    for service in platform.parkedServices {
                        let parking = service.parking
                        Fact("Parked service", .code(service.origin), .text(parking.detail), .time(parking.since))
                        if let probe = parking.probe { Fact("Next probe", .time(probe.at)) }
                    }
                    Fact("UUID", .code(platform.uuid.lowercased))
                    Fact("Devices", .link(Self.words(devices, inactive: inactive), devicesAddress))
                    if unseen > 0 {
                        Fact("Imported, not seen yet", .text(unseen.counted(to: Device.unseenCountMax)))
                    }
                    if let expiry { Fact("Credentials end", .time(expiry)) }
                    Self.facts(published)
                }
                if platform.kind == .apple(.broadcast) { ButtonRow([Link("Channels", "\(base)/channels")]) }
                if mayChange { ButtonRow(buttons(platform, base)) }
            }
        }
        guard mayChange else { return page }
        if !CredentialFields.fields(of: platform.kind).isEmpty {
            page.sections.append(
                Section(
                    "Replace the credentials",
                    text: CredentialFields.explanation(of: platform.kind)
                        + " Other fields keep their values when left empty."
                ) { replace })
        }
        page.sections += [
            Section("Name and environment") { edit },
            Section(
                "Delete the platform",
                text: "Its devices (\(devices.grouped), inactive ones included) are deleted too.",
                style: .danger
            ) { delete },
        ]
        return page
    }

    private static func buttons(_ platform: Platform, _ base: String) -> [Form] {
        var buttons: [Form] = [.button("\(base)/test", "Test the credentials")]
        if !platform.parkedServices.isEmpty, platform.parked == nil {
            buttons.append(.button("\(base)/resume", "Try the services again"))
        }
        guard platform.parked == nil else { return buttons + [.button("\(base)/resume", "Resume")] }
        var park = Form("\(base)/park", "Park", [.text("reason", "Reason", "")])
        park.layout = .inline
        return buttons + [park]
    }

    /// The active devices of all; of very many inactive ones the number is not known.
    private static func words(_ devices: Int, inactive: Int?) -> String {
        guard let inactive else { return "\(devices.grouped), inactive included" }
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
        Form(
            Address.of(application, "platforms", platform.uuid.lowercased, "credentials"), "Replace",
            CredentialFields.fields(of: platform.kind) + CredentialFields.rareFields(of: platform.kind),
            isMultipart: true)
    }

    private static func deleteForm(_ platform: Platform, _ application: Application) -> Form {
        Form(
            Address.of(application, "platforms", platform.uuid.lowercased, "delete"), "Delete for ever",
            [.text("confirm", "Type the name of the platform", hint: platform.name, isRequired: true)], isDanger: true)
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
            Self.replaceForm(platform, application), names: CredentialFields.names(of: platform.kind),
            on: { try await page(visit, platform, application, replace: $0) }
        ) {
            try await visit.services.admin.replaceCredentials(
                of: platform, of: application, with: CredentialFields.entered(visit.form, of: platform.kind),
                by: visit.author)
            let replaced = try await visit.services.store.platform(platform.key) ?? platform
            let verdict = try await verdict(visit, replaced, application)
            return .outcome(
                try await page(visit, replaced, application).saying(verdict, after: "The credentials are replaced."))
        }
    }

    @Sendable private func test(
        _ visit: DashboardRequest, _ platform: Platform, _ application: Application
    ) async throws -> PageAnswer {
        let result = try await visit.services.shares.holding(.tests, for: visit.holder(application)) {
            try await visit.services.admin.testCredentials(of: platform, of: application, by: visit.author)
        }
        return .outcome(try await page(visit, platform, application).saying(result))
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
            guard visit.form.confirms(platform.name) else {
                throw InvalidInput(field: "confirm", "has to be the name: \(platform.name)")
            }
            try await visit.services.admin.delete(platform, of: application, force: true, by: visit.author)
            return .redirect(Address.of(application, "platforms"))
        }
    }
}

extension PageView {
    /// Shows a provider's verdict on credentials.
    ///
    /// - Parameter done: what was done before it was asked.
    fileprivate func saying(_ verdict: CredentialsTest, after done: String = "") -> PageView {
        var page = saying(done)
        let stored = done.isEmpty ? "" : ". They are stored all the same."
        switch verdict {
        case .works: page.notice = "\(done) The provider accepts the credentials.".trimmed
        case .refused(let words): page.problem = "The provider refuses the credentials: \(words)\(stored)"
        case .unknown(let words) where done.isEmpty: page.problem = "No verdict: \(words)"
        case .unknown(let words): page.notice = "\(done) No verdict: \(words)\(stored)"
        }
        return page
    }
}

/// Web pages that may register browsers: a part of the page of a platform of type web.
extension PlatformPages {
    /// - Parameters:
    ///   - form: nil for a person who may not change the platform.
    ///   - server: the address at which the browser reaches the SDK; nil where the dashboard has a listener of its own.
    static func webPages(of platform: Platform, form: Form?, server: String?) -> Section {
        guard let access = platform.webAccess else {
            return Section(
                "Web pages",
                text:
                    "No site may register browsers yet. List the sites that may, and you get a registration key for them."
            ) { form }
        }
        let testPage = "/sdk/web/v1/test#\(access.key.text)"
        return Section(
            "Web pages", text: "Pages of these sites may register browsers by a key, which is no secret."
        ) {
            Facts {
                Fact("Registration key", .code(access.key.text))
                if form == nil {
                    Fact("Sites", .text(access.origins.map(\.text).joined(separator: " ")))
                    Fact("Proof", .text(access.provesRegistrations ? "required" : "not required"))
                }
                if server == nil { Fact("Test page, at the server's own address", .code(testPage)) }
            }
            Code(
                "For a page, and for its service worker",
                lines(for: access.key, at: server ?? "https://push.example.com"))
            form
            if server != nil { ButtonRow([Link("Try it in this browser", testPage, isMain: true)]) }
        }
    }

    private static func lines(for key: RegistrationKey, at server: String) -> String {
        """
        <script type="module">
          import { Belfry } from "\(server)/sdk/web/v1/belfry.js"
          const belfry = new Belfry({ server: "\(server)", platform: "\(key.text)" })
          button.onclick = () => belfry.subscribe({ topics: ["news"] })
        </script>

        // /belfry-worker.js at the root of the site
        importScripts("\(server)/sdk/web/v1/belfry-worker.js")
        """
    }

    static func webForm(_ platform: Platform, _ application: Application) -> Form {
        let access = platform.webAccess
        return Form(
            Address.of(application, "platforms", platform.uuid.lowercased, "web"), "Save",
            [
                .area(
                    "origins", "Sites", access?.origins.map(\.text).joined(separator: "\n") ?? "",
                    hint: "One per line. The list replaces the one before.", isRequired: true,
                    placeholder: "https://shop.example", isMono: true),
                .check(
                    "proof", "Register a browser only once it has returned the content of a push",
                    access?.provesRegistrations ?? true),
            ]
        ).guarded
    }

    @Sendable func setWebAccess(
        _ visit: DashboardRequest, _ platform: Platform, _ application: Application
    ) async throws -> PageAnswer {
        try await visit.trying(
            Self.webForm(platform, application), on: { try await page(visit, platform, application, web: $0) }
        ) {
            let edit = WebAccessEdit(
                origins: try visit.form.list("origins").map { try WebOrigin($0, field: "origins") },
                provesRegistrations: visit.form.isChecked("proof"))
            _ = try await visit.services.admin.setWebAccess(of: platform, of: application, edit, by: visit.author)
            return Self.done(platform, application, "saved")
        }
    }
}

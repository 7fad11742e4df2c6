import FoundationEssentials

/// Applications: the list, a new one, its settings and secrets, and the set-up path.
struct ApplicationPages {
    let make: RouteMaker

    var routes: [PageRoute] {
        [
            make.open(.get, "apps", list), make.open(.get, "apps/new", new), make.open(.post, "apps/new", create),
            make.application(.get, "setup", .read, setup), make.application(.get, "settings", .read, settings),
            make.application(.post, "settings", .change, edit),
            make.application(.post, "settings/api-key", .change, replaceAPIKey),
            make.application(.post, "settings/shared-secret", .change, replaceSharedSecret),
            make.application(.post, "settings/delete", .read, delete),
        ]
    }

    private static let perPage = 100

    @Sendable private func list(_ visit: DashboardRequest) async throws -> PageAnswer {
        let wanted = visit.query["q"].caseFolded
        let end = (visit.query.raw("after"), visit.number("key") ?? 0)
        let left = try await visit.applications().filter { wanted.isEmpty || $0.name.caseFolded.contains(wanted) }
            .drop { ($0.name.lowercased(), $0.key.rawValue) <= end }
        var page = PageView("Applications")
        if visit.mayCreateApplications {
            page.actions = [Link("New application", Address.path("apps", "new"), isMain: true)]
        }
        var table = Table(
            "Applications", ["Name", "Description", "UUID", "Created"],
            left.prefix(Self.perPage).map { application in
                [
                    [.link(application.name, Address.of(application))], [.text(application.description)],
                    [.code(application.uuid.lowercased)], [.time(application.createdAt)],
                ]
            },
            empty: wanted.isEmpty ? "No applications yet." : "No applications match.",
            emptyLink: visit.mayCreateApplications ? Link("New application", Address.path("apps", "new")) : nil)
        if left.count > Self.perPage, let last = left.prefix(Self.perPage).last {
            table.next = Address.query(
                Address.path("apps"),
                [("q", visit.query["q"]), ("after", last.name.lowercased()), ("key", "\(last.key)")])
        }
        page.sections = [
            Section {
                Form.filter(Address.path("apps"), [.text("q", "Name", visit.query["q"], type: "search")], "Search")
                table
            }
        ]
        return .page(page)
    }

    // MARK: A new one

    @Sendable private func new(_ visit: DashboardRequest) async throws -> PageAnswer {
        guard visit.mayCreateApplications else {
            try visit.require(.change, on: .everything, called: "page")
            return .redirect(Address.path("apps"))
        }
        return .page(Self.newPage(try await Self.newForm(visit)))
    }

    private static func newPage(_ form: Form) -> PageView {
        var page = PageView(
            "New application", lead: "An application has the platforms, devices and pushes of one product."
        ) {
            Section { form }
        }
        page.crumbs = [Link("Applications", Address.path("apps"))]
        return page
    }

    private static func newForm(_ visit: DashboardRequest) async throws -> Form {
        var fields: [Field] = [
            .text("name", "Name", isRequired: true).focused,
            .text("description", "Description", hint: "Optional."),
        ]
        if visit.person.bounds == .everything {
            let tenants = try await visit.services.store.tenants(after: nil, limit: Role.tenantsMax + 1)
            if tenants.count > Role.tenantsMax {
                let hint = "Its UUID, which its page shows. Empty: \(tenants[0].name)."
                fields.append(.text("tenant", "Tenant", hint: hint))
            } else if tenants.count > 1 {
                fields.append(.select("tenant", "Tenant", "", tenants.map { ($0.uuid.lowercased, $0.name) }))
            }
        }
        return Form(Address.path("apps", "new"), "Create", fields)
    }

    @Sendable private func create(_ visit: DashboardRequest) async throws -> PageAnswer {
        let tenant = try await tenant(visit)
        try visit.require(.change, on: .tenant(tenant ?? Tenant.first), called: "tenant")
        return try await visit.trying(try await Self.newForm(visit), on: { Self.newPage($0) }) {
            guard let tenant else { throw InvalidInput(field: "tenant", "does not exist any more") }
            let created = try await visit.services.admin.createApplication(
                name: try Name(visit.form["name"]), description: try Description(visit.form["description"]), of: tenant,
                by: visit.author)
            return .outcome(Self.created(created))
        }
    }

    /// nil where the chosen tenant does not exist.
    private func tenant(_ visit: DashboardRequest) async throws -> Key<Tenant>? {
        if let own = visit.person.bounds.tenant { return own }
        guard !visit.form["tenant"].isEmpty else { return Tenant.first }
        guard let uuid = UUID(text: visit.form["tenant"]) else { return nil }
        return try await visit.services.store.tenant(uuid)?.key
    }

    static func created(_ created: CreatedApplication) -> PageView {
        let application = created.application
        var page = PageView(application.name) {
            Section(
                "Secrets, shown only once", text: "Copy them now: the server keeps only a hash of the key.",
                style: .secret
            ) {
                Facts {
                    Fact("App UUID", .code(application.uuid.lowercased))
                    Fact("API key", .code(created.apiKey))
                    Fact("Shared secret", .code(created.sharedSecret))
                }
                ButtonRow([Link("Next: add a platform", Address.of(application, "platforms", "new"), isMain: true)])
            }
        }
        page.notice = "The application is created."
        page.crumbs = [Link("Applications", Address.path("apps"))]
        return page
    }

    // MARK: Settings

    @Sendable private func settings(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        .page(settingsPage(visit, application, form: Self.editForm(application)).saying(visit, ["saved": "Saved."]))
    }

    private static func editForm(_ application: Application) -> Form {
        Form(
            Address.of(application, "settings"), "Save",
            [
                .text("name", "Name", application.name, isRequired: true),
                .text("description", "Description", application.description),
                .check(
                    "ignores_unknown_fields",
                    "PCF's API ignores fields that it does not know, instead of refusing the push",
                    application.ignoresUnknownFields),
                .text(
                    "quiet_hours", "Quiet hours, by each recipient's clock",
                    application.deliveryRules.quietHours.map { $0.hours?.text ?? "users" } ?? "",
                    hint: "Such as 22:00-08:00. users: only those that users have. Empty: none."),
                .select(
                    "quiet_then", "Pushes in quiet hours",
                    (application.deliveryRules.quietHours?.then ?? .wait).rawValue,
                    [("wait", "wait for their end"), ("skip", "are not sent"), ("passive", "make no sound")]),
                .text(
                    "quiet_zone", "Time zone of recipients without one",
                    application.deliveryRules.quietHours?.zone.name ?? "", hint: "Such as Europe/Vienna. Empty: UTC."),
                .text(
                    "caps", "Most pushes for a user",
                    application.deliveryRules.caps.map(\.words).joined(separator: " "),
                    hint: "Such as 2/day marketing:1/week. Pushes of the kind transactional are exempt."),
                .check(
                    "campaign_approval", "Campaigns need the approval of a second person before they start",
                    application.deliveryRules.approvesCampaigns),
                .select(
                    "web_push_endpoints", "Web Push endpoints", application.deliveryRules.webPush.rawValue,
                    [("off", "off"), ("on", "on"), ("vapid", "on, VAPID demanded")],
                    hint: "Devices get URLs to which Mastodon, Nextcloud and other servers post."),
                .check(
                    "encrypted_only", "Only messages that are encrypted for each device are taken",
                    application.deliveryRules.takesEncryptedOnly),
                .text(
                    "encrypted_alert", "What a device shows if it cannot decrypt a message",
                    application.deliveryRules.encryptedAlert ?? "",
                    hint: "Empty: \(EncryptedContent.alertByDefault)."),
            ]
        ).guarded
    }

    private func settingsPage(
        _ visit: DashboardRequest, _ application: Application, form: Form, deleteForm: Form? = nil
    ) -> PageView {
        Self.settingsPage(
            application, mayChange: visit.may(.change, Permission.Subject(application)),
            mayDelete: visit.may(.change, .tenant(application.tenantKey)), form: form,
            deleteForm: deleteForm ?? Self.deleteForm(application))
    }

    static func settingsPage(
        _ application: Application, mayChange: Bool, mayDelete: Bool, form: Form, deleteForm: Form
    ) -> PageView {
        var page = PageView("Settings", in: application) {
            Section("Identity") {
                Facts {
                    Fact("App UUID", .code(application.uuid.lowercased))
                    Fact("Created", .time(application.createdAt))
                }
            }
        }
        guard mayChange else { return page }
        let edit = Section("Name, description and delivery") { form }
        let keys = Section(
            "Secrets",
            text: "Back ends send with the API key; the shared secret signs custom user ids. A new one is shown once."
        ) {
            ButtonRow([
                rotation(application, "api-key", "New API key"),
                rotation(application, "shared-secret", "New shared secret"),
            ])
        }
        page.sections += [edit, keys]
        if mayDelete {
            page.sections.append(
                Section(
                    "Delete the application",
                    text: "Its platforms, devices, pushes and all other data are deleted too.", style: .danger
                ) { deleteForm })
        }
        return page
    }

    private static func rotation(_ application: Application, _ what: String, _ label: String) -> Form {
        var form = Form(Address.of(application, "settings", what), label, [.grace])
        form.layout = .inline
        return form.replacing(what == "api-key" ? application.apiKeyHash : application.sharedSecret.bytes)
    }

    private func refusal(_ visit: DashboardRequest, _ application: Application, _ what: String) -> PageAnswer? {
        guard Self.rotation(application, what, "").isOutdated(by: visit.form) else { return nil }
        var page = settingsPage(visit, application, form: Self.editForm(application))
        page.problem = Form.wasReplaced
        return .invalid(page)
    }

    private static func deleteForm(_ application: Application) -> Form {
        Form(
            Address.of(application, "settings", "delete"), "Delete for ever",
            [.text("confirm", "Type the name of the application", hint: application.name, isRequired: true)],
            isDanger: true)
    }

    @Sendable private func edit(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        try await visit.trying(Self.editForm(application), on: { settingsPage(visit, application, form: $0) }) {
            let edit = ApplicationEdit(
                name: try Name(visit.form["name"]), description: try Description(visit.form["description"]),
                ignoresUnknownFields: visit.form.isChecked("ignores_unknown_fields"),
                quietHours: try Self.quietHours(visit.form), caps: try Self.caps(visit.form),
                approvesCampaigns: visit.form.isChecked("campaign_approval"),
                webPush: WebPushAccess(rawValue: visit.form["web_push_endpoints"]),
                takesEncryptedOnly: visit.form.isChecked("encrypted_only"),
                encryptedAlert: try EncryptedContent.alert(visit.form["encrypted_alert"], field: "encrypted_alert"))
            try await visit.services.admin.edit(application, edit, by: visit.author)
            return .redirect(Address.query(Address.of(application, "settings"), [("done", "saved")]))
        }
    }

    private static func quietHours(_ form: FormData) throws(InvalidInput) -> Registration.Change<QuietHours> {
        let text = form["quiet_hours"].asName
        guard !text.isEmpty else { return .clear }
        let hours = DayHours(text)
        guard hours != nil || text == "users" else {
            throw InvalidInput(field: "quiet_hours", "has to be such as 22:00-08:00, or users, or empty")
        }
        let zone = form["quiet_zone"].asName
        return .set(
            QuietHours(
                hours: hours, then: QuietHours.Treatment(rawValue: form["quiet_then"]) ?? .wait,
                zone: try ZoneInfo(zone.isEmpty ? "UTC" : zone, field: "quiet_zone")))
    }

    private static func caps(_ form: FormData) throws(InvalidInput) -> [FrequencyCap] {
        let words = form["caps"].split(whereSeparator: { $0 == " " || $0 == "," })
        guard words.count <= DeliveryRules.capsMax else {
            throw InvalidInput(
                field: "caps", "has \(words.count) caps, the limit is \(DeliveryRules.capsMax)")
        }
        return try words.map { (each) throws(InvalidInput) in try FrequencyCap(words: String(each), field: "caps") }
    }

    @Sendable private func replaceAPIKey(_ visit: DashboardRequest, _ application: Application) async throws
        -> PageAnswer
    {
        if let refusal = refusal(visit, application, "api-key") { return refusal }
        let key = try await visit.services.admin.replaceAPIKey(
            of: application, grace: try visit.form.grace, by: visit.author)
        return .outcome(Self.secret("API key", key, of: application))
    }

    @Sendable private func replaceSharedSecret(_ visit: DashboardRequest, _ application: Application) async throws
        -> PageAnswer
    {
        if let refusal = refusal(visit, application, "shared-secret") { return refusal }
        let secret = try await visit.services.admin.replaceSharedSecret(
            of: application, grace: try visit.form.grace, by: visit.author)
        return .outcome(Self.secret("Shared secret", secret, of: application))
    }

    static func secret(_ label: String, _ text: String, of application: Application) -> PageView {
        PageView(
            "New \(label.prefix(1).lowercased() + label.dropFirst())".replacing("aPI", with: "API"), in: application,
            "Settings"
        ) {
            Section("Shown only once", style: .secret) {
                Facts([Fact(label, .code(text))])
                ButtonRow([Link("Done", Address.of(application, "settings"), isMain: true)])
            }
        }
    }

    /// Deletes the application. Needs the enclosing scope, as in the admin API: a person bound to the application may not delete it.
    @Sendable private func delete(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        try visit.require(.change, on: .tenant(application.tenantKey), called: "app")
        let page = { (form: Form) in
            settingsPage(visit, application, form: Self.editForm(application), deleteForm: form)
        }
        return try await visit.trying(Self.deleteForm(application), on: { page($0) }) {
            guard visit.form.confirms(application.name) else {
                throw InvalidInput(field: "confirm", "has to be the name: \(application.name)")
            }
            try await visit.services.admin.delete(application, force: true, by: visit.author)
            return .redirect(Address.path("apps"))
        }
    }

    // MARK: Set-up

    @Sendable private func setup(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let store = visit.services.store
        let platforms = try await store.platforms(of: application.key)
        var devices = 0
        for platform in platforms { devices += try await store.deviceCount(on: platform.key) }
        let pushes = try await store.pushes(of: application.key, before: nil, limit: 1)
        return .page(
            Self.setup(
                application, platforms, devices: devices, hasPushes: !pushes.isEmpty, url: visit.serverURL,
                may: { visit.may($0, Permission.Subject(application)) }))
    }

    static func setup(
        _ application: Application, _ platforms: [Platform], devices: Int, hasPushes: Bool, url: String,
        may: (Permission.Action) -> Bool
    ) -> PageView {
        let done = [true, !platforms.isEmpty, devices > 0 && hasPushes]
        var page = PageView(
            "First steps", in: application, lead: "Three steps to the first push on your own device."
        ) {
            Section("Progress") {
                Steps([
                    Step(title: "Create an application", text: application.uuid.lowercased, isDone: true),
                    Step(
                        title: "Add a platform",
                        text: platforms.isEmpty
                            ? "Give it the key that Apple, Google or another provider issued for your app."
                            : platforms.map(\.name).joined(separator: ", "),
                        isDone: done[1], isNext: !done[1],
                        link: done[1] || !may(.change)
                            ? nil : Link("Add a platform", Address.of(application, "platforms", "new"), isMain: true)),
                    Step(
                        title: "Register your device, and send",
                        text: devices == 0
                            ? "Waiting for the first device; this page looks again by itself."
                            : devices == 1
                                ? "One device has registered. Congratulations!"
                                : "\(devices.grouped) devices have registered. Congratulations!",
                        isDone: done[2], isNext: done[1] && !done[2],
                        link: devices > 0 && may(.send)
                            ? Link("Compose a push", Address.of(application, "compose"), isMain: true) : nil),
                ])
            }
        }
        guard let platform = platforms.first else { return page }
        if devices == 0 { page.live = "reload" }
        let register = Section(
            "Register a device",
            text:
                "Your app does this with the SDK of PCF, or by itself. PLATFORM_SECRET is the platform's, which was shown when it was created."
        ) {
            Code(
                "Shell",
                """
                curl -u \(platform.uuid.lowercased):PLATFORM_SECRET \(url)/v1/registration \\
                  -H 'Content-Type: application/json' \\
                  -d '{"registration_token":"TOKEN","os":"\(platform.kind.rawValue)","device_alias":"My phone"}'
                """)
        }
        let send = Section(
            "Send from your back end", text: "API_KEY is the application's, which was shown when it was created."
        ) {
            Code(
                "Shell",
                """
                curl -u \(application.uuid.lowercased):API_KEY \(url)/v1/push \\
                  -H 'Content-Type: application/json' \\
                  -d '{"message":{"title":"Hello","body":"The first push"},"target":{"platform":"all"}}'
                """)
        }
        page.sections += [register, send]
        return page
    }
}

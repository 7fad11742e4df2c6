import FoundationEssentials

/// The keys of the admin API: the list, new ones, and revoking.
struct KeyPages {
    let make: RouteMaker

    var routes: [PageRoute] {
        [
            make.open(.get, "admin/keys", list), make.open(.post, "admin/keys", create),
            make.open(.post, "admin/keys/:key_id/rotate", rotate),
            make.open(.post, "admin/keys/:key_id/revoke", revoke),
        ]
    }

    private static let perPage = 100

    @Sendable private func list(_ visit: DashboardRequest) async throws -> PageAnswer {
        try visit.require(.administer, on: Permission.Subject(visit.person.bounds), called: "page")
        return .page(
            try await page(visit, try await Self.form(visit)).saying(
                visit, ["revoked": "The key is revoked."]))
    }

    private func page(_ visit: DashboardRequest, _ form: Form) async throws -> PageView {
        let keys = try await visit.services.store.adminKeys(
            within: visit.person.bounds, after: visit.number("after").map { Key($0) }, limit: Self.perPage)
        var page = Self.page(keys, try await Role.names(keys.map(\.bounds), visit), form)
        if keys.count == Self.perPage, let last = keys.last {
            page.sections[0].next = Address.query(
                Address.path("admin", "keys"), [("after", String(last.key.rawValue))])
        }
        return page
    }

    private static func form(_ visit: DashboardRequest) async throws -> Form {
        Form(
            Address.path("admin", "keys"), "Create the key",
            [.text("name", "Name", isRequired: true)] + (try await Role.fields(visit)))
    }

    static func page(_ keys: [AdminKey], _ bounds: [AdminKey.Bounds: String], _ form: Form) -> PageView {
        PageView("API keys", lead: "For programs that use the admin API. People log in with an account.") {
            Section {
                Table(
                    "Keys", ["Name", "Key id", "Scope", "For", "State", "Last used"],
                    keys.map { key in
                        [
                            [.text(key.name)], [.code(key.id)], [.text(key.scope.rawValue)],
                            [.text(bounds[key.bounds] ?? "")],
                            [key.revokedAt == nil ? .badge("active", .good) : .badge("revoked", .calm)],
                            [.time(key.lastUsedAt)],
                        ]
                    },
                    forms: keys.map { key in
                        key.revokedAt == nil
                            ? [
                                .button(Address.path("admin", "keys", key.id, "rotate"), "Rotate"),
                                .button(Address.path("admin", "keys", key.id, "revoke"), "Revoke", isDanger: true),
                            ] : []
                    }, empty: "No keys yet.")
            }
            Section("New API key") { form }
        }
    }

    @Sendable private func create(_ visit: DashboardRequest) async throws -> PageAnswer {
        try visit.require(.administer, on: Permission.Subject(visit.person.bounds), called: "page")
        return try await visit.trying(try await Self.form(visit), on: { try await page(visit, $0) }) {
            let name = try Name(visit.form["name"])
            let (scope, bounds) = try await Role.read(visit)
            let created = try await visit.services.admin.createKey(
                name: name, scope: scope, bounds: bounds, by: visit.author)
            return .outcome(Self.created(created.key, created.text))
        }
    }

    private static func created(_ key: AdminKey, _ text: AdminKey.Text) -> PageView {
        var page = PageView(key.name) {
            Section("Shown only once", text: "Copy it now: the server keeps only a hash.", style: .secret) {
                Facts([Fact("Key", .code(text.text))])
                ButtonRow([Link("Done", Address.path("admin", "keys"), isMain: true)])
            }
        }
        page.crumbs = [Link("API keys", Address.path("admin", "keys"))]
        return page
    }

    private func key(_ visit: DashboardRequest) async throws -> AdminKey {
        guard let key = try await visit.services.store.adminKey(visit.text("key_id")) else {
            throw APIError.missing("key")
        }
        try visit.require(.administer, on: Permission.Subject(key.bounds), called: "key")
        return key
    }

    /// Asks first how long the old secret is still taken.
    @Sendable private func rotate(_ visit: DashboardRequest) async throws -> PageAnswer {
        let key = try await key(visit)
        let form = Form(Address.path("admin", "keys", key.id, "rotate"), "Make a new secret", [.grace])
            .replacing(key.secretHash)
        func page(_ form: Form) -> PageView {
            var page = PageView(
                "Rotate “\(key.name)”", lead: "The key gets a new secret, which is shown once. Its id stays."
            ) {
                Section { form }
            }
            page.crumbs = [Link("Keys", Address.path("admin", "keys"))]
            return page
        }
        guard visit.form.isChecked("grace") else { return .page(page(form)) }
        if form.isOutdated(by: visit.form) {
            var refusal = page(form)
            refusal.problem = Form.wasReplaced
            return .invalid(refusal)
        }
        return try await visit.trying(form, on: page) {
            guard key.revokedAt == nil else { throw StoreError.conflict("the key is revoked") }
            return .outcome(
                Self.created(
                    key, try await visit.services.admin.rotate(key, grace: try visit.form.grace, by: visit.author)))
        }
    }

    @Sendable private func revoke(_ visit: DashboardRequest) async throws -> PageAnswer {
        let key = try await key(visit)
        let names = try await Role.names([key.bounds], visit)
        let question = visit.question(
            "Revoke the key “\(key.name)”?", "Programs that use it are refused at once. This cannot be undone.",
            [
                Fact("Key id", .code(key.id)), Fact("Scope", .text(key.scope.rawValue)),
                Fact("For", .text(names[key.bounds] ?? "")), Fact("Last used", .time(key.lastUsedAt)),
            ], yes: "Revoke it", no: Address.path("admin", "keys"))
        if let question { return question }
        try await visit.services.admin.revoke(key, by: visit.author)
        return .redirect(Address.query(Address.path("admin", "keys"), [("done", "revoked")]))
    }
}

extension Field {
    /// How long a secret is still taken after it was replaced.
    static let grace = Field.select(
        "grace", "The old one ends", "86400",
        [
            ("0", "at once"), ("3600", "after an hour"), ("86400", "after a day"), ("604800", "after a week"),
        ])
}

extension Form {
    /// This form, guarded by the secret that it replaces: of two tabs, or two people, one does it.
    func replacing(_ secret: [UInt8]) -> Form { guarded(by: Array(SecretHash.of(secret.hex).prefix(16)).hex) }

    /// Whether the secret was replaced after the posted form was shown.
    func isOutdated(by posted: FormData) -> Bool { (try? demandUnchanged(since: posted)) == nil }

    static let wasReplaced =
        "Nothing was done: it was replaced since you loaded the page, perhaps by you in another tab. Another one would end the "
        + "new one."
}

extension FormData {
    var grace: Duration {
        get throws(InvalidInput) {
            guard let seconds = Int64(self["grace"]), (0...AdminKey.graceMax.components.seconds).contains(seconds)
            else {
                throw InvalidInput(field: "grace", "is not one of the choices")
            }
            return .seconds(seconds)
        }
    }
}

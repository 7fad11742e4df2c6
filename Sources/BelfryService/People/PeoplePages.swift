import FoundationEssentials
import HTTPTypes

/// The people of the dashboard: the list, invitations, roles, and shutting out.
struct PeoplePages {
    let make: RouteMaker

    var routes: [PageRoute] {
        [
            make.open(.get, "admin/people", list), make.open(.post, "admin/people", invite),
            make.open(.get, "admin/people/:person_id", show),
            make.open(.post, "admin/people/:person_id/role", setRole),
            make.open(.post, "admin/people/:person_id/disable", disable),
            make.open(.post, "admin/people/:person_id/enable", enable),
            make.open(.post, "admin/people/:person_id/reset", reset),
            make.open(.post, "admin/people/:person_id/two-factor/off", removeTwoFactor),
            make.open(.post, "admin/people/links/:link_id/withdraw", withdraw),
        ]
    }

    private static let perPage = 100

    @Sendable private func list(_ visit: DashboardRequest) async throws -> PageAnswer {
        try visit.require(.administer, on: Permission.Subject(visit.person.bounds), called: "page")
        return .page(try await page(visit, try await Self.form(visit)).saying(visit, ["saved": "Saved."]))
    }

    private func page(_ visit: DashboardRequest, _ form: Form) async throws -> PageView {
        let people = try await visit.services.store.people(
            within: visit.person.bounds, after: visit.number("after").map { Key($0) }, limit: Self.perPage)
        let links = try await visit.services.store.invitations(
            within: visit.person.bounds, before: visit.number("before").map { Key($0) }, limit: Self.perPage)
        let names = try await Role.names((people.map(\.bounds) + links.map(\.bounds)), visit)
        var page = Self.page(people, links, names, own: visit.person.key, form)
        if people.count == Self.perPage, let last = people.last {
            page.sections[0].next = Address.query(
                Address.path("admin", "people"), [("after", String(last.key.rawValue))])
        }
        if links.count == Self.perPage, let last = links.last {
            page.sections[page.sections.count - 1].next = Address.query(
                Address.path("admin", "people"), [("before", String(last.key.rawValue))])
        }
        return page
    }

    private static func form(_ visit: DashboardRequest) async throws -> Form {
        Form(
            Address.path("admin", "people"), "Create the link",
            [
                .text(
                    "email", "E-mail", hint: "They log in with it. No e-mail is sent.", isRequired: true,
                    type: "email")
            ]
                + (try await Role.fields(visit)))
    }

    static func page(
        _ people: [Person], _ links: [Invitation], _ bounds: [AdminKey.Bounds: String], own: Key<Person>, _ form: Form
    ) -> PageView {
        var page = PageView("People", lead: "Who may log in here, and what they may do.")
        let section = Section {
            Table(
                "People", ["Name", "E-mail", "Role", "For", "State", "Last login"],
                people.map { person in
                    [
                        [person.key == own ? .text(person.name) : .link(person.name, address(of: person))],
                        [.text(person.email.text)], [.text(person.scope.rawValue)],
                        [.text(bounds[person.bounds] ?? "")], state(person), [.time(person.lastLoginAt)],
                    ]
                },
                forms: people.map { $0.key == own ? [] : buttons(for: $0) }, empty: "Nobody yet.")
        }
        let invitation = Section(
            "Invite", text: "You get a link to pass on. With it they set a password, once, within three days."
        ) { form }
        page.sections = [section, invitation] + (links.isEmpty ? [] : [open(links, bounds)])
        return page
    }

    private static func address(of person: Person) -> String { Address.path("admin", "people", "\(person.key)") }

    private static func state(_ person: Person) -> [Value] {
        [person.disabledAt == nil ? .badge("active", .good) : .badge("disabled", .warn)]
            + (person.hasTwoFactor ? [.badge("two-factor", .calm)] : [])
    }

    private static func buttons(for person: Person) -> [Form] {
        let address = address(of: person)
        return [
            .button("\(address)/reset", "New password link"),
            person.disabledAt == nil
                ? .button("\(address)/disable", "Disable", isDanger: true) : .button("\(address)/enable", "Enable"),
        ]
            + (person.hasTwoFactor
                ? [.button("\(address)/two-factor/off", "Turn two-factor off", isDanger: true)] : [])
    }

    /// Shuts out, and ends nothing but sessions.
    private static func keepingIssued(_ person: Person) -> Form {
        var form = Form.button(
            "\(address(of: person))/disable", "Disable, but keep the links and keys they made", isDanger: true)
        form.hidden = [.init(name: "issued", value: "stay")]
        return form
    }

    private static func open(_ links: [Invitation], _ bounds: [AdminKey.Bounds: String]) -> Section {
        Section("Open links") {
            Table(
                "Links", ["E-mail", "For", "Role", "Of", "Until"],
                links.map { link in
                    [
                        [.text(link.email?.text ?? "the first operator")],
                        [.text(link.person == nil ? "an account" : "a new password")], [.text(link.scope.rawValue)],
                        [.text(bounds[link.bounds] ?? "")], [.time(link.expiresAt)],
                    ]
                },
                forms: links.map {
                    [
                        .button(
                            Address.path("admin", "people", "links", "\($0.key)", "withdraw"), "Withdraw",
                            isDanger: true)
                    ]
                }, empty: "None.")
        }
    }

    @Sendable private func invite(_ visit: DashboardRequest) async throws -> PageAnswer {
        try visit.require(.administer, on: Permission.Subject(visit.person.bounds), called: "page")
        return try await visit.trying(try await Self.form(visit), on: { try await page(visit, $0) }) {
            let email = try EmailAddress(visit.form["email"])
            let (scope, bounds) = try await Role.read(visit)
            if try await visit.services.store.person(email) != nil {
                throw InvalidInput(field: "email", "belongs to an account already")
            }
            let token = try await visit.services.people.invite(email, scope: scope, bounds: bounds, by: visit.author)
            return .outcome(Self.link(token, for: email, visit))
        }
    }

    private static func link(_ token: String, for email: EmailAddress, _ visit: DashboardRequest) -> PageView {
        let path = Address.query(Address.path("setup"), [("token", token)])
        return link(visit.serverURL + path, for: email, isAddressKnown: visit.isAddressKnown)
    }

    static func link(_ link: String, for email: EmailAddress, isAddressKnown: Bool = true) -> PageView {
        var page = PageView("A link for \(email.text)")
        page.crumbs = [Link("People", Address.path("admin", "people"))]
        let more =
            isAddressKnown
            ? ""
            : " It begins with the server's own address: put the one by which they reach it there, and set public.url."
        page.sections = [
            Section(
                "Shown only once", text: "Pass it on. It works once, for three days.\(more)", style: .secret
            ) {
                Facts([Fact("Link", .code(link))])
                ButtonRow([Link("Done", Address.path("admin", "people"), isMain: true)])
            }
        ]
        return page
    }

    // MARK: One person

    @Sendable private func show(_ visit: DashboardRequest) async throws -> PageAnswer {
        let person = try await person(visit)
        return .page(
            try await page(visit, person, try await Self.roleForm(visit, person)).saying(
                visit, ["saved": "Saved: they have this role from now on."]))
    }

    private static func roleForm(_ visit: DashboardRequest, _ person: Person) async throws -> Form {
        Form(
            "\(address(of: person))/role", "Change the role",
            try await Role.fields(visit, now: (person.scope, person.bounds))
        ).guarded
    }

    private func page(_ visit: DashboardRequest, _ person: Person, _ form: Form) async throws -> PageView {
        Self.page(person, try await Role.names([person.bounds], visit)[person.bounds] ?? "", form)
    }

    static func page(_ person: Person, _ bounds: String, _ form: Form) -> PageView {
        var page = PageView(person.name) {
            Section {
                Facts {
                    Fact("E-mail", .text(person.email.text))
                    Fact("Role", .text(person.scope.rawValue))
                    Fact("For", .text(bounds))
                    Fact("State", state(person))
                    Fact("Created", .time(person.createdAt))
                    Fact("Last login", .time(person.lastLoginAt))
                }
                ButtonRow(buttons(for: person) + (person.disabledAt == nil ? [keepingIssued(person)] : []))
            }
            Section(
                "Role",
                text:
                    "It counts from their next click. Links for a new password end, and so do their keys and links that allow more. A role for "
                    + "another tenant or application also ends their password, second factor and sessions: create a new link for them."
            ) {
                form
            }
        }
        page.crumbs = [Link("People", Address.path("admin", "people"))]
        return page
    }

    @Sendable private func setRole(_ visit: DashboardRequest) async throws -> PageAnswer {
        let person = try await person(visit)
        let form = try await Self.roleForm(visit, person)
        return try await visit.trying(form, on: { try await page(visit, person, $0) }) {
            let (scope, bounds) = try await Role.read(visit)
            _ = try await visit.services.admin.setRole(of: person, to: try SignOn.Role(scope, bounds), by: visit.author)
            return .redirect(Address.query(Self.address(of: person), [("done", "saved")]))
        }
    }

    /// The person of the address: another one than the visitor, whom the visitor may administer.
    private func person(_ visit: DashboardRequest) async throws -> Person {
        guard let number = Int64(visit.text("person_id")),
            let person = try await visit.services.store.person(Key(number))
        else { throw APIError.missing("person") }
        try visit.require(.administer, on: Permission.Subject(person.bounds), called: "person")
        guard person.key != visit.person.key else {
            throw APIError(.conflict, "That is your own account: ask another administrator to change it")
        }
        return person
    }

    @Sendable private func disable(_ visit: DashboardRequest) async throws -> PageAnswer {
        let person = try await person(visit)
        let endsIssued = visit.form["issued"] != "stay"
        if let question = try await question(before: person, endsIssued: endsIssued, visit) { return question }
        try await visit.services.admin.setDisabled(true, person, endsIssued: endsIssued, by: visit.author)
        return .redirect(Address.query(Address.path("admin", "people"), [("done", "saved")]))
    }

    private func question(before person: Person, endsIssued: Bool, _ visit: DashboardRequest) async throws
        -> PageAnswer?
    {
        guard visit.form[DashboardRequest.confirmed].isEmpty else { return nil }
        let store = visit.services.store
        let issued = try await store.issued(by: person.key)
        return visit.question(
            "Disable the account of \(person.name)?",
            endsIssued
                ? "What ends now does not come back when the account is enabled again: programs that use the keys need new ones."
                : "They can no longer log in. Links and keys that they made keep working.",
            [
                Fact("Sessions that end", .number(try await store.sessions(of: person.key).count)),
                Fact("Admin keys that \(endsIssued ? "are revoked" : "stay")", .number(issued.keys)),
                Fact("Links for others that \(endsIssued ? "end" : "stay")", .number(issued.links)),
            ], yes: "Disable the account", no: Self.address(of: person))
    }

    @Sendable private func enable(_ visit: DashboardRequest) async throws -> PageAnswer {
        try await visit.services.admin.setDisabled(false, try await person(visit), by: visit.author)
        return .redirect(Address.query(Address.path("admin", "people"), [("done", "saved")]))
    }

    /// Removes the second factor of a person whose phone and recovery codes are lost.
    @Sendable private func removeTwoFactor(_ visit: DashboardRequest) async throws -> PageAnswer {
        let person = try await person(visit)
        let question = visit.question(
            "Turn two-factor off for \(person.name)?",
            "Their authenticator app and recovery codes stop working: the password alone is enough until they set it up again.",
            [], yes: "Turn it off", no: Self.address(of: person))
        if let question { return question }
        try await visit.services.people.removeTwoFactor(of: person, by: visit.author)
        return .redirect(Address.query(Address.path("admin", "people"), [("done", "saved")]))
    }

    @Sendable private func withdraw(_ visit: DashboardRequest) async throws -> PageAnswer {
        guard let number = Int64(visit.text("link_id")),
            let link = try await visit.services.store.invitation(Key(number))
        else { throw APIError.missing("link") }
        try visit.require(.administer, on: Permission.Subject(link.bounds), called: "link")
        let question = visit.question(
            "Withdraw the link for \(link.email?.text ?? "the first operator")?",
            "Nobody can use it then.", [], yes: "Withdraw it",
            no: Address.path("admin", "people"))
        if let question { return question }
        try await visit.services.people.withdraw(link, by: visit.author)
        return .redirect(Address.query(Address.path("admin", "people"), [("done", "saved")]))
    }

    @Sendable private func reset(_ visit: DashboardRequest) async throws -> PageAnswer {
        let person = try await person(visit)
        let token = try await visit.services.people.makePasswordLink(for: person, by: visit.author)
        return .outcome(Self.link(token, for: person.email, visit))
    }
}

/// The scope and bounds that a form gives to a person or a key.
enum Role {
    static let scopes: [(String, String)] = [
        ("operator", "Operator: everything, for all tenants"),
        ("tenant-admin", "Tenant admin: everything of one tenant"),
        ("app-admin", "App admin: everything of one application"), ("sender", "Sender: read and send"),
        ("read-only", "Read only"),
    ]

    /// The fields of a role: roles and bounds that the person may give.
    ///
    /// - Parameter now: the role chosen at first; nil for the least role.
    static func fields(_ visit: DashboardRequest, now: (scope: AdminKey.Scope, bounds: AdminKey.Bounds)? = nil)
        async throws
        -> [Field]
    {
        let applications = try await visit.services.store.applications(
            seenBy: visit.person, limit: applicationsMax + 1
        ).byName
        var bounds = applications.prefix(applicationsMax).map { choice(of: $0) }
        var isCut = applications.count > applicationsMax
        switch visit.person.bounds {
        case .everything:
            let tenants = try await visit.services.store.tenants(after: nil, limit: tenantsMax + 1)
            bounds = [everything] + tenants.prefix(tenantsMax).map { choice(of: $0) } + bounds
            isCut = isCut || tenants.count > tenantsMax
        case .tenant(let key):
            if let tenant = try await visit.services.store.tenant(key) { bounds = [choice(of: tenant)] + bounds }
        case .application: break
        }
        let own = if let now { try await choice(of: now.bounds, visit) } else { (String, String)?.none }
        // Its own is among them, so that saving changes nothing by itself.
        if let own, !bounds.contains(where: { $0.0 == own.0 }) { bounds.append(own) }
        let allowed = scopes(within: visit.person.bounds)
        return [
            .select("scope", "Role", now?.scope.rawValue ?? AdminKey.Scope.readOnly.rawValue, allowed),
            // The least role is for no more than a tenant.
            .select(
                "bounds", "For", own?.0 ?? (bounds.first { $0.0 != everything.0 } ?? bounds.first)?.0 ?? "", bounds,
                hint: hint(within: visit.person.bounds) + (isCut ? hintOfMore : "")),
        ]
    }

    /// Roles that a person may give. An app admin cannot make a tenant admin.
    private static func scopes(within bounds: AdminKey.Bounds) -> [(String, String)] {
        switch bounds {
        case .everything: scopes
        case .tenant: scopes.filter { $0.0 != "operator" }
        case .application: scopes.filter { $0.0 != "operator" && $0.0 != "tenant-admin" }
        }
    }

    /// The most tenants and applications that a form offers.
    static let (tenantsMax, applicationsMax) = (200, 500)
    private static let hintOfMore = " The list is cut: the admin API gives roles for the others."

    private static func hint(within bounds: AdminKey.Bounds) -> String {
        switch bounds {
        case .everything: "Operators are for everything; a tenant admin for a tenant, an app admin for an application."
        case .tenant: "A tenant admin is for the tenant, an app admin for an application."
        case .application: ""
        }
    }

    private static let everything = ("", "Everything")

    private static func choice(of application: Application) -> (String, String) {
        ("app:\(application.uuid.lowercased)", "Application: \(application.name)")
    }

    private static func choice(of tenant: Tenant) -> (String, String) {
        ("tenant:\(tenant.uuid.lowercased)", "Tenant: \(tenant.name)")
    }

    /// The choice for bounds; nil where they were deleted.
    private static func choice(of bounds: AdminKey.Bounds, _ visit: DashboardRequest) async throws -> (String, String)?
    {
        switch bounds {
        case .everything: everything
        case .tenant(let key): try await visit.services.store.tenant(key).map { choice(of: $0) }
        case .application(let key, _): try await visit.services.store.application(key).map { choice(of: $0) }
        }
    }

    /// Throws when the person may not administer the bounds.
    static func read(_ visit: DashboardRequest) async throws -> (scope: AdminKey.Scope, bounds: AdminKey.Bounds) {
        guard let scope = AdminKey.Scope(rawValue: visit.form["scope"]) else {
            throw InvalidInput(field: "scope", "is missing")
        }
        let bounds = try await bounds(visit)
        try visit.require(.administer, on: Permission.Subject(bounds), called: "tenant or app")
        do { try scope.check(bounds) } catch {
            throw InvalidInput(field: "bounds", "does not fit the role: it \(error.problem)")
        }
        return (scope, bounds)
    }

    private static func bounds(_ visit: DashboardRequest) async throws -> AdminKey.Bounds {
        let parts = visit.form["bounds"].split(separator: ":", maxSplits: 1).map(String.init)
        guard parts.count == 2, let uuid = UUID(text: parts[1]) else { return .everything }
        if parts[0] == "tenant" {
            guard let tenant = try await visit.services.store.tenant(uuid) else {
                throw APIError.missing("tenant or app")
            }
            return .tenant(tenant.key)
        }
        guard let application = try await visit.services.store.application(uuid) else {
            throw APIError.missing("tenant or app")
        }
        return .application(application.key, of: application.tenantKey)
    }

    /// The names of bounds for a list.
    static func names(_ bounds: [AdminKey.Bounds], _ visit: DashboardRequest) async throws -> [AdminKey.Bounds: String]
    {
        var names: [AdminKey.Bounds: String] = [.everything: "everything"]
        for one in Set(bounds) {
            switch one {
            case .everything: continue
            case .tenant(let key):
                names[one] = "tenant \(try await visit.services.store.tenant(key)?.name ?? "deleted")"
            case .application(let key, _):
                names[one] = try await visit.services.store.application(key)?.name ?? "deleted app"
            }
        }
        return names
    }
}

import FoundationEssentials

/// Tenants, for operators: the list, making one, and one with the quotas of its applications.
struct TenantPages {
    let make: RouteMaker

    var routes: [PageRoute] {
        [
            make.open(.get, "admin/tenants", list), make.open(.post, "admin/tenants", create),
            make.open(.get, "admin/tenants/:tenant_uuid", show),
            make.open(.post, "admin/tenants/:tenant_uuid", rename),
            make.open(.post, "admin/tenants/:tenant_uuid/delete", delete),
        ]
    }

    private static let perPage = 100
    /// The most applications that are counted on one page.
    private static let applicationsMax = 50

    @Sendable private func list(_ visit: DashboardRequest) async throws -> PageAnswer {
        try visit.requireOperator()
        return .page(try await page(visit, Self.form).saying(visit, ["deleted": "Deleted."]))
    }

    private static var form: Form {
        Form(Address.path("admin", "tenants"), "Create", [.text("name", "Name", isRequired: true)])
    }

    private func page(_ visit: DashboardRequest, _ form: Form) async throws -> PageView {
        let store = visit.services.store
        let tenants = try await store.tenants(after: visit.number("after").map { Key($0) }, limit: Self.perPage)
        let applications = try await store.applications().reduce(into: [:]) { $0[$1.tenantKey, default: 0] += 1 }
        var page = Self.page(tenants, applications, form)
        if tenants.count == Self.perPage, let last = tenants.last {
            page.sections[0].next = Address.query(
                Address.path("admin", "tenants"), [("after", String(last.key.rawValue))])
        }
        return page
    }

    static func page(_ tenants: [Tenant], _ applications: [Key<Tenant>: Int], _ form: Form) -> PageView {
        PageView(
            "Tenants", lead: "Tenants own applications. People and keys of one tenant see nothing of the others."
        ) {
            Section {
                Table(
                    "Tenants", ["Name", "#Applications", "Created"],
                    tenants.map { tenant in
                        [
                            [.link(tenant.name, Address.path("admin", "tenants", tenant.uuid.lowercased))],
                            [.number(applications[tenant.key] ?? 0)], [.time(tenant.createdAt)],
                        ]
                    }, empty: "No tenants yet.")
            }
            Section(
                "New tenant", text: "Then invite its people under People, and create its applications."
            ) { form }
        }
    }

    @Sendable private func create(_ visit: DashboardRequest) async throws -> PageAnswer {
        try visit.requireOperator()
        return try await visit.trying(Self.form, on: { try await page(visit, $0) }) {
            let tenant = try await visit.services.admin.createTenant(
                name: try Name(visit.form["name"]), by: visit.author)
            return .redirect(Address.path("admin", "tenants", tenant.uuid.lowercased))
        }
    }

    // MARK: One tenant

    /// The tenant of the address. Another tenant's does not exist for people who are no operators.
    private func tenant(_ visit: DashboardRequest) async throws -> Tenant {
        guard let uuid = visit.uuid("tenant_uuid"), let tenant = try await visit.services.store.tenant(uuid) else {
            throw APIError.missing("tenant")
        }
        try visit.require(.administer, on: .tenant(tenant.key), called: "tenant")
        try visit.requireOperator()
        return tenant
    }

    @Sendable private func show(_ visit: DashboardRequest) async throws -> PageAnswer {
        let tenant = try await tenant(visit)
        return .page(try await page(tenant, visit).saying(visit, ["saved": "Saved."]))
    }

    private static func renameForm(_ tenant: Tenant) -> Form {
        Form(
            Address.path("admin", "tenants", tenant.uuid.lowercased), "Save",
            [.text("name", "Name", tenant.name, isRequired: true)]
        ).guarded
    }

    private static func deleteForm(_ tenant: Tenant) -> Form {
        Form(
            Address.path("admin", "tenants", tenant.uuid.lowercased, "delete"), "Delete this tenant",
            [.text("confirm", "Type the name of the tenant to confirm", isRequired: true)], isDanger: true)
    }

    private func page(
        _ tenant: Tenant, _ visit: DashboardRequest, rename: Form? = nil, delete: Form? = nil
    ) async throws -> PageView {
        let store = visit.services.store
        let applications = try await store.applications(in: .tenant(tenant.key))
            .sorted { ($0.name.lowercased(), $0.key) < ($1.name.lowercased(), $1.key) }
        var uses: [(Application, [QuotaUse])] = []
        try await visit.searching(nil) {
            for application in applications.prefix(Self.applicationsMax) {
                uses.append((application, try await store.quotas(of: application.key)))
            }
        }
        return Self.page(
            tenant, uses, applications: applications.count, rename: rename ?? Self.renameForm(tenant),
            delete: tenant.key == Tenant.first ? nil : delete ?? Self.deleteForm(tenant))
    }

    static func page(
        _ tenant: Tenant, _ uses: [(Application, [QuotaUse])], applications: Int, rename: Form, delete: Form?
    ) -> PageView {
        var page = PageView(tenant.name)
        page.crumbs = [Link("Tenants", Address.path("admin", "tenants"))]
        let facts = Section {
            Facts {
                Fact("Tenant UUID", .code(tenant.uuid.lowercased))
                Fact("Created", .time(tenant.createdAt))
                Fact("Applications", .number(applications))
            }
        }
        let shown: [Quota] = [.devices, .users, .topics, .geofences, .schedules, .content]
        let quotas = Section(
            "Quotas",
            text:
                "What each application stores, and the most that it may. The limits are settings: quota.devices and others."
        ) {
            Table(
                "Quotas", ["Application", "#Devices", "#Users", "#Topics", "#Geofences", "#Schedules", "#Content"],
                uses.map { application, uses in
                    [[.link(application.name, Address.of(application))]]
                        + shown.map { quota in [.text(uses.first { $0.quota == quota }?.words ?? "")] }
                }, empty: "No applications yet.",
                emptyLink: Link("New application", Address.path("apps", "new")))
        }
        let name = Section("Name") { rename }
        page.sections = [facts, quotas, name]
        if let delete {
            page.sections.append(
                Section("Delete", text: "Delete its applications first.", style: .danger) { delete })
        }
        return page
    }

    @Sendable private func rename(_ visit: DashboardRequest) async throws -> PageAnswer {
        let tenant = try await tenant(visit)
        return try await visit.trying(
            Self.renameForm(tenant), on: { try await page(tenant, visit, rename: $0) }
        ) {
            try await visit.services.admin.rename(tenant, to: try Name(visit.form["name"]), by: visit.author)
            return .redirect(
                Address.query(Address.path("admin", "tenants", tenant.uuid.lowercased), [("done", "saved")]))
        }
    }

    @Sendable private func delete(_ visit: DashboardRequest) async throws -> PageAnswer {
        let tenant = try await tenant(visit)
        return try await visit.trying(
            Self.deleteForm(tenant), on: { try await page(tenant, visit, delete: $0) }
        ) {
            guard visit.form.confirms(tenant.name) else { throw InvalidInput(field: "confirm", "is not the name") }
            try await visit.services.admin.delete(tenant, by: visit.author)
            return .redirect(Address.query(Address.path("admin", "tenants"), [("done", "deleted")]))
        }
    }
}

extension QuotaUse {
    /// The use, and the limit where there is one; bytes in MiB.
    fileprivate var words: String {
        guard let use else { return "" }
        let unit = quota == .content ? " MiB" : ""
        let used = (use / quota.unit).grouped
        return limit.map { "\(used) of \(($0 / quota.unit).grouped)\(unit)" } ?? used + unit
    }
}

extension DashboardRequest {
    /// Throws unless the person administers the whole server.
    func requireOperator() throws { try require(.administer, on: .everything, called: "page") }
}

import BelfryAPI
import BelfryService
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
        var page = try await page(visit, Self.form)
        if visit.query["done"] == "deleted" { page.notice = "Deleted." }
        return .page(page)
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
            page.sections[0].table?.next = Address.query(
                Address.path("admin", "tenants"), [("after", String(last.key.rawValue))])
        }
        return page
    }

    static func page(_ tenants: [Tenant], _ applications: [Key<Tenant>: Int], _ form: Form) -> PageView {
        var page = PageView(
            "Tenants", lead: "Owners of applications. What belongs to one does not exist for the others.")
        var section = Section()
        section.table = Table(
            "Tenants", ["Name", "#Applications", "Created"],
            tenants.map { tenant in
                [
                    [.link(tenant.name, Address.path("admin", "tenants", tenant.uuid.lowercased))],
                    [.number(applications[tenant.key] ?? 0)], [.time(tenant.createdAt)],
                ]
            }, empty: "There is none.")
        var new = Section(
            "New tenant", text: "Invite its people under People, and create its applications in its name.")
        new.form = form
        page.sections = [section, new]
        return page
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
            throw APIError.none("tenant")
        }
        try visit.require(.administer, on: .tenant(tenant.key), called: "tenant")
        try visit.requireOperator()
        return tenant
    }

    @Sendable private func show(_ visit: DashboardRequest) async throws -> PageAnswer {
        let tenant = try await tenant(visit)
        var page = try await page(tenant, visit)
        if visit.query["done"] == "saved" { page.notice = "Saved." }
        return .page(page)
    }

    private static func renameForm(_ tenant: Tenant) -> Form {
        Form(
            Address.path("admin", "tenants", tenant.uuid.lowercased), "Save",
            [.text("name", "Name", tenant.name, isRequired: true)]
        ).guarded
    }

    private static func deleteForm(_ tenant: Tenant) -> Form {
        var form = Form(
            Address.path("admin", "tenants", tenant.uuid.lowercased, "delete"), "Delete this tenant",
            [.text("confirm", "The tenant's name, to confirm", isRequired: true)])
        form.isDanger = true
        return form
    }

    private func page(
        _ tenant: Tenant, _ visit: DashboardRequest, rename: Form? = nil, delete: Form? = nil
    ) async throws -> PageView {
        let store = visit.services.store
        let applications = try await store.applications().filter { $0.tenantKey == tenant.key }
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
        var facts = Section()
        facts.facts = [
            Fact("Tenant UUID", .code(tenant.uuid.lowercased)), Fact("Created", .time(tenant.createdAt)),
            Fact("Applications", .number(applications)),
        ]
        var quotas = Section(
            "Quotas",
            text: "What each application stores, of what it may. The limits are settings: quota.devices and its like.")
        let shown: [Quota] = [.devices, .users, .topics, .geofences, .schedules, .content]
        quotas.table = Table(
            "Quotas", ["Application", "Devices", "Users", "Topics", "Geofences", "Schedules", "Content"],
            uses.map { application, uses in
                [[.link(application.name, Address.of(application))]]
                    + shown.map { quota in
                        [.text(uses.first { $0.quota == quota }?.words ?? "")]
                    }
            }, empty: "It has no application yet.", emptyLink: Link("New application", Address.path("apps", "new")))
        var name = Section("Name")
        name.form = rename
        page.sections = [facts, quotas, name]
        if let delete {
            var danger = Section("Delete", text: "Its applications have to be deleted before it.")
            danger.isDanger = true
            danger.form = delete
            page.sections.append(danger)
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
            guard visit.form["confirm"] == tenant.name else { throw InvalidInput(field: "confirm", "is not the name") }
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

import BelfryAPI
import BelfryService
import FoundationEssentials

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
        let applications = try await visit.applications().filter { visit.may(.administer, Permission.Subject($0)) }
        var bounds = applications.prefix(500).map { choice(of: $0) }
        switch visit.person.bounds {
        case .everything:
            let tenants = try await visit.services.store.tenants(after: nil, limit: 200)
            bounds = [everything] + tenants.map { choice(of: $0) } + bounds
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
                hint: hint(within: visit.person.bounds)),
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
        guard parts.count == 2, let uuid = UUID(uuidString: parts[1]) else { return .everything }
        if parts[0] == "tenant" {
            guard let tenant = try await visit.services.store.tenant(uuid) else { throw APIError.none("tenant or app") }
            return .tenant(tenant.key)
        }
        guard let application = try await visit.services.store.application(uuid) else {
            throw APIError.none("tenant or app")
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

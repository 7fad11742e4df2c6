import BelfryAPI
import BelfryCore
import FoundationEssentials

/// The scope and bounds that a form gives to a person or a key.
enum Role {
    static let scopes: [(String, String)] = [
        ("operator", "Operator: everything, for all tenants"),
        ("tenant-admin", "Tenant admin: everything of one tenant"),
        ("app-admin", "App admin: everything of one application"), ("sender", "Sender: read and send"),
        ("read-only", "Read only"),
    ]

    /// The fields of a role, with the tenants and applications that the person may administer.
    static func fields(_ visit: Visit) async throws -> [Field] {
        let applications = try await visit.applications().filter { visit.may(.administer, Permission.Subject($0)) }
        var bounds = applications.prefix(500).map { ("app:\($0.uuid.lowercased)", "Application: \($0.name)") }
        switch visit.person.bounds {
        case .everything:
            let tenants = try await visit.services.store.tenants(after: nil, limit: 200)
            bounds =
                [("", "Everything")] + tenants.map { ("tenant:\($0.uuid.lowercased)", "Tenant: \($0.name)") } + bounds
        case .tenant(let key):
            if let tenant = try await visit.services.store.tenant(key) {
                bounds = [("tenant:\(tenant.uuid.lowercased)", "Tenant: \(tenant.name)")] + bounds
            }
        case .application: break
        }
        let allowed = scopes.filter { $0.0 != "operator" || visit.person.bounds == .everything }
        return [
            .select("scope", "Role", allowed.first?.0 ?? "", allowed),
            .select(
                "bounds", "For", "", bounds,
                hint: "Operators are for everything; a tenant admin for a tenant, an app admin for an application."),
        ]
    }

    /// Throws when the person may not administer the bounds.
    static func read(_ visit: Visit) async throws -> (scope: AdminKey.Scope, bounds: AdminKey.Bounds) {
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

    private static func bounds(_ visit: Visit) async throws -> AdminKey.Bounds {
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
    static func names(_ bounds: [AdminKey.Bounds], _ visit: Visit) async throws -> [AdminKey.Bounds: String] {
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

package import BelfryService
package import FoundationEssentials

extension MemoryStore {
    package func create(_ new: NewTenant) async throws -> Tenant {
        let now = clock.now
        return transaction { contents in
            let tenant = Tenant(key: contents.nextKey(), uuid: new.uuid, name: new.name.text, createdAt: now)
            contents.tenants[tenant.key] = tenant
            return tenant
        }
    }

    package func tenants(after: Key<Tenant>?, limit: Int) async throws -> [Tenant] {
        let later = contents.tenants.values.filter { tenant in after.map { tenant.key > $0 } ?? true }
        return Array(later.sorted { $0.key < $1.key }.prefix(limit))
    }

    package func tenant(_ uuid: UUID) async throws -> Tenant? { contents.tenants.values.first { $0.uuid == uuid } }

    package func tenant(_ key: Key<Tenant>) async throws -> Tenant? { contents.tenants[key] }

    package func rename(_ tenant: Key<Tenant>, to name: Name) async throws {
        try transaction { contents in
            guard let old = contents.tenants[tenant] else { throw StoreError.unknown("tenant") }
            contents.tenants[tenant] = Tenant(key: tenant, uuid: old.uuid, name: name.text, createdAt: old.createdAt)
        }
    }

    package func delete(_ tenant: Key<Tenant>) async throws {
        guard tenant != Tenant.first else { throw StoreError.conflict("the first tenant cannot be deleted") }
        let now = clock.now
        try transaction { contents in
            let count = contents.applications.values.count { $0.tenantKey == tenant }
            guard count == 0 else {
                throw StoreError.conflict("the tenant has \(count) applications, which have to be deleted first")
            }
            guard contents.tenants.removeValue(forKey: tenant) != nil else { throw StoreError.unknown("tenant") }
            contents.revokeKeys(at: now) { $0 == .tenant(tenant) }
            contents.disablePeople(at: now) { $0.tenant == tenant }
        }
    }
}

/// How many requests a node has under way to receivers: bounded for all, for each tenant and for those that fail.
struct WebhookBudget: Sendable {
    private var used = 0
    private var failing = 0
    private var ofTenants: [Key<Tenant>: Int] = [:]

    static let requestsMax = 128
    static let ofReceiverMax = 16
    static let ofTenantMax = requestsMax / 4
    /// Receivers that took nothing lately share it, so that the others always have room.
    static let ofFailingMax = requestsMax / 2

    /// Tenants that get no more.
    var fullTenants: [Key<Tenant>] {
        ofTenants.filter { $0.value + Self.ofReceiverMax > Self.ofTenantMax }.map(\.key)
    }

    static func requests(isFailing: Bool) -> Int { isFailing ? 1 : ofReceiverMax }

    /// False where there is no room.
    mutating func take(of tenant: Key<Tenant>, isFailing: Bool) -> Bool {
        let count = Self.requests(isFailing: isFailing)
        guard used + count <= Self.requestsMax, ofTenants[tenant, default: 0] + count <= Self.ofTenantMax,
            !isFailing || failing < Self.ofFailingMax
        else { return false }
        add(count, tenant, isFailing)
        return true
    }

    mutating func giveBack(of tenant: Key<Tenant>, isFailing: Bool) {
        add(-Self.requests(isFailing: isFailing), tenant, isFailing)
        if ofTenants[tenant] == 0 { ofTenants[tenant] = nil }
    }

    private mutating func add(_ count: Int, _ tenant: Key<Tenant>, _ isFailing: Bool) {
        used += count
        ofTenants[tenant, default: 0] += count
        if isFailing { failing += count }
    }
}

import Synchronization

/// A fixed limit on rows that tenants make, beside the quotas of applications, which an operator may set.
///
/// Operators' own rows have none.
package struct RowLimit: Sendable, Hashable {
    /// The name of the rows, in the plural.
    package let things: String
    /// The name of the rows' owner.
    package let owner: String
    package let most: Int
    /// The advice on how to make room.
    private let way: String

    init(_ most: Int, _ things: String, of owner: String, _ way: String = "delete some first") {
        self.most = most
        self.things = things
        self.owner = owner
        self.way = way
    }

    package static let applications = RowLimit(10_000, "applications", of: "tenant")
    package static let platforms = RowLimit(1_000, "platforms", of: "application")
    package static let people = RowLimit(10_000, "people", of: "tenant")
    /// Usable links.
    package static let invitations = RowLimit(500, "open invitations and links", of: "tenant")
    /// Keys that are not revoked. The newest revoked ones are kept, up to the same number.
    package static let adminKeys = RowLimit(1_000, "admin keys", of: "tenant")
    package static let openEndpoints = RowLimit(64, "open endpoints", of: "application")
    /// The limit over all applications of a tenant.
    package static let tenantOpenEndpoints = RowLimit(512, "open endpoints", of: "tenant")
    /// Geofences that were deleted before their end, which devices have to remove until then.
    package static let geofenceDeletions = RowLimit(
        50_000, "deleted geofences that would not be over yet", of: "application", "let some of them end first")
    package static let carmaApps = RowLimit(100, "apps of Carma", of: "application")
    package static let carmaTriggers = RowLimit(1_000, "triggers of Carma", of: "app")

    /// Throws `StoreError.conflict` if one more would exceed the limit.
    package func check(_ use: Int) throws(StoreError) {
        guard use >= most else { return }
        throw .conflict("the \(owner) has \(use) \(things), which is the limit: \(way)")
    }
}

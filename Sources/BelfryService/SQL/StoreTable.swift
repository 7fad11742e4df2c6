/// A table of the store: what bounds its rows, what they belong to, and how they are copied and deleted. Each is described beside its
/// schema; deletions, `belfry database copy` and the retention sweeper read that description.
package struct StoreTable: Sendable {
    enum Owner: Hashable {
        /// An application, which the column `application_id` names.
        case application
        /// A row of another table, which a column refers to by its id.
        case row(of: String, by: String)

        static let platform = Owner.row(of: "platform", by: "platform_id")
        static let push = Owner.row(of: "push", by: "push_id")
        static let topic = Owner.row(of: "topic", by: "topic_id")
        static let geofence = Owner.row(of: "geofence", by: "geofence_id")
    }

    /// The bound on the rows that tenants make: nothing that they put into a table may grow without end.
    enum RowBound {
        case quota(Quota)
        case limit(RowLimit)
        /// So many for each row of another table.
        case perRow(String, Int)
        /// With the rows of another table that they are derived from.
        case derived(String)
        /// Rows are deleted at the age of this setting, and a rate limit bounds the callers that make them.
        case retention(String)
        /// Made by operators, or by the server for itself.
        case operators
    }

    enum Engine { case sqlite, postgres }

    /// The age at which rows are deleted.
    struct Expiry {
        let kind: Retention.Kind
        let column: String
        /// The unit of the column; milliseconds if nil.
        let unit: AnalyticsBucket.Width?

        init(_ kind: Retention.Kind, _ column: String, in unit: AnalyticsBucket.Width? = nil) {
            (self.kind, self.column, self.unit) = (kind, column, unit)
        }
    }

    package let name: String
    let rows: RowBound
    /// The columns of the primary key.
    let key: String
    /// Deleted after its rows are; nil where rows stay, or the database deletes them with those they refer to.
    let owner: Owner?
    /// Whether rows go with the platform that `platform_id` names, too.
    let goesWithPlatform: Bool
    let expiry: Expiry?
    /// False where each engine derives the rows from other tables, or they mean nothing to a database that no server uses.
    let isCopied: Bool
    /// A column that each engine derives for itself.
    let derivedColumn: String?
    /// The engine that has the table; nil if both have it.
    let engine: Engine?

    init(
        _ name: String, rows: RowBound, key: String = "id", of owner: Owner? = nil, goesWithPlatform: Bool = false,
        expiry: Expiry? = nil, isCopied: Bool = true, derivedColumn: String? = nil, in engine: Engine? = nil
    ) {
        self.name = name
        self.rows = rows
        self.key = key
        self.owner = owner
        self.goesWithPlatform = goesWithPlatform || owner == .platform
        self.expiry = expiry
        self.isCopied = isCopied
        self.derivedColumn = derivedColumn
        self.engine = engine
    }

    /// All tables, each after those its rows refer to.
    package static let all =
        migrations + Schema.parts.flatMap(\.tables) + Schema.migrations.flatMap { $0.tables }

    static let sqlite = all.filter { $0.engine != .postgres }
    static let postgres = all.filter { $0.engine != .sqlite }

    private static let migrations = [
        StoreTable("grdb_migrations", rows: .operators, key: "identifier", isCopied: false, in: .sqlite),
        StoreTable("belfry_migration", rows: .operators, key: "identifier", isCopied: false, in: .postgres),
    ]
}

extension StoreTable {
    /// Deletes some rows of an application `$1`, or of its platforms, up to `$2`.
    var deleteOfApplication: SQLText? {
        switch owner {
        case .application: deleteSome("application_deletion", where: "application_id = $1")
        case .platform:
            deleteSome(
                "application_deletion", foundIn: "platform JOIN \(name) ON \(name).platform_id = platform.id",
                where: "platform.application_id = $1")
        case nil, .row: nil
        }
    }

    /// Some rows of an application `$1`, up to `$2`.
    var someOfApplication: SQLText {
        "SELECT id /* application_deletion.some_\(name) */ FROM \(name) WHERE application_id = $1 LIMIT $2"
    }

    /// Deletes the rows `$1`, up to `$2`.
    var deleteFound: SQLText { deleteSome("application_deletion", where: "id \(among: "$1")") }

    /// Deletes some rows of the rows `$1` of another table, up to `$2`.
    func delete(ofRowsOf table: StoreTable) -> SQLText? {
        guard case .row(table.name, let column) = owner else { return nil }
        return deleteSome("application_deletion", where: "\(column) \(among: "$1")")
    }

    /// Deletes some rows of a platform `$1`, up to `$2`; nil for posting lists, which are found by their topics.
    var deleteOfPlatform: SQLText? {
        guard goesWithPlatform, owner != .topic else { return nil }
        return deleteSome("platform_deletion", where: "platform_id = $1")
    }

    /// Deletes some posting lists of the topics `$1` and a platform `$3`, up to `$2`.
    var deletePostingsOfPlatform: SQLText? {
        guard goesWithPlatform, owner == .topic else { return nil }
        return deleteSome("platform_deletion", where: "topic_id \(among: "$1") AND platform_id = $3")
    }

    /// Deletes some rows of the row `$1` of their owner, up to `$2`.
    func delete(of owner: Owner) -> SQLText? {
        guard self.owner == owner, case .row(let table, let column) = owner else { return nil }
        return deleteSome("\(table)_deletion", where: "\(column) = $1")
    }

    /// Deletes some rows from before `$1`, up to `$2`.
    var deleteExpired: SQLText? { expiry.map { deleteSome("retention", where: "\($0.column) < $1") } }

    /// All large deletions are done in such steps.
    private func deleteSome(_ occasion: String, foundIn source: String? = nil, where condition: SQLText) -> SQLText {
        let key = source == nil ? key : key.split(separator: ", ").map { "\(name).\($0)" }.joined(separator: ", ")
        return .deleteSome("\(occasion).\(name)", from: name, key: key, foundIn: source, where: condition)
    }
}

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
    /// Geofences that were deleted, and that devices are still told of.
    package static let geofenceDeletions = RowLimit(
        50_000, "deleted geofences that devices are told of", of: "application", "let some of them end first")
    package static let carmaApps = RowLimit(100, "apps of Carma", of: "application")
    package static let carmaTriggers = RowLimit(1_000, "triggers of Carma", of: "app")

    /// Throws `StoreError.conflict` if one more would exceed the limit.
    package func check(_ use: Int) throws(StoreError) {
        guard use >= most else { return }
        throw .conflict("the \(owner) has \(use) \(things), which is the limit: \(way)")
    }
}

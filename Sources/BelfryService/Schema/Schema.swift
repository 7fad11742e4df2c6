/// The tables of both engines, in the order they are made; each `Schema+….swift` holds those of one part of the house. What only
/// one engine has is in its own `Schema` folder.
///
/// A later table or column is a migration of its own: one that was released is never edited.
enum Schema {
    static let identifier = "0001 belfry"

    static let tables: [SQLText] = [
        registry, topics, devices, searchIndex, pushes, deliveryNotes, schedules, locations, geofences, counts,
        administration, idempotency, node, commandCount, mirror, imports, users, openEndpoints, acrobits, carma,
        dashboard,
    ]
}

extension Schema {
    /// The steps after the first, in the order of their numbers.
    static let migrations: [any SchemaMigration.Type] = [
        CredentialFactsMigration.self, LinkAndKeyAuthors.self, PlainEndpointMigration.self, NormalizedNames.self,
        UnknownFieldsMigration.self, ProbesMigration.self, NamesWithoutBlanks.self, ComposeDraftMigration.self,
    ]
}

/// A numbered step of the schema after the first. It runs in a transaction of its own.
protocol SchemaMigration: SendableMetatype {
    /// The number of the migration and what it does, such as `0002 credential facts`. From release 0.2.0 on it ends in
    /// `SchemaVersion.additiveMark`.
    static var identifier: String { get }

    static func run(in db: some SQLConnection) throws
}

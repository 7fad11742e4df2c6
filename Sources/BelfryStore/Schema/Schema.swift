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

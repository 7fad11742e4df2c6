/// Locations grouped under a name, to make choosing locations easier. Devices never see groups.
package struct LocationGroup: Sendable, Hashable {
    package let key: Key<LocationGroup>
    package let name: String
    package let summary: String
    /// In the order they were given.
    package let locations: [Location]
    package let createdAt: Instant
    package let updatedAt: Instant

    package var plan: LocationGroupPlan {
        LocationGroupPlan(kept: name, summary: summary, locations: locations.map(\.key))
    }
}

/// The content of a location group.
package struct LocationGroupPlan: Sendable, Hashable {
    package let name: String
    package let summary: String
    /// Each once, in the order they were given.
    package let locations: [Key<Location>]

    package static let summaryBytesMax = 1_024
    package static let locationsMax = 1_000

    package init(name: String, summary: String, locations: [Key<Location>]) throws(InvalidInput) {
        guard !name.isEmpty else { throw InvalidInput(field: "name", "is empty") }
        guard name.utf8.count <= Place.nameBytesMax else {
            throw InvalidInput(field: "name", "is \(name.utf8.count) bytes, the limit is \(Place.nameBytesMax)")
        }
        guard summary.utf8.count <= Self.summaryBytesMax else {
            throw InvalidInput(
                field: "description", "is \(summary.utf8.count) bytes, the limit is \(Self.summaryBytesMax)")
        }
        let locations = locations.withoutRepeats
        guard locations.count <= Self.locationsMax else {
            throw InvalidInput(
                field: "location_ids", "has \(locations.count) locations, the limit is \(Self.locationsMax)")
        }
        self.init(kept: name.normalized, summary: summary.normalized, locations: locations)
    }

    /// Creates a value that was validated before.
    fileprivate init(kept name: String, summary: String, locations: [Key<Location>]) {
        self.name = name
        self.summary = summary
        self.locations = locations
    }
}

extension Array where Element: Hashable {
    /// Each element at its first position.
    package var withoutRepeats: [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}

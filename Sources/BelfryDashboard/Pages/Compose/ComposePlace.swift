import BelfryService

/// A location or a group of them, as a target of the form.
struct ComposePlace: Sendable {
    let id: String
    let name: String
    let locations: [Key<Location>]
    let groups: [Key<LocationGroup>]

    init(_ location: Location) {
        (id, name) = ("location-\(location.key)", location.place.name)
        (locations, groups) = ([location.key], [])
    }

    init(_ group: LocationGroup) {
        (id, name) = ("group-\(group.key)", "Group: \(group.name)")
        (locations, groups) = ([], [group.key])
    }
}

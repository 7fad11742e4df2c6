import FoundationEssentials

/// Places: the map, with locations, groups and geofences in lists, and each location with its own map.
struct PlacePages {
    let make: RouteMaker

    var routes: [PageRoute] {
        [
            make.application(.get, "places", .read, list), make.application(.post, "places", .change, create),
            make.application(.get, "places/:location_id", .read, show),
            make.application(.post, "places/:location_id", .change, update),
            make.application(.post, "places/:location_id/delete", .change, delete),
        ]
    }

    // MARK: The map and the lists

    @Sendable private func list(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        .page(try await page(visit, application))
    }

    private func page(_ visit: DashboardRequest, _ application: Application, form: Form? = nil) async throws -> PageView
    {
        let store = visit.services.store
        let point = MapPoint(visit.query["q"])
        let number = Int(visit.number("page") ?? 1)
        let query = GeoListQuery(
            page: number, size: GeoListQuery.sizeMax, keyword: point == nil ? visit.query["q"] : "")
        let (map, locations, groups, geofences) = try await visit.searching(application) {
            (
                try await PlaceMap(of: application.key, in: store),
                try await store.locations(of: application.key, query),
                try await store.locationGroups(of: application.key, query),
                try await store.geofences(of: application.key, query)
            )
        }
        let listed = point.map { Self.nearest(map.locations, $0) } ?? locations.elements
        let isFound = point != nil || !visit.query["q"].isEmpty
        let frame =
            visit.mapFrame
            ?? point.map { MapFrame(latitude: $0.latitude, longitude: $0.longitude, zoom: MapFrame.zoomOfPlace) }
            ?? MapFrame(around: (isFound ? listed : map.locations).map { ($0.place.latitude, $0.place.longitude) })
        let mayChange = visit.may(.change, Permission.Subject(application))
        var page = Self.page(
            application, map, Lists(locations: listed, groups: groups.elements, geofences: geofences.elements),
            point: point, search: visit.query["q"],
            view: MapView(frame, map.spots(in: application), on: visit.services.options.mapTiles, point: point?.pair) {
                visit.mapAddress(Address.of(application, "places"), at: $0)
            }, mayChange: mayChange)
        if mayChange {
            page.sections.append(
                Section(
                    "New location",
                    text: "Give its coordinates, or search for them first: the fields have the map's middle."
                ) {
                    form ?? Self.form(application, visit.mapFrame ?? point.map { _ in frame })
                })
        }
        let most = max(point == nil ? locations.total : 0, groups.total, geofences.total)
        if query.offset + query.size < most {
            let next = [("q", visit.query["q"]), ("page", String(number + 1))]
            page.sections[1].add {
                ButtonRow([Link("More places", Address.query(Address.of(application, "places"), next))])
            }
        }
        page = page.saying(visit, ["saved": "Saved. Devices get the change within a moment.", "deleted": "Deleted."])
        return page
    }

    /// The locations nearest to a point, as many as a page of a list has.
    private static func nearest(_ locations: [Location], _ point: MapPoint) -> [Location] {
        let byDistance = locations.map { (point.distance(to: $0.place), $0) }.sorted { $0.0 < $1.0 }
        return byDistance.prefix(GeoListQuery.sizeMax).map(\.1)
    }

    /// The rows of the page's lists.
    struct Lists: Sendable {
        let locations: [Location]
        let groups: [LocationGroup]
        let geofences: [Geofence]
    }

    static func page(
        _ application: Application, _ map: PlaceMap, _ lists: Lists, point: MapPoint?, search: String, view: MapView,
        mayChange: Bool
    ) -> PageView {
        var page = PageView(
            "Places", in: application,
            lead: "Locations, and the geofences at them, whose texts devices show when they come or leave.")
        if mayChange {
            page.actions = [
                Link("New group", Address.of(application, "groups", "new")),
                Link("New geofence", Address.of(application, "geofences", "new"), isMain: true),
            ]
        }
        let first = Section(text: map.isMore ? "The map has the first 500 locations." : "") {
            Form.filter(
                Address.of(application, "places"),
                [
                    .text(
                        "q", "Search", search, hint: "A name, or coordinates such as 48.8584, 2.2945.", type: "search")
                ], "Search")
            view
        }
        page.sections = [
            first, locations(lists.locations, application, map, point),
            geofences(lists.geofences, application, map), groups(lists.groups, application),
        ]
        return page
    }

    private static func locations(
        _ locations: [Location], _ application: Application, _ map: PlaceMap, _ point: MapPoint?
    ) -> Section {
        Section(point == nil ? "Locations" : "Nearest locations") {
            Table(
                "Locations",
                ["Name", "Coordinates", "#Radius (m)"] + (point == nil ? [] : ["#Distance (m)", "Within"])
                    + ["#Geofences", "#Triggers", "Changed"],
                locations.map { location in
                    let place = location.place
                    var cells: [[Value]] = [
                        [.link(place.name, location.address(in: application))],
                        [.text("\(place.latitude.coordinate), \(place.longitude.coordinate)")],
                        [.text(place.radius.coordinate)],
                    ]
                    if let distance = point?.distance(to: place) {
                        cells.append([.number(Int(distance))])
                        cells.append([distance <= place.radius ? .badge("inside", .good) : .text("")])
                    }
                    cells.append([.number(map.geofences(at: location.key).count)])
                    cells.append([.number(map.byLocation[location.key] ?? 0)])
                    cells.append([.time(location.updatedAt)])
                    return cells
                }, empty: "No locations yet.")
        }
    }

    static func geofences(_ geofences: [Geofence], _ application: Application, _ map: PlaceMap) -> Section {
        Section("Geofences") {
            Table(
                "Geofences", ["Geofence", "At", "Trigger", "Platform", "Phase", "From", "Until", "#Triggers"],
                geofences.map { fence in
                    [
                        [.link(fence.summary, fence.address(in: application))], [.text(fence.places)],
                        [.text(fence.plan.trigger.rawValue)], [.text(fence.plan.platform.rawValue)], [fence.phaseBadge],
                        [.time(fence.plan.startsAt == .zero ? nil : fence.plan.startsAt, none: "at once")],
                        [.time(fence.plan.expiresAt)], [.number(map.byGeofence[fence.key] ?? 0)],
                    ]
                }, empty: "No geofences yet.")
        }
    }

    private static func groups(_ groups: [LocationGroup], _ application: Application) -> Section {
        Section("Groups") {
            Table(
                "Groups", ["Name", "Description", "#Locations"],
                groups.map { group in
                    [
                        [.link(group.name, group.address(in: application))], [.text(group.summary)],
                        [.number(group.locations.count)],
                    ]
                }, empty: "No groups yet. A group is a set of locations that geofences can use.")
        }
    }

    // MARK: A location

    /// The form's names for fields that errors of a location name.
    private static let names = ["lat": "latitude", "long": "longitude", "rad": "radius"]

    private static func form(_ application: Application, _ frame: MapFrame?) -> Form {
        Form(
            Address.of(application, "places"), "Create the location",
            fields("", frame?.latitude.coordinate ?? "", frame?.longitude.coordinate ?? "", "100"))
    }

    private static func form(_ location: Location, _ application: Application) -> Form {
        let place = location.place
        return Form(
            location.address(in: application), "Save",
            fields(place.name, place.latitude.plain, place.longitude.plain, place.radius.plain)
        ).guarded(by: Admin.EntityTag(place))
    }

    private static func fields(_ name: String, _ latitude: String, _ longitude: String, _ radius: String) -> [Field] {
        [
            .text("name", "Name", name, isRequired: true),
            .text(
                "latitude", "Latitude", latitude, hint: "Degrees, −90 to 90, such as 48.8584.", isRequired: true),
            .text(
                "longitude", "Longitude", longitude, hint: "Degrees, −180 to 180, such as 2.2945.", isRequired: true),
            .text("radius", "Radius in metres", radius, hint: "At least \(Int(Place.radiusMin)).", isRequired: true),
        ]
    }

    private static func place(_ form: FormData) throws(InvalidInput) -> Place {
        try Place(
            name: form["name"], latitude: try number(form, "latitude"), longitude: try number(form, "longitude"),
            radius: try number(form, "radius"))
    }

    private static func number(_ form: FormData, _ name: String) throws(InvalidInput) -> Double {
        guard let number = Double(form[name].replacing(",", with: ".")), number.isFinite else {
            throw InvalidInput(field: name, "has to be a number")
        }
        return number
    }

    @Sendable private func create(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        try await visit.trying(
            Self.form(application, nil), names: Self.names, on: { try await page(visit, application, form: $0) }
        ) {
            _ = try await visit.services.all.places.create(
                try Self.place(visit.form), of: application, by: visit.author)
            return Self.done(application, "saved")
        }
    }

    static func done(_ application: Application, _ what: String) -> PageAnswer {
        .redirect(Address.query(Address.of(application, "places"), [("done", what)]))
    }

    private func location(_ visit: DashboardRequest, _ application: Application) async throws -> Location {
        guard let number = Int64(visit.text("location_id")),
            let location = try await visit.services.store.location(Key(number), of: application.key)
        else { throw APIError.none("location") }
        return location
    }

    @Sendable private func show(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let location = try await location(visit, application)
        return .page(try await page(visit, application, location))
    }

    private func page(
        _ visit: DashboardRequest, _ application: Application, _ location: Location, form: Form? = nil,
        problem: String = ""
    ) async throws -> PageView {
        let place = location.place
        let map = try await visit.searching(application) {
            try await PlaceMap(of: application.key, in: visit.services.store)
        }
        var page = PageView(place.name, in: application, "Places")
        page.problem = problem
        page = page.saying(visit, ["saved": "Saved. Devices get the change within a moment."])
        let first = Section {
            Facts {
                Fact("Coordinates", .text("\(place.latitude.coordinate), \(place.longitude.coordinate)"))
                Fact("Radius", .text("\(place.radius.coordinate) m"))
                Fact("Triggers", .number(map.byLocation[location.key] ?? 0))
                Fact("Changed", .time(location.updatedAt))
            }
            MapView(
                visit.mapFrame ?? Self.frame(of: place), map.spots(in: application),
                on: visit.services.options.mapTiles, point: (place.latitude, place.longitude)
            ) { visit.mapAddress(location.address(in: application), at: $0) }
        }
        page.sections = [first, Self.geofences(map.geofences(at: location.key), application, map)]
        guard visit.may(.change, Permission.Subject(application)) else { return page }
        page.sections.append(
            Section("Change it", text: "Devices with a geofence here hear of it.") {
                form ?? Self.form(location, application)
                ButtonRow([
                    .button(Address.of(application, "places", "\(location.key)", "delete"), "Delete", isDanger: true)
                ])
            })
        return page
    }

    /// Close enough to see its circle.
    private static func frame(of place: Place) -> MapFrame {
        var frame = MapFrame(latitude: place.latitude, longitude: place.longitude, zoom: 18)
        while frame.zoom > MapFrame.zooms.lowerBound,
            place.radius * frame.unitsPerMetre(at: place.latitude) > 120
        {
            frame = frame.moved(closer: -1)
        }
        return frame
    }

    @Sendable private func update(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let location = try await location(visit, application)
        return try await visit.trying(
            Self.form(location, application), names: Self.names,
            on: { try await page(visit, application, location, form: $0) }
        ) {
            let place = try Self.place(visit.form)
            _ = try await visit.services.all.places.update(location.key, of: application, by: visit.author) {
                try EditConflict.check($0, is: location.place)
                return place
            }
            return .redirect(Address.query(location.address(in: application), [("done", "saved")]))
        }
    }

    @Sendable private func delete(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let location = try await location(visit, application)
        let question = visit.question(
            "Delete the place \(location.place.name)?", "A place that a geofence or a group uses cannot be deleted.",
            [],
            yes: "Delete it", no: Address.of(application, "places", "\(location.key)"))
        if let question { return question }
        do {
            try await visit.services.all.places.delete(
                location.key, named: location.place.name, of: application, by: visit.author)
        } catch StoreError.conflict(let words) {
            // A geofence or a group is at it.
            return .invalid(
                try await page(
                    visit, application, location, problem: words.prefix(1).uppercased() + words.dropFirst()))
        }
        return Self.done(application, "deleted")
    }
}

/// The places of an application, as the map and the lists show them.
struct PlaceMap: Sendable {
    /// The first of them, as many as a map shows.
    let locations: [Location]
    let geofences: [Geofence]
    /// Whether there are more than these.
    let isMore: Bool
    /// How often each geofence was triggered, and at which of its locations.
    let byGeofence: [Key<Geofence>: Int]
    let byLocation: [Key<Location>: Int]

    /// The most locations, and geofences, that are read.
    private static let placesMax = 500
    private static let triggersMax = 5_000

    init(of application: Key<Application>, in store: any Store) async throws {
        (locations, geofences) = (
            try await Self.all { try await store.locations(of: application, $0) },
            try await Self.all { try await store.geofences(of: application, $0) }
        )
        isMore = locations.count >= Self.placesMax || geofences.count >= Self.placesMax
        var (byGeofence, byLocation): ([Key<Geofence>: Int], [Key<Location>: Int]) = ([:], [:])
        var after: GeofenceTriggers.Spot?
        var read = 0
        repeat {
            let found = try await store.geofenceTriggers(of: application, after: after, limit: 500)
            for triggers in found {
                byGeofence[triggers.spot.geofence, default: 0] += Int(triggers.count)
                if let location = triggers.spot.location { byLocation[location, default: 0] += Int(triggers.count) }
            }
            read += found.count
            after = found.count == 500 ? found.last?.spot : nil
        } while after != nil && read < Self.triggersMax
        (self.byGeofence, self.byLocation) = (byGeofence, byLocation)
    }

    private static func all<Element: Sendable>(
        _ read: (GeoListQuery) async throws -> ListPage<Element>
    ) async throws -> [Element] {
        var elements: [Element] = []
        var page = 1
        while elements.count < placesMax {
            let found = try await read(GeoListQuery(page: page, size: GeoListQuery.sizeMax))
            elements += found.elements
            guard found.elements.count == GeoListQuery.sizeMax else { break }
            page += 1
        }
        return elements
    }

    func spots(in application: Application) -> [MapView.Spot] {
        let active = Set(geofences.filter { $0.phase == .active }.flatMap(\.locations).map(\.key))
        return locations.map { $0.spot(in: application, isActive: active.contains($0.key)) }
    }

    func geofences(at location: Key<Location>) -> [Geofence] {
        geofences.filter { $0.locations.contains { $0.key == location } }
    }
}

/// A point that was searched for, such as `48.8584, 2.2945`.
struct MapPoint: Sendable {
    let latitude: Double
    let longitude: Double

    /// nil for a text that is anything else.
    init?(_ text: String) {
        let parts = text.split { $0 == "," || $0 == ";" || $0.isWhitespace }.filter { !$0.isEmpty }
        guard parts.count == 2, let latitude = Double(parts[0]), let longitude = Double(parts[1]),
            -90...90 ~= latitude, -180...180 ~= longitude
        else { return nil }
        self.init(latitude, longitude)
    }

    init(_ latitude: Double, _ longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
    }

    var pair: (latitude: Double, longitude: Double) { (latitude, longitude) }

    /// The distance from the middle of a place, in metres.
    func distance(to place: Place) -> Double { MapFrame.metres(pair, (place.latitude, place.longitude)) }
}

extension Location {
    func address(in application: Application) -> String { Address.of(application, "places", "\(key)") }

    /// - Parameter isActive: whether something happens there now.
    func spot(in application: Application, isActive: Bool) -> MapView.Spot {
        MapView.Spot(
            name: place.name, latitude: place.latitude, longitude: place.longitude, radius: place.radius,
            href: address(in: application), isActive: isActive)
    }
}

extension Geofence {
    func address(in application: Application) -> String { Address.of(application, "geofences", "\(key)") }

    /// The first line of the notification.
    var summary: String {
        let text =
            plan.data.parts["ios"]?["alertBody"]?.stringValue ?? plan.data.parts["androidFcm"]?["message"]?.stringValue
            ?? plan.data.parts["android"]?["message"]?.stringValue ?? ""
        return text.isEmpty ? "Geofence \(key)" : Push.Content(body: text).summary
    }

    var phaseBadge: Value { .badge("\(phase)", phase == .active ? .good : .calm) }

    /// The names of its first locations.
    var places: String {
        locations.prefix(4).map(\.place.name).joined(separator: ", ") + (locations.count > 4 ? ", …" : "")
    }
}

extension LocationGroup {
    func address(in application: Application) -> String { Address.of(application, "groups", "\(key)") }
}

extension DashboardRequest {
    /// The part of the world that the page's map shows; nil where the address does not say it.
    var mapFrame: MapFrame? {
        guard let latitude = Double(query["lat"]), let longitude = Double(query["lon"]) else { return nil }
        return MapFrame(latitude: latitude, longitude: longitude, zoom: Int(query["zoom"]) ?? MapFrame.zoomOfPlace)
    }

    /// The address of a page with its map moved.
    func mapAddress(_ path: String, at frame: MapFrame) -> String {
        let kept = ["q", "page"].map { ($0, query[$0]) }
        return Address.query(
            path,
            kept + [
                ("lat", frame.latitude.coordinate), ("lon", frame.longitude.coordinate), ("zoom", "\(frame.zoom)"),
            ])
    }
}

extension Double {
    /// Degrees, to some centimetres.
    var coordinate: String { ((self * 1_000_000).rounded() / 1_000_000).plain }

    /// The number as people write it: a whole number without a point.
    var plain: String {
        self == rounded() && magnitude < 1e15 ? String(Int(self)) : String(self)
    }
}

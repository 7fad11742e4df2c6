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
        var point = MapPoint(visit.query["q"])
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
        // A name that nothing of the application has may be a city's.
        let cities =
            point == nil && locations.total + groups.total == 0
            ? Cities.all.search(visit.query["q"]) : []
        let city = cities.first
        point = point ?? city?.point
        let listed = point.map { Self.nearest(map.locations, $0) } ?? locations.elements
        let isFound = point != nil || !visit.query["q"].isEmpty
        let frame =
            visit.mapFrame
            ?? point.map {
                MapFrame(
                    latitude: $0.latitude, longitude: $0.longitude,
                    zoom: city == nil ? MapFrame.zoomOfPlace : MapFrame.zoomOfCity)
            }
            ?? MapFrame(around: (isFound ? listed : map.locations).map { ($0.place.latitude, $0.place.longitude) })
        let mayChange = visit.may(.change, Permission.Subject(application))
        var page = Self.page(
            application, map, Lists(locations: listed, groups: groups.elements, geofences: geofences.elements),
            point: point, search: visit.query["q"],
            view: MapView(frame, map.spots(in: application), on: visit.services.options.mapTiles, point: point?.pair) {
                visit.mapAddress(Address.of(application, "places"), at: $0)
            },
            form: mayChange
                ? form ?? Self.form(application, visit.mapFrame.map { MapPoint($0.latitude, $0.longitude) } ?? point)
                : nil)
        let most = max(point == nil ? locations.total : 0, groups.total, geofences.total)
        if query.offset < most - query.size {
            let next = [("q", visit.query["q"]), ("page", String(number + 1))]
            page.sections[1].add {
                ButtonRow([Link("More places", Address.query(Address.of(application, "places"), next))])
            }
        }
        if let city { page.notice = "This is \(city.words)." }
        if cities.count > 1 {
            page.sections[0].add {
                ButtonRow(
                    cities.dropFirst().map {
                        Link($0.words, Address.query(Address.of(application, "places"), [("q", $0.point.text)]))
                    })
            }
        }
        return page.saying(visit, ["saved": "Saved. Devices get the change within a moment.", "deleted": "Deleted."])
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
        form: Form?
    ) -> PageView {
        var page = PageView(
            "Places", in: application,
            lead: "Locations, and the geofences at them, whose texts devices show when they come or leave.")
        if form != nil {
            page.actions = [
                Link("New group", Address.of(application, "groups", "new")),
                Link("New geofence", Address.of(application, "geofences", "new"), isMain: true),
            ]
        }
        let first = Section(
            text: map.isMore ? "The map has the first 500 locations." : "", style: form == nil ? nil : .paired
        ) {
            Form.filter(
                Address.of(application, "places"),
                [
                    .text(
                        "q", "Search", search,
                        hint: "A name, a city, coordinates such as 48.8584, 2.2945, or a Plus Code.",
                        type: "search")
                ], "Search")
            view
            form
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
    private static let names = ["lat": "place", "long": "place", "rad": "radius", "data": "body"]

    private static func form(_ application: Application, _ point: MapPoint?) -> Form {
        let point = point.map { "\($0.latitude.coordinate), \($0.longitude.coordinate)" }
        return Form(
            Address.of(application, "places"), "Create the location",
            fields("", point ?? "", "100") + [
                .area(
                    "body", "Message",
                    hint: "With one a geofence is created, too: devices show it when they come, for 30 days.")
            ])
    }

    private static func form(_ location: Location, _ application: Application) -> Form {
        let place = location.place
        return Form(
            location.address(in: application), "Save",
            fields(place.name, MapPoint(place.latitude, place.longitude).text, place.radius.plain)
        ).guarded(by: Admin.EntityTag(place))
    }

    private static func fields(_ name: String, _ point: String, _ radius: String) -> [Field] {
        [
            .text("name", "Name", name, isRequired: true),
            .text(
                "place", "Place", point, hint: "\(coordinates). With a script, draw it on the map.", isRequired: true,
                placeholder: "52.52, 13.405"),
            .text("radius", "Radius in metres", radius, hint: "At least \(Int(Place.radiusMin)).", isRequired: true),
        ]
    }

    private static let coordinates =
        "Coordinates such as 52.52, 13.405 or 52°31′12″N 13°24′18″E, a Plus Code such as 9F4MGCC4+22, or the name of a city"

    private static func place(_ visit: DashboardRequest, _ application: Application) async throws -> Place {
        let text = visit.form["place"]
        guard let point = try await point(text, visit, application) else {
            let cities = Cities.all.search(text).map { "\($0.point.text) is \($0.words)" }
            guard cities.isEmpty else {
                throw InvalidInput(field: "place", "is a city: put its coordinates. \(cities.joined(separator: "; "))")
            }
            throw InvalidInput(field: "place", "has to be coordinates or a Plus Code")
        }
        return try Place(
            name: visit.form["name"], latitude: point.latitude, longitude: point.longitude,
            radius: try number(visit.form, "radius"))
    }

    /// A point as it was typed; a short Plus Code stands before the name of a location that it is near.
    private static func point(_ text: String, _ visit: DashboardRequest, _ application: Application) async throws
        -> MapPoint?
    {
        if let point = MapPoint(text) { return point }
        let parts = text.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, let code = PlusCode(String(parts[0])) else { return nil }
        let query = GeoListQuery(size: 1, keyword: String(parts[1]))
        let near = try await visit.searching(application) {
            try await visit.services.store.locations(of: application.key, query).elements.first
        }
        return near.flatMap { code.point(near: MapPoint($0.place.latitude, $0.place.longitude)) }
    }

    private static func number(_ form: FormData, _ name: String) throws(InvalidInput) -> Double {
        let parts = form[name].split(separator: ",", omittingEmptySubsequences: false)
        guard parts.count < 2 || parts.last?.count != 3 else {
            throw InvalidInput(field: name, "may be of thousands: write the number without separators")
        }
        guard let number = Double(form[name].replacing(",", with: ".")), number.isFinite else {
            throw InvalidInput(field: name, "has to be a number")
        }
        return number
    }

    @Sendable private func create(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        try await visit.trying(
            Self.form(application, nil), names: Self.names, on: { try await page(visit, application, form: $0) }
        ) {
            let (places, body) = (visit.services.all.places, visit.form["body"])
            let data = body.isEmpty ? nil : try GeofenceTexts.data(body, "")
            let place = try await Self.place(visit, application)
            guard let data else {
                _ = try await places.create(place, of: application, by: visit.author)
                return Self.done(application, "saved")
            }
            let end = visit.services.clock.now + GeofencePages.life
            _ = try await places.create(place, of: application, by: visit.author) { location in
                try GeofencePlan(locations: [location], trigger: .enter, data: data, expiresAt: end)
            }
            return Self.done(application, "saved")
        }
    }

    static func done(_ application: Application, _ what: String) -> PageAnswer {
        .redirect(Address.query(Address.of(application, "places"), [("done", what)]))
    }

    private func location(_ visit: DashboardRequest, _ application: Application) async throws -> Location {
        guard let number = Int64(visit.text("location_id")),
            let location = try await visit.services.store.location(Key(number), of: application.key)
        else { throw APIError.missing("location") }
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
        let mayChange = visit.may(.change, Permission.Subject(application))
        let first = Section(
            text: mayChange ? "Devices with a geofence here get a change." : "", style: mayChange ? .paired : nil
        ) {
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
            if mayChange { form ?? Self.form(location, application) }
        }
        page.sections = [first, Self.geofences(map.geofences(at: location.key), application, map)]
        if mayChange {
            page.sections[0].add {
                ButtonRow([
                    .button(Address.of(application, "places", "\(location.key)", "delete"), "Delete", isDanger: true)
                ])
            }
        }
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
            let place = try await Self.place(visit, application)
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

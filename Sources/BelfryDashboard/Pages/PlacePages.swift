import BelfryAPI
import BelfryCore
import FoundationEssentials

/// Places: locations by their coordinates, their groups, and the geofences at them.
struct PlacePages {
    let make: RouteMaker

    var routes: [PageRoute] {
        [
            make.application(.get, "places", .read, list), make.application(.post, "places", .change, createLocation),
            make.application(.post, "places/:location_id/delete", .change, deleteLocation),
            make.application(.post, "geofences", .change, createGeofence),
            make.application(.post, "geofences/:geofence_id/delete", .change, deleteGeofence),
        ]
    }

    @Sendable private func list(_ visit: Visit, _ application: Application) async throws -> PageAnswer {
        .page(try await page(visit, application))
    }

    private func page(
        _ visit: Visit, _ application: Application, location: Form? = nil, geofence: Form? = nil
    ) async throws -> PageView {
        let store = visit.services.store
        let number = Int(visit.number("page") ?? 1)
        let query = GeoListQuery(page: number, size: GeoListQuery.sizeMax, keyword: visit.query["q"])
        let (locations, groups, geofences) = try await visit.searching(application) {
            (
                try await store.locations(of: application.key, query),
                try await store.locationGroups(of: application.key, query),
                try await store.geofences(of: application.key, query)
            )
        }
        let mayChange = visit.may(.change, Permission.Subject(application))
        var page = Self.page(
            application, locations.elements, groups.elements, geofences.elements, search: visit.query["q"],
            location: mayChange ? location ?? Self.locationForm(application) : nil,
            geofence: mayChange && !locations.elements.isEmpty
                ? geofence ?? Self.geofenceForm(application, locations.elements, now: visit.services.clock.now) : nil)
        let most = max(locations.total, groups.total, geofences.total)
        if query.offset + query.size < most {
            page.sections[0].links = [
                Link(
                    "More places",
                    Address.query(
                        Address.of(application, "places"), [("q", visit.query["q"]), ("page", String(number + 1))]))
            ]
        }
        switch visit.query["done"] {
        case "saved": page.notice = "Saved. Devices are told within a moment."
        case "deleted": page.notice = "Deleted."
        default: break
        }
        return page
    }

    static func page(
        _ application: Application, _ locations: [Location], _ groups: [LocationGroup], _ geofences: [Geofence],
        search: String, location: Form?, geofence: Form?
    ) -> PageView {
        var page = PageView(
            "Places",
            lead: "Geofences are notifications that a device shows by itself when it enters or leaves a location.")
        page.crumbs = [Link(application.name, Address.of(application))]
        var places = Section("Locations")
        places.form = .filter(Address.of(application, "places"), [.text("q", "Name", search, type: "search")], "Search")
        places.table = Table(
            "Locations", ["Name", "#Latitude", "#Longitude", "#Radius (m)", "Changed"],
            locations.map { location in
                [
                    [.text(location.place.name)], [.text(String(location.place.latitude))],
                    [.text(String(location.place.longitude))],
                    [.text(String(location.place.radius))], [.time(location.updatedAt)],
                ]
            },
            forms: location == nil
                ? []
                : locations.map {
                    [.button(Address.of(application, "places", "\($0.key)", "delete"), "Delete", isDanger: true)]
                }, empty: "There is no location yet.")
        var fences = Section("Geofences")
        fences.table = Table(
            "Geofences", ["Geofence", "At", "Trigger", "Platform", "Phase", "Ends"],
            geofences.map { fence in
                [
                    [.text("\(fence.key)")],
                    [
                        .text(
                            fence.locations.prefix(4).map(\.place.name).joined(separator: ", ")
                                + (fence.locations.count > 4 ? ", …" : ""))
                    ],
                    [.text(fence.plan.trigger.rawValue)], [.text(fence.plan.platform.rawValue)],
                    [.badge("\(fence.phase)", fence.phase == .active ? .good : .calm)], [.time(fence.plan.expiresAt)],
                ]
            },
            forms: location == nil
                ? []
                : geofences.map {
                    [.button(Address.of(application, "geofences", "\($0.key)", "delete"), "Delete", isDanger: true)]
                }, empty: "There is no geofence yet.")
        page.sections = [places, fences]
        if let location {
            var section = Section("New location")
            section.form = location
            page.sections.append(section)
        }
        if let geofence {
            var section = Section("New geofence")
            section.form = geofence
            page.sections.append(section)
        }
        var list = Section("Groups")
        list.table = Table(
            "Groups", ["Name", "Description", "#Locations"],
            groups.map { [[.text($0.name)], [.text($0.summary)], [.number($0.locations.count)]] },
            empty: "There is no group. The API makes them: locations under one name.")
        page.sections.append(list)
        return page
    }

    // MARK: Locations

    private static func locationForm(_ application: Application) -> Form {
        Form(
            Address.of(application, "places"), "Create the location",
            [
                .text("name", "Name", isRequired: true),
                .text("latitude", "Latitude", hint: "Degrees, −90 to 90, such as 48.8584.", isRequired: true),
                .text("longitude", "Longitude", hint: "Degrees, −180 to 180, such as 2.2945.", isRequired: true),
                .text("radius", "Radius in metres", "100", hint: "At least \(Int(Place.radiusMin)).", isRequired: true),
            ])
    }

    private static func number(_ form: FormData, _ name: String) throws(InvalidInput) -> Double {
        guard let number = Double(form[name].replacing(",", with: ".")), number.isFinite else {
            throw InvalidInput(field: name, "has to be a number")
        }
        return number
    }

    @Sendable private func createLocation(_ visit: Visit, _ application: Application) async throws -> PageAnswer {
        try await visit.trying(
            Self.locationForm(application), names: ["lat": "latitude", "long": "longitude", "rad": "radius"],
            on: { try await page(visit, application, location: $0) }
        ) {
            let place = try Place(
                name: visit.form["name"], latitude: try Self.number(visit.form, "latitude"),
                longitude: try Self.number(visit.form, "longitude"), radius: try Self.number(visit.form, "radius"))
            _ = try await visit.services.admin.create(place, of: application, by: visit.author)
            return Self.done(application, "saved")
        }
    }

    private static func done(_ application: Application, _ what: String) -> PageAnswer {
        .redirect(Address.query(Address.of(application, "places"), [("done", what)]))
    }

    @Sendable private func deleteLocation(_ visit: Visit, _ application: Application) async throws -> PageAnswer {
        guard let number = Int64(visit.text("location_id")),
            let location = try await visit.services.store.location(Key(number), of: application.key)
        else { throw APIError.none("location") }
        return try await visit.trying(
            Self.locationForm(application), on: { try await page(visit, application, location: $0) }
        ) {
            try await visit.services.admin.delete(
                location.key, named: location.place.name, of: application, by: visit.author)
            return Self.done(application, "deleted")
        }
    }

    // MARK: Geofences

    private static func geofenceForm(_ application: Application, _ locations: [Location], now: Instant) -> Form {
        let inAMonth = (now + .seconds(30 * 86_400)).text.prefix(16)
        return Form(
            Address.of(application, "geofences"), "Create the geofence",
            [
                .select("location", "Location", "", locations.map { ("\($0.key)", $0.place.name) }),
                .select("trigger", "When the device", "enter", [("enter", "enters"), ("exit", "leaves")]),
                .select(
                    "platform", "On", "all",
                    GeofencePlatform.allCases.map { ($0.rawValue, $0 == .all ? "all platforms" : $0.rawValue) }),
                .area("body", "Message", isRequired: true),
                .text("topics", "Only for subscribers of", hint: "Topics with commas between them; empty: everyone."),
                .text(
                    "expires_at", "Ends at", String(inAMonth), hint: "UTC.", isRequired: true, type: "datetime-local"),
            ])
    }

    @Sendable private func createGeofence(_ visit: Visit, _ application: Application) async throws -> PageAnswer {
        let locations = try await visit.services.store.locations(
            of: application.key, GeoListQuery(size: GeoListQuery.sizeMax)
        )
        .elements
        return try await visit.trying(
            Self.geofenceForm(application, locations, now: visit.services.clock.now),
            names: ["locations": "location", "expiry_time": "expires_at", "tags": "topics", "data": "body"],
            on: { try await page(visit, application, geofence: $0) }
        ) {
            let plan = try Self.plan(visit.form)
            _ = try await visit.services.admin.create(plan, of: application, by: visit.author)
            return Self.done(application, "saved")
        }
    }

    private static func plan(_ form: FormData) throws(InvalidInput) -> GeofencePlan {
        guard let location = Int64(form["location"]) else { throw InvalidInput(field: "location", "is missing") }
        guard let trigger = GeofencePlan.Trigger(rawValue: form["trigger"]) else {
            throw InvalidInput(field: "trigger", "is missing")
        }
        guard let expiresAt = Instant(text: form["expires_at"] + ":00Z") else {
            throw InvalidInput(field: "expires_at", "has to be a time such as 2026-01-31T08:30")
        }
        guard !form["body"].isEmpty else { throw InvalidInput(field: "body", "is missing") }
        let body = JSONValue.string(form["body"])
        let data = try GeofenceData([
            "ios": .object(["alertBody": body]), "android": .object(["message": body]),
            "androidFcm": .object(["message": body]),
        ])
        return try GeofencePlan(
            locations: [Key(location)], groups: [], trigger: trigger,
            platform: GeofencePlatform(rawValue: form["platform"]) ?? .all,
            tags: try Topic.normalized(form.list("topics"), field: "topics"), data: data, startsAt: .zero,
            expiresAt: expiresAt)
    }

    @Sendable private func deleteGeofence(_ visit: Visit, _ application: Application) async throws -> PageAnswer {
        guard let number = Int64(visit.text("geofence_id")),
            try await visit.services.store.geofence(Key(number), of: application.key) != nil
        else { throw APIError.none("geofence") }
        try await visit.services.admin.delete(Key<Geofence>(number), of: application, by: visit.author)
        return Self.done(application, "deleted")
    }
}

import BelfryAPI
import BelfryService

/// Groups of locations: made, changed and deleted.
struct GroupPages {
    let make: RouteMaker

    var routes: [PageRoute] {
        [
            make.application(.get, "groups/new", .change, new), make.application(.post, "groups", .change, create),
            make.application(.get, "groups/:group_id", .read, show),
            make.application(.post, "groups/:group_id", .change, update),
            make.application(.post, "groups/:group_id/delete", .change, delete),
        ]
    }

    private func form(
        _ application: Application, _ locations: [Location], _ group: LocationGroup? = nil
    ) -> Form {
        let chosen = Set(group?.locations.map(\.key) ?? [])
        // Those of the group first, so that none is lost past the end of the list.
        let offered = ((group?.locations ?? []) + locations).withoutRepeats.prefix(PlaceChoice.choicesMax)
        var form = Form(
            group?.address(in: application) ?? Address.of(application, "groups"),
            group == nil ? "Create the group" : "Save",
            [
                .text("name", "Name", group?.name ?? "", isRequired: true),
                .text("description", "Description", group?.summary ?? ""),
            ])
        form.groups = [
            FieldGroup(
                "Its locations", text: locations.isEmpty ? "There is no location yet." : "",
                offered.map { Field.check("at-location-\($0.key)", $0.place.name, chosen.contains($0.key)) })
        ]
        if let group { form = form.guarded(by: Admin.EntityTag(group.plan)) }
        return form
    }

    /// The form's names for fields that errors of a group name.
    private static let names = ["location_ids": "name"]

    private func plan(_ form: FormData, _ locations: [Location]) throws(InvalidInput) -> LocationGroupPlan {
        try LocationGroupPlan(
            name: form["name"], summary: form["description"],
            locations: locations.map(\.key).filter { form.isChecked("at-location-\($0)") })
    }

    private func page(_ application: Application, _ title: String, _ form: Form?) -> PageView {
        var page = PageView(title)
        page.crumbs = [
            Link(application.name, Address.of(application)), Link("Places", Address.of(application, "places")),
        ]
        var section = Section()
        section.form = form
        page.sections = [section]
        return page
    }

    private func locations(_ visit: DashboardRequest, _ application: Application) async throws -> [Location] {
        try await visit.searching(application) {
            try await PlaceMap(of: application.key, in: visit.services.store).locations
        }
    }

    @Sendable private func new(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        .page(page(application, "New group", form(application, try await locations(visit, application))))
    }

    @Sendable private func create(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let locations = try await locations(visit, application)
        return try await visit.trying(
            form(application, locations), names: Self.names, on: { page(application, "New group", $0) }
        ) {
            _ = try await visit.services.admin.create(
                try plan(visit.form, locations), of: application, by: visit.author)
            return PlacePages.done(application, "saved")
        }
    }

    private func group(_ visit: DashboardRequest, _ application: Application) async throws -> LocationGroup {
        guard let number = Int64(visit.text("group_id")),
            let group = try await visit.services.store.locationGroup(Key(number), of: application.key)
        else { throw APIError.none("group") }
        return group
    }

    @Sendable private func show(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let group = try await group(visit, application)
        return .page(try await page(visit, application, group))
    }

    private func page(
        _ visit: DashboardRequest, _ application: Application, _ group: LocationGroup, form filled: Form? = nil,
        problem: String = ""
    ) async throws -> PageView {
        let mayChange = visit.may(.change, Permission.Subject(application))
        var shown: Form?
        if mayChange {
            let offered = try await locations(visit, application)
            shown = filled ?? form(application, offered, group)
        }
        var page = self.page(application, group.name, shown)
        page.lead = group.summary
        page.problem = problem
        page.sections[0].heading = mayChange ? "Change it" : ""
        if mayChange {
            page.sections[0].buttons = [
                .button(Address.of(application, "groups", "\(group.key)", "delete"), "Delete", isDanger: true)
            ]
        }
        var list = Section("Locations")
        list.table = Table(
            "Locations", ["Name", "Coordinates", "#Radius (m)"],
            group.locations.map { location in
                [
                    [.link(location.place.name, location.address(in: application))],
                    [.text("\(location.place.latitude.coordinate), \(location.place.longitude.coordinate)")],
                    [.text(location.place.radius.coordinate)],
                ]
            }, empty: "There is none in it yet.")
        list.map =
            group.locations.isEmpty
            ? nil
            : MapView(
                visit.mapFrame
                    ?? MapFrame(around: group.locations.map { ($0.place.latitude, $0.place.longitude) }),
                group.locations.map { location in
                    MapView.Spot(
                        name: location.place.name, latitude: location.place.latitude,
                        longitude: location.place.longitude, radius: location.place.radius,
                        href: location.address(in: application), isActive: true)
                }, on: visit.services.options.mapTiles
            ) { visit.mapAddress(group.address(in: application), at: $0) }
        page.sections.insert(list, at: 0)
        if visit.query["done"] == "saved" { page.notice = "Saved. Devices are told within a moment." }
        return page
    }

    @Sendable private func update(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let group = try await group(visit, application)
        let others = try await locations(visit, application)
        let locations = (group.locations + others).withoutRepeats
        return try await visit.trying(
            form(application, locations, group), names: Self.names,
            on: { try await page(visit, application, group, form: $0) }
        ) {
            let plan = try plan(visit.form, locations)
            _ = try await visit.services.admin.update(group.key, of: application, by: visit.author) {
                try EditConflict.check($0, is: group.plan)
                return plan
            }
            return .redirect(Address.query(group.address(in: application), [("done", "saved")]))
        }
    }

    @Sendable private func delete(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let group = try await group(visit, application)
        let question = visit.question(
            "Delete the group \(group.name)?", "Its places stay.", [], yes: "Delete it",
            no: Address.of(application, "groups", "\(group.key)"))
        if let question { return question }
        do {
            try await visit.services.admin.delete(group.key, named: group.name, of: application, by: visit.author)
        } catch StoreError.conflict(let words) {
            return .invalid(
                try await page(visit, application, group, problem: words.prefix(1).uppercased() + words.dropFirst()))
        }
        return PlacePages.done(application, "deleted")
    }
}

/// Boxes for locations and groups.
enum PlaceChoice {
    /// The most boxes of a form: more would not be read, and a form has no room for them.
    static let choicesMax = 400
}

/// Geofences: where, when, what devices show, and how often it was shown.
struct GeofencePages {
    let make: RouteMaker

    var routes: [PageRoute] {
        [
            make.application(.get, "geofences/new", .change, new),
            make.application(.post, "geofences", .change, create),
            make.application(.get, "geofences/:geofence_id", .read, show),
            make.application(.post, "geofences/:geofence_id", .change, update),
            make.application(.post, "geofences/:geofence_id/delete", .change, delete),
        ]
    }

    /// The locations and groups that geofences can have.
    private struct Offer: Sendable {
        let locations: [Location]
        let groups: [LocationGroup]
    }

    /// The groups of the geofence come first, so that none is lost past the end of the list.
    private func offer(
        _ visit: DashboardRequest, _ application: Application, for fence: Geofence? = nil
    ) async throws -> Offer {
        let store = visit.services.store
        return try await visit.searching(application) {
            var groups: [LocationGroup] = []
            for key in fence?.plan.groups ?? [] {
                if let own = try await store.locationGroup(key, of: application.key) { groups.append(own) }
            }
            let own = Set(groups.map(\.key))
            let first = try await store.locationGroups(of: application.key, GeoListQuery(size: GeoListQuery.sizeMax))
            return Offer(
                locations: try await PlaceMap(of: application.key, in: store).locations,
                groups: groups + first.elements.filter { !own.contains($0.key) })
        }
    }

    // MARK: The form

    /// How long a geofence is there that has no other end.
    static let life = Duration.seconds(30 * 86_400)

    private func form(_ application: Application, _ offer: Offer, _ fence: Geofence?, now: Instant) -> Form {
        let data = fence.map { GeofenceTexts($0.plan.data) } ?? GeofenceTexts()
        var form = Form(
            fence?.address(in: application) ?? Address.of(application, "geofences"),
            fence == nil ? "Create the geofence" : "Save",
            [
                .area("body", "Message", data.body, placeholder: "What people read"),
                .text("title", "Title", data.title, hint: "iOS shows it; Android's app gets it."),
                .area(
                    "data", "What devices get (JSON)", data.json,
                    hint: "In place of message and title: parts for ios, android and androidFcm.", isMono: true),
                .select(
                    "trigger", "When the device", fence?.plan.trigger.rawValue ?? "enter",
                    [("enter", "enters"), ("exit", "leaves")]),
                .select(
                    "platform", "On", fence?.plan.platform.rawValue ?? "all",
                    GeofencePlatform.allCases.map { ($0.rawValue, $0 == .all ? "all platforms" : $0.rawValue) }),
                .text(
                    "topics", "Only for subscribers of", ListedNames.write(fence?.plan.tags ?? [], with: ", "),
                    hint: "Topics with commas between them; empty: everyone."),
                .time(
                    "starts_at", "Begins at", fence.flatMap { $0.plan.startsAt == .zero ? nil : $0.plan.startsAt },
                    hint: "Empty: at once."),
                .time(
                    "expires_at", "Ends at", fence?.plan.expiresAt ?? now + Self.life, isRequired: true),
            ])
        form.groups = [places(offer, fence)]
        if let fence { form = form.guarded(by: Admin.EntityTag(fence.plan)) }
        return form
    }

    private func places(_ offer: Offer, _ fence: Geofence?) -> FieldGroup {
        let (locations, groups) = (Set(fence?.plan.locations ?? []), Set(fence?.plan.groups ?? []))
        // Its own locations first, so that none is lost past the end of the list.
        let own = (fence?.locations ?? []).filter { locations.contains($0.key) }
        let offered = (own + offer.locations).withoutRepeats.prefix(PlaceChoice.choicesMax)
        let fields =
            offer.groups.map { Field.check("at-group-\($0.key)", "Group: \($0.name)", groups.contains($0.key)) }
            + offered.map { Field.check("at-location-\($0.key)", $0.place.name, locations.contains($0.key)) }
        return FieldGroup("Where", text: fields.isEmpty ? "There is no location yet: create one first." : "", fields)
    }

    /// The form's names for fields that errors of a geofence name.
    private static let names = [
        "expiry_time": "expires_at", "start_time": "starts_at", "tags": "topics",
    ]

    private func plan(
        _ form: FormData, _ offer: Offer, of fence: Geofence? = nil, at now: Instant
    ) throws(InvalidInput) -> GeofencePlan {
        guard let trigger = GeofencePlan.Trigger(rawValue: form["trigger"]) else {
            throw InvalidInput(field: "trigger", "is missing")
        }
        guard let expiresAt = try form.instant("expires_at") else {
            throw InvalidInput(field: "expires_at", "is missing")
        }
        guard expiresAt > now || fence?.plan.expiresAt == expiresAt else {
            throw InvalidInput(field: "expires_at", "is over (it is \(now.minute))")
        }
        let locations = ((fence?.plan.locations ?? []) + offer.locations.map(\.key)).withoutRepeats
        let groups = ((fence?.plan.groups ?? []) + offer.groups.map(\.key)).withoutRepeats
        let chosen = locations.filter { form.isChecked("at-location-\($0)") }
        let chosenGroups = groups.filter { form.isChecked("at-group-\($0)") }
        guard !chosen.isEmpty || !chosenGroups.isEmpty else {
            throw InvalidInput(field: "", "Choose a location or a group under “Where”")
        }
        return try GeofencePlan(
            locations: chosen, groups: chosenGroups, trigger: trigger,
            platform: GeofencePlatform(rawValue: form["platform"]) ?? .all,
            tags: try Topic.tags(form.list("topics"), field: "topics"), data: try GeofenceTexts.data(form),
            startsAt: try form.instant("starts_at") ?? .zero, expiresAt: expiresAt)
    }

    private func newPage(_ application: Application, _ form: Form) -> PageView {
        PageView("New geofence", in: application, "Places") { Section { form } }
    }

    // MARK: Pages

    @Sendable private func new(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let offer = try await offer(visit, application)
        return .page(newPage(application, form(application, offer, nil, now: visit.services.clock.now)))
    }

    @Sendable private func create(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let offer = try await offer(visit, application)
        return try await visit.trying(
            form(application, offer, nil, now: visit.services.clock.now), names: Self.names,
            on: { newPage(application, $0) }
        ) {
            _ = try await visit.services.all.places.create(
                try plan(visit.form, offer, at: visit.services.clock.now), of: application, by: visit.author)
            return PlacePages.done(application, "saved")
        }
    }

    private func geofence(_ visit: DashboardRequest, _ application: Application) async throws -> Geofence {
        guard let number = Int64(visit.text("geofence_id")),
            let fence = try await visit.services.store.geofence(Key(number), of: application.key)
        else { throw APIError.missing("geofence") }
        return fence
    }

    @Sendable private func show(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let fence = try await geofence(visit, application)
        return .page(try await page(visit, application, fence, try await offer(visit, application, for: fence)))
    }

    private func page(
        _ visit: DashboardRequest, _ application: Application, _ fence: Geofence, _ offer: Offer,
        form filled: Form? = nil
    ) async throws -> PageView {
        let map = try await visit.searching(application) {
            try await PlaceMap(of: application.key, in: visit.services.store)
        }
        var page = PageView(fence.summary, in: application, "Places")
            .saying(visit, ["saved": "Saved. Devices get the change within a moment."])
        let (plan, places) = (fence.plan, fence.locations.map(\.place))
        page.sections = [
            Section {
                Facts {
                    Fact("Phase", fence.phaseBadge)
                    Fact("Triggers", .number(map.byGeofence[fence.key] ?? 0))
                    Fact("When the device", .text(plan.trigger == .enter ? "enters" : "leaves"))
                    Fact("On", .text(plan.platform == .all ? "all platforms" : plan.platform.rawValue))
                    Fact("Subscribers of", .text(plan.tags.isEmpty ? "anything" : plan.tags.joined(separator: ", ")))
                    Fact("Begins", .time(plan.startsAt == .zero ? nil : plan.startsAt, none: "at once"))
                    Fact("Ends", .time(plan.expiresAt))
                    Fact("Changed", .time(fence.updatedAt))
                }
                MapView(
                    visit.mapFrame ?? MapFrame(around: places.map { ($0.latitude, $0.longitude) }),
                    fence.locations.map { $0.spot(in: application, isActive: fence.phase == .active) },
                    on: visit.services.options.mapTiles
                ) { visit.mapAddress(fence.address(in: application), at: $0) }
                Code("What devices get", JSONValue.object(plan.data.parts).pretty)
            }
        ]
        guard visit.may(.change, Permission.Subject(application)) else { return page }
        page.sections.append(
            Section("Edit", text: "Devices get the change within a moment.") {
                filled ?? form(application, offer, fence, now: visit.services.clock.now)
                ButtonRow([
                    .button(Address.of(application, "geofences", "\(fence.key)", "delete"), "Delete", isDanger: true)
                ])
            })
        return page
    }

    @Sendable private func update(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let fence = try await geofence(visit, application)
        let offer = try await offer(visit, application, for: fence)
        return try await visit.trying(
            form(application, offer, fence, now: visit.services.clock.now), names: Self.names,
            on: { try await page(visit, application, fence, offer, form: $0) }
        ) {
            let plan = try plan(visit.form, offer, of: fence, at: visit.services.clock.now)
            _ = try await visit.services.all.places.update(fence.key, of: application, by: visit.author) {
                try EditConflict.check($0, is: fence.plan)
                return plan
            }
            return .redirect(Address.query(fence.address(in: application), [("done", "saved")]))
        }
    }

    @Sendable private func delete(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let fence = try await geofence(visit, application)
        let question = visit.question(
            "Delete this geofence?", "Devices drop it when they next ask for changes.", [], yes: "Delete it",
            no: Address.of(application, "geofences", "\(fence.key)"))
        if let question { return question }
        try await visit.services.all.places.delete(fence.key, of: application, by: visit.author)
        return PlacePages.done(application, "deleted")
    }
}

/// The notification of a geofence in the form: a text and a title, or else JSON.
struct GeofenceTexts {
    private(set) var body = ""
    private(set) var title = ""
    private(set) var json = ""

    init() {}

    init(_ data: GeofenceData) {
        let body = data.parts["ios"]?["alertBody"]?.stringValue ?? ""
        let title = data.parts["ios"]?["alertTitle"]?.stringValue ?? ""
        if let simple = try? Self.data(body, title), simple == data {
            (self.body, self.title) = (body, title)
        } else {
            json = JSONValue.object(data.parts).pretty
        }
    }

    static func data(_ form: FormData) throws(InvalidInput) -> GeofenceData {
        if let value = try ExtraJSONField(["data"], "").value(in: form), case .object(let parts) = value {
            return try GeofenceData(parts)
        }
        guard !form["body"].isEmpty else { throw InvalidInput(field: "body", "is missing") }
        return try data(form["body"], form["title"])
    }

    static func data(_ body: String, _ title: String) throws(InvalidInput) -> GeofenceData {
        var (ios, android): (JSONObject, JSONObject) = (
            ["alertBody": .string(body)], ["message": .string(body)]
        )
        if !title.isEmpty { (ios["alertTitle"], android["title"]) = (.string(title), .string(title)) }
        return try GeofenceData([
            "ios": .object(ios), "android": .object(android), "androidFcm": .object(android),
        ])
    }
}

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
        let unseen = chosen.count - PlaceChoice.choicesMax
        let none = locations.isEmpty ? "There is no location yet." : ""
        var form = Form(
            group?.address(in: application) ?? Address.of(application, "groups"),
            group == nil ? "Create the group" : "Save",
            [
                .text("name", "Name", group?.name ?? "", isRequired: true),
                .text("description", "Description", group?.summary ?? ""),
            ])
        form.groups = [
            FieldGroup(
                "Its locations", text: unseen > 0 ? "It keeps \(unseen.grouped) more locations." : none,
                offered.map { Field.check("at-location-\($0.key)", $0.place.name, chosen.contains($0.key)) })
        ]
        if let group { form = form.guarded(by: Admin.EntityTag(group.plan)) }
        return form
    }

    /// The form's names for fields that errors of a group name.
    private static let names = ["location_ids": "name"]

    private func plan(
        _ form: FormData, _ locations: [Location], of group: LocationGroup? = nil
    ) throws(InvalidInput) -> LocationGroupPlan {
        // The form had no boxes for these.
        let unseen = Set((group?.locations ?? []).dropFirst(PlaceChoice.choicesMax).map(\.key))
        return try LocationGroupPlan(
            name: form["name"], summary: form["description"],
            locations: locations.map(\.key).filter { unseen.contains($0) || form.isChecked("at-location-\($0)") })
    }

    private static func newPage(_ application: Application, _ form: Form) -> PageView {
        PageView("New group", in: application, "Places") { Section { form } }
    }

    private func locations(_ visit: DashboardRequest, _ application: Application) async throws -> [Location] {
        try await visit.searching(application) {
            try await PlaceMap(of: application.key, in: visit.services.store).locations
        }
    }

    @Sendable private func new(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        .page(Self.newPage(application, form(application, try await locations(visit, application))))
    }

    @Sendable private func create(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let locations = try await locations(visit, application)
        return try await visit.trying(
            form(application, locations), names: Self.names, on: { Self.newPage(application, $0) }
        ) {
            _ = try await visit.services.all.places.create(
                try plan(visit.form, locations), of: application, by: visit.author)
            return PlacePages.done(application, "saved")
        }
    }

    private func group(_ visit: DashboardRequest, _ application: Application) async throws -> LocationGroup {
        guard let number = Int64(visit.text("group_id")),
            let group = try await visit.services.store.locationGroup(Key(number), of: application.key)
        else { throw APIError.missing("group") }
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
        var page = PageView(group.name, in: application, "Places", lead: group.summary)
        page.problem = problem
        page.sections = [
            Section("Locations") {
                if !group.locations.isEmpty {
                    MapView(
                        visit.mapFrame
                            ?? MapFrame(around: group.locations.map { ($0.place.latitude, $0.place.longitude) }),
                        group.locations.map { $0.spot(in: application, isActive: true) },
                        on: visit.services.options.mapTiles
                    ) { visit.mapAddress(group.address(in: application), at: $0) }
                }
                Table(
                    "Locations", ["Name", "Coordinates", "#Radius (m)"],
                    group.locations.map { location in
                        [
                            [.link(location.place.name, location.address(in: application))],
                            [.text("\(location.place.latitude.coordinate), \(location.place.longitude.coordinate)")],
                            [.text(location.place.radius.coordinate)],
                        ]
                    }, empty: "No locations yet.")
            }
        ]
        if mayChange {
            let offered = filled == nil ? try await locations(visit, application) : []
            page.sections.append(
                Section("Edit") {
                    filled ?? form(application, offered, group)
                    ButtonRow([
                        .button(Address.of(application, "groups", "\(group.key)", "delete"), "Delete", isDanger: true)
                    ])
                })
        }
        return page.saying(visit, ["saved": "Saved. Devices get the change within a moment."])
    }

    @Sendable private func update(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let group = try await group(visit, application)
        let others = try await locations(visit, application)
        let locations = (group.locations + others).withoutRepeats
        return try await visit.trying(
            form(application, locations, group), names: Self.names,
            on: { try await page(visit, application, group, form: $0) }
        ) {
            let plan = try plan(visit.form, locations, of: group)
            _ = try await visit.services.all.places.update(group.key, of: application, by: visit.author) {
                try EditConflict.check($0, is: group.plan)
                return plan
            }
            return .redirect(Address.query(group.address(in: application), [("done", "saved")]))
        }
    }

    @Sendable private func delete(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let group = try await group(visit, application)
        let question = visit.question(
            "Delete the group \(group.name)?", "Its locations are kept.", [], yes: "Delete it",
            no: Address.of(application, "groups", "\(group.key)"))
        if let question { return question }
        do {
            try await visit.services.all.places.delete(
                group.key, named: group.name, of: application, by: visit.author)
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

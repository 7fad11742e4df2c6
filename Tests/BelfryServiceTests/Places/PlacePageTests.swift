import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

/// The map and the places on it.
@Suite struct PlacePageTests {
    private func begin() async throws -> (TestDashboard, TestBrowser, TestContents, String) {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        return (dashboard, browser, contents, "/apps/\(contents.application.uuid.lowercased)")
    }

    // MARK: The map itself

    @Test(arguments: [
        [(48.8584, 2.2945)], [(0, 0), (0.001, 0.001)], [(51.5, -0.1), (40.7, -74)], [(-17, 179), (-18, -179)],
        [(90, 0), (-90, 180)], [(0, -180), (0, 180)],
    ])
    func `a map that fits places shows them all`(places: [(Double, Double)]) {
        let frame = MapFrame(around: places.map { ($0.0, $0.1) })
        for (latitude, longitude) in places where latitude.magnitude < 85 {
            #expect(0...MapFrame.width ~= frame.x(longitude) && 0...MapFrame.height ~= frame.y(latitude))
        }
    }

    @Test func `a circle of 100 m is placed within some metres`() {
        let frame = MapFrame(latitude: 48.8584, longitude: 2.2945, zoom: 20)
        #expect(100 * frame.unitsPerMetre(at: 48.8584) > 400)
        let view = MapView(frame, []) { _ in "" }
        #expect(view.bar.text.hasSuffix(" m") && view.lines.count >= 5)
        #expect(view.land.isEmpty, "the outline says nothing so close")
        #expect(!MapView(.world, []) { _ in "" }.land.isEmpty)
    }

    @Test(arguments: MapFrame.zooms)
    func `a graticule is neither empty nor dense anywhere`(zoom: Int) {
        for (latitude, longitude) in [(0.0, 0.0), (84.9, 179.9), (-60, -180), (48.8584, 2.2945)] {
            let view = MapView(MapFrame(latitude: latitude, longitude: longitude, zoom: zoom), []) { _ in "" }
            #expect(2...60 ~= view.lines.count, "\(latitude) \(view.lines.count)")
        }
    }

    /// Source: OpenStreetMap Wiki, "Slippy map tilenames": the tile of a point.
    @Test func `tiles lie where their servers have them`() throws {
        let server = try #require(MapTiles(template: "https://tile.example/{z}/{x}/{y}.png", attribution: "© A"))
        let view = MapView(MapFrame(latitude: 51.5074, longitude: -0.1278, zoom: 10), [], on: server) { _ in "" }
        let middle = try #require(view.tiles.first { $0.href == "https://tile.example/10/511/340.png" })
        let (x, y) = (try #require(Double(middle.x)), try #require(Double(middle.y)))
        #expect(x <= 400 && 400 < x + 256 && y <= 220 && 220 < y + 256)
        #expect(view.attribution == "© A" && view.land.isEmpty)
        let world = MapView(.world, [], on: server) { _ in "" }
        #expect(
            Set(world.tiles.map(\.href)).isSubset(
                of: [0, 1].flatMap { x in [0, 1].map { "https://tile.example/1/\(x)/\($0).png" } }))
    }

    @Test(arguments: [
        "", "tile.example/{z}/{x}/{y}", "http://tile.example/{z}/{x}/{y}", "https://tile.example/{z}/{x}",
        "https://tile.example/{z}/{x}/{y}; script-src *", "https://{z}.example/{x}/{y}", "https://*/{z}/{x}/{y}",
        "https:///{z}/{x}/{y}", "https://a@b/{z}/{x}/{y}", "javascript:{z}{x}{y}",
    ])
    func `an address that is none of tiles is refused`(template: String) {
        #expect(MapTiles(template: template, attribution: "") == nil)
    }

    @Test func `only map pages allow the tile server's pictures`() async throws {
        let tiles = MapTiles(template: "https://tile.example/{z}/{x}/{y}.png", attribution: "© A")
        let dashboard = try TestDashboard(mapTiles: tiles)
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        let path = "/apps/\(contents.application.uuid.lowercased)"
        let map = try await browser.get("\(path)/places")
        #expect(map.headers[.contentSecurityPolicy]?.contains("img-src 'self' https://tile.example;") == true)
        #expect(map.contains("https://tile.example/16/") && map.contains("© A"))
        for page in [path, "\(path)/compose", "\(path)/geofences/new"] {
            #expect(try await browser.get(page).headers[.contentSecurityPolicy]?.contains("tile.example") == false)
        }
    }

    @Test func `an overlapping name is left out and its circle titled`() {
        let names = ["first", "second", "far"]
        let spots = names.enumerated().map { index, name in
            MapView.Spot(
                name: name, latitude: 0, longitude: index == 2 ? 90 : 0.001, radius: 10, href: "", isActive: false)
        }
        let view = MapView(MapFrame(latitude: 0, longitude: 45, zoom: 2), spots) { _ in "" }
        #expect(view.circles.map(\.text) == ["first", "", "far"] && view.circles.map(\.name) == names)
    }

    @Test func `the distance of two cities is that of an atlas`() {
        // London and Paris, 344 km.
        let metres = MapFrame.metres((51.5074, -0.1278), (48.8566, 2.3522))
        #expect(340_000...348_000 ~= metres)
    }

    /// Source of the codes: Open Location Code, `test_data/decoding.csv`.
    @Test(arguments: [
        ("52.52, 13.405", 52.52, 13.405), ("-1 2", -1, 2), (" 1e-05;2 ", 0.00001, 2),
        ("52°31′12″N 13°24′18″E", 52.52, 13.405), ("52° 31' 12\" S, 13° 24' 18\" W", -52.52, -13.405),
        ("N 52°31.2′ E 13°24.3′", 52.52, 13.405), ("13.405°E 52.52°N", 52.52, 13.405),
        ("9F4MGCC4+22", 52.5200625, 13.4050625), ("7FG49Q00+", 20.375, 2.775), ("7fg49qcj+2v", 20.3700625, 2.7821875),
        ("7FG49QCJ+2VX", 20.3701125, 2.782234375), ("4VCPPQGP+Q9", -41.2730625, 174.7859375),
        ("62G20000+", 0.5, -179.5), ("22220000+", -89.5, -179.5),
    ])
    func `a place is read in all common forms`(text: String, latitude: Double, longitude: Double) throws {
        let point = try #require(MapPoint(text))
        #expect(abs(point.latitude - latitude) < 1e-9 && abs(point.longitude - longitude) < 1e-9, "\(point)")
        #expect(MapPoint(point.text) == point)
    }

    @Test(arguments: [
        "", "Berlin", "52.52", "91, 2", "1, 181", "nan, 1", "1, inf", "52°N 13°N", "52°61′N 13°E", "N E", "1N 2E 3S",
        "52°31′12″7N 13°E", "N", "+", "++", "CC4+22", "9F4MGCC4+2", "9F4MGCC4+22222222", "ZF4MGCC4+22", "00000000+",
        "90000000+",
        "9F4M0000+22", "9F4MG000+", "XX4MGCC4+22", "9F4MGCC422", "N\u{301} 1 E 2",
    ])
    func `a text that is no place is none`(text: String) { #expect(MapPoint(text) == nil) }

    /// Source: Open Location Code, `test_data/shortCodeTests.csv`.
    @Test(arguments: [
        ("CJ+2VX", 51.3708675, -1.217765625, 51.3701125, -1.217765625),
        ("9QCJ+2VX", 51.3852125, -1.217765625, 51.3701125, -1.217765625),
        ("CJ+2VX", 51.3701125, -1.2403, 51.3701125, -1.217765625), ("GCC4+22", 52.6, 13.1, 52.5200625, 13.4050625),
        ("GCC4+22", 90, -180, 89.5200625, -179.5949375), ("GCC4+22", -90, 180, -89.4799375, -179.5949375),
    ])
    func `a short code means the nearest place`(
        text: String, near: Double, beside: Double, latitude: Double, longitude: Double
    ) throws {
        let code = try #require(PlusCode(text))
        let point = try #require(code.point(near: MapPoint(near, beside)))
        #expect(code.point == nil && MapPoint(text) == nil)
        let turned = MapFrame.turned(point.longitude - longitude)
        #expect(abs(point.latitude - latitude) < 1e-9 && abs(turned) < 1e-9, "\(point)")
    }

    @Test func `a map without a place in sight names the nearest`() {
        let spot = MapView.Spot(name: "Shop", latitude: 1, longitude: 1, radius: 10, href: "", isActive: false)
        let frame = MapFrame(latitude: 0, longitude: 0, zoom: 16)
        #expect(MapView(frame, [spot]) { _ in "" }.nearest?.text == "Nearest: Shop, 157 km to the north-east")
        #expect(MapView(frame, []) { _ in "" }.nearest == nil)
        #expect(MapView(MapFrame(around: [(1, 1)]), [spot]) { _ in "" }.nearest == nil)
    }

    @Test func `numbers that are none look at something all the same`() {
        for number in [Double.nan, .infinity, -.infinity, 1e300] {
            let frame = MapFrame(latitude: number, longitude: number, zoom: 3)
            #expect(frame.latitude.isFinite && -180...180 ~= frame.longitude)
        }
    }

    // MARK: Pages

    @Test func `places are circles of a map that moves by links`() async throws {
        let (_, browser, contents, path) = try await begin()
        let page = try await browser.get("\(path)/places")
        #expect(page.status == .ok && page.contains("<circle class=\"active\""))
        #expect(page.contains("href=\"/dashboard\(path)/places/\(contents.location.key)\" aria-label=\"dairy\""))
        #expect(page.contains(">Closer<") && page.contains("zoom=17"))
        let far = try await browser.get("\(path)/places?lat=-40&lon=100&zoom=5")
        #expect(!far.contains("<circle class=\"active\"") && far.contains("zoom=6") && far.contains("assets/world.svg"))
        for query in ["lat=x&lon=1", "lat=nan&lon=inf&zoom=-9", "lat=1e999&lon=1&zoom=99999999999999999999"] {
            #expect(try await browser.get("\(path)/places?\(query)").status == .ok)
        }
    }

    @Test func `coordinates are searched for`() async throws {
        let (dashboard, browser, contents, path) = try await begin()
        _ = try await dashboard.services.places.create(
            Place(name: "Tower", latitude: 48.8584, longitude: 2.2945, radius: 100), of: contents.application,
            by: TestDashboard.author)
        let page = try await browser.get("\(path)/places?q=48.8585%2C%202.2946")
        #expect(page.contains("Nearest locations") && page.contains(">inside<") && page.contains("class=\"cross\""))
        let ours = "/places/\(contents.location.key)\" dir="
        let (tower, dairy) = (
            try #require(page.text.firstRange(of: ">Tower</a>")), try #require(page.text.firstRange(of: ours))
        )
        #expect(tower.lowerBound < dairy.lowerBound, "the nearest first")
        #expect(page.contains("name=\"place\" value=\"48.8585, 2.2946\""))
        #expect(!(try await browser.get("\(path)/places?q=Tow")).contains(ours))
    }

    @Test func `cities are found by their names`() throws {
        let cities = Cities.all
        #expect(cities.search("łodz").first?.name == "Łódź")
        #expect(cities.search("LODZ").first?.country == "Poland")
        #expect(cities.search("wien").first?.words == "Vienna, Austria")
        #expect(cities.search("york").map(\.name).contains("New York City"))
        #expect(cities.search("London, Can").first?.country == "Canada")
        #expect(cities.search("l").isEmpty && cities.search("").isEmpty && cities.search(", Austria").isEmpty)
        #expect(cities.search("san").count == Cities.answersMax)
        #expect(cities.search(String(repeating: "a", count: 1_000)).isEmpty)
        let near = try #require(cities.nearest(to: MapPoint(48.2, 16.4)))
        #expect(near.city.country == "Austria" && near.metres < 5_000)
        let frame = MapFrame(latitude: 48.2, longitude: 16.4, zoom: 8)
        #expect(cities.within(frame, limit: 9).first?.name == "Vienna")
    }

    @Test func `a map is never empty`() async throws {
        let (_, browser, _, path) = try await begin()
        let far = try await browser.get("\(path)/places?lat=48.2&lon=16.4&zoom=8")
        #expect(far.contains(#"<text class="town""#) && far.contains(">Vienna</text>"))
        #expect(far.contains("GeoNames, CC BY 4.0"))
        let close = try await browser.get("\(path)/places?lat=47.2&lon=14.8&zoom=16")
        #expect(close.contains("Nearest city: ") && !close.contains(#"<text class="town""#))
        let found = try await browser.get("\(path)/places?q=Vienna")
        #expect(found.contains("This is Vienna, Austria.") && found.contains(#"name="place" value="48.21, 16.37""#))
        let asked = try await browser.post("\(path)/places", [("name", "Shop"), ("place", "wien"), ("radius", "100")])
        #expect(asked.status == .unprocessableContent && asked.contains("48.21, 16.37 is Vienna, Austria"))
        #expect(try await browser.get("/assets/places.txt").status == .notFound)
    }

    @Test func `a location is changed and deleted on its page`() async throws {
        let (dashboard, browser, contents, path) = try await begin()
        let page = "\(path)/places/\(contents.location.key)"
        let shown = try await browser.get(page)
        #expect(shown.contains("<circle") && shown.contains("name=\"radius\" value=\"100\""))
        #expect(shown.contains("\(path)/places\" aria-current=\"page\""))
        let fields = [("name", "Shop"), ("place", "1.5, 2.5"), ("radius", "50")]
        let wrong = try await browser.post(page, fields.filter { $0.0 != "place" } + [("place", "91, 2")])
        #expect(wrong.status == .unprocessableContent && wrong.contains("has to be coordinates or a Plus Code"))
        #expect(wrong.contains("value=\"Shop\"") && wrong.contains("value=\"91, 2\""))
        #expect(try await browser.post(page, fields).location.hasSuffix("?done=saved"))
        let location = try #require(
            try await dashboard.store.location(contents.location.key, of: contents.application.key))
        #expect(location.place.name == "Shop" && location.place.latitude == 1.5)
        #expect(try await browser.post("\(page)/delete").contains("Delete the place Shop?"))
        let used = try await browser.post("\(page)/delete", [("confirmed", "yes")])
        #expect(used.status == .unprocessableContent, "a geofence is at it")
        _ = try await browser.post("\(path)/geofences/\(contents.geofence.key)/delete", [("confirmed", "yes")])
        _ = try await browser.post("\(path)/groups/\(contents.group.key)/delete", [("confirmed", "yes")])
        #expect(
            try await browser.post("\(page)/delete", [("confirmed", "yes")]).location.hasSuffix("places?done=deleted"))
    }

    @Test func `a location is made of codes and coordinates`() async throws {
        let (dashboard, browser, contents, path) = try await begin()
        let page = try await browser.get("\(path)/places?lat=1&lon=2&zoom=9")
        #expect(page.contains("class=\"card paired\"") && page.contains("name=\"place\" value=\"1, 2\""))
        for (name, place) in [
            ("one", "52°31′12″N 13°24′18″E"), ("two", "9F4MGCC4+22"), ("three", "GCC4+22 one"),
            ("four", "GCC4+22 none"),
        ] {
            _ = try await browser.post("\(path)/places", [("name", name), ("place", place), ("radius", "50")])
        }
        let made = try await dashboard.store.locations(of: contents.application.key, GeoListQuery()).elements
        let places = Dictionary(made.map { ($0.place.name, $0.place) }) { first, _ in first }
        #expect(places["four"] == nil)
        for (name, latitude, longitude) in [
            ("one", 52.52, 13.405), ("two", 52.5200625, 13.4050625), ("three", 52.5200625, 13.4050625),
        ] {
            let place = try #require(places[name])
            #expect(abs(place.latitude - latitude) < 1e-9 && abs(place.longitude - longitude) < 1e-9, "\(name)")
        }
    }

    @Test(arguments: ["10,000", "1,000,000"])
    func `a radius with a separator of thousands is refused`(radius: String) async throws {
        let (_, browser, _, path) = try await begin()
        let fields = [("name", "Shop"), ("place", "1, 2"), ("radius", radius)]
        let wrong = try await browser.post("\(path)/places", fields)
        #expect(wrong.status == .unprocessableContent && wrong.contains("write the number without separators"))
        let right = fields.filter { $0.0 != "radius" } + [("radius", "50,25")]
        #expect(try await browser.post("\(path)/places", right).status == .seeOther)
    }

    @Test func `a location with a message has a geofence at once`() async throws {
        let (dashboard, browser, contents, path) = try await begin()
        let fields = [("name", "Market"), ("place", "1, 2"), ("radius", "50"), ("body", "Welcome")]
        #expect(try await browser.post("\(path)/places", fields).location.hasSuffix("places?done=saved"))
        let made = try await dashboard.store.geofences(of: contents.application.key, GeoListQuery()).elements
        let geofence = try #require(made.first { $0.locations.map(\.place.name) == ["Market"] })
        #expect(geofence.plan.trigger == .enter && geofence.plan.data.parts["ios"]?["alertBody"] == .string("Welcome"))
        let actions = try await dashboard.store.auditLog().suffix(2).map(\.change.action)
        #expect(actions == ["location.create", "geofence.create"])
    }

    @Test func `a refused geofence leaves no location`() async throws {
        let (dashboard, browser, contents, path) = try await begin()
        let (store, app) = (dashboard.store, contents.application.key)
        let change = AuditedChange(by: .local(systemUser: "test"), "location.create", contents.application)
        await #expect(throws: InvalidInput.self) {
            try await store.create(
                Place(name: "Market", latitude: 1, longitude: 2, radius: 50), of: app, audited: change
            ) { _ in throw InvalidInput(field: "data", "is wrong") }
        }
        let settings = [("name", "dairy"), ("description", ""), ("encrypted_only", "yes")]
        #expect(try await browser.post("\(path)/settings", settings).status == .seeOther)
        let fields = [("name", "Market"), ("place", "1, 2"), ("radius", "50"), ("body", "Welcome")]
        #expect(try await browser.post("\(path)/places", fields).status == .unprocessableContent)
        #expect(try await store.locations(of: app, GeoListQuery()).elements.map(\.place.name) == ["dairy"])
    }

    @Test func `saving an outdated place, group or geofence is reported`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        let (store, app) = (dashboard.store, contents.application)
        let path = "/apps/\(app.uuid.lowercased)"
        func seen(_ path: String) async throws -> (String, String) {
            let page = try await browser.get(path)
            return ("seen", String(try #require(page.text.firstMatch(of: /name="seen" value="([0-9a-f]+)"/)?.1)))
        }
        let (location, group, fence) = (contents.location, contents.group, contents.geofence)
        let at = ("at-location-\(location.key)", "yes")
        let forms: [(path: String, fields: [(String, String)])] = [
            (
                "\(path)/places/\(location.key)",
                [("name", "mine"), ("place", "1, 2"), ("radius", "150")]
            ), ("\(path)/groups/\(group.key)", [("name", "mine"), ("description", ""), at]),
            (
                "\(path)/geofences/\(fence.key)",
                [
                    ("body", "mine"), ("trigger", "exit"), ("platform", "all"), ("expires_at", "2199-01-31T08:30"), at,
                ]
            ),
        ]
        var marks: [(String, String)] = []
        for form in forms { marks.append(try await seen(form.path)) }
        _ = try await store.update(location.key, of: app.key) { old in
            try Place(name: "theirs", latitude: old.latitude, longitude: old.longitude, radius: old.radius)
        }
        _ = try await store.update(group.key, of: app.key) { old in
            try LocationGroupPlan(name: "theirs", summary: old.summary, locations: old.locations)
        }
        _ = try await store.update(fence.key, of: app.key) { old in
            try GeofencePlan(
                locations: old.locations, groups: old.groups, trigger: old.trigger, platform: .ios, tags: old.tags,
                data: old.data, startsAt: old.startsAt, expiresAt: old.expiresAt)
        }
        for (form, mark) in zip(forms, marks) {
            let late = try await browser.post(form.path, form.fields + [mark])
            #expect(late.status == .unprocessableContent, "\(form.path): \(late.status)")
            #expect(late.contains("Somebody else has changed this"), "\(form.path)")
            #expect(late.contains("mine"), "what was typed is kept")
            let again = try await browser.post(form.path, form.fields + [try await seen(form.path)])
            #expect(again.status == .seeOther, "\(form.path): \(again.text)")
        }
        #expect(try await store.location(location.key, of: app.key)?.place.name == "mine")
        #expect(try await store.locationGroup(group.key, of: app.key)?.name == "mine")
        #expect(try await store.geofence(fence.key, of: app.key)?.plan.trigger == .exit)
        // A location that somebody adds is offered, and no change of the group.
        let mark = try await seen(forms[1].path)
        _ = try await store.create(try Place(name: "new", latitude: 3, longitude: 4, radius: 100), of: app.key)
        #expect(try await browser.post(forms[1].path, forms[1].fields + [mark]).status == .seeOther)
    }

    @Test func `a group is made, changed and deleted`() async throws {
        let (dashboard, browser, contents, path) = try await begin()
        let wrong = try await browser.post("\(path)/groups", [("name", ""), ("description", "kept text")])
        #expect(wrong.status == .unprocessableContent && wrong.contains("kept text"))
        let box = ("at-location-\(contents.location.key)", "yes")
        #expect(try await browser.post("\(path)/groups", [("name", "Shops"), box]).location.hasSuffix("done=saved"))
        let groups = try await dashboard.store.locationGroups(of: contents.application.key, GeoListQuery())
        let group = try #require(groups.elements.first { $0.name == "Shops" })
        #expect(group.locations.map(\.key) == [contents.location.key])
        let page = "\(path)/groups/\(group.key)"
        #expect(try await browser.get(page).contains("name=\"\(box.0)\" value=\"yes\" checked"))
        _ = try await browser.post(page, [("name", "No shops")])
        let changed = try #require(try await dashboard.store.locationGroup(group.key, of: contents.application.key))
        #expect(changed.name == "No shops" && changed.locations.isEmpty)
        #expect(
            try await browser.post("\(page)/delete", [("confirmed", "yes")]).location.hasSuffix("places?done=deleted"))
    }

    @Test func `saving a large group keeps locations without a box`() async throws {
        let (dashboard, browser, contents, path) = try await begin()
        let (store, app) = (dashboard.store, contents.application.key)
        var keys: [Key<Location>] = []
        for number in 1...(PlaceChoice.choicesMax + 2) {
            keys.append(
                try await store.create(Place(name: "\(number)", latitude: 1, longitude: 2, radius: 100), of: app).key)
        }
        let large = try LocationGroupPlan(name: "large", summary: "", locations: keys)
        let group = try await store.create(large, of: app).key
        #expect(try await browser.get("\(path)/groups/\(group)").contains("It keeps 2 more locations."))
        let fields = [("name", "smaller"), ("at-location-\(keys[1])", "yes")]
        #expect(try await browser.post("\(path)/groups/\(group)", fields).status == .seeOther)
        let saved = try #require(try await store.locationGroup(group, of: app))
        #expect(saved.name == "smaller" && saved.locations.map(\.key) == [keys[1]] + keys.suffix(2))
    }

    @Test func `the form of a geofence offers its own groups`() async throws {
        let (dashboard, browser, contents, path) = try await begin()
        let (store, app) = (dashboard.store, contents.application.key)
        var last = contents.group.key
        for number in 1...GeoListQuery.sizeMax {
            let plan = try LocationGroupPlan(name: "\(number)", summary: "", locations: [contents.location.key])
            last = try await store.create(plan, of: app).key
        }
        let plan = try GeofencePlan(
            locations: [], groups: [last], trigger: .enter, data: GeofenceData([:]),
            expiresAt: dashboard.clock.now + .seconds(86_400))
        let fence = try await store.create(plan, of: app)
        let page = try await browser.get("\(path)/geofences/\(fence.key)")
        #expect(page.contains("name=\"at-group-\(last)\" value=\"yes\" checked"))
        #expect(page.contains("name=\"at-group-\(contents.group.key)\" value=\"yes\">"), "others are offered, too")
    }

    @Test func `a geofence is made, shown with its triggers, and changed`() async throws {
        let (dashboard, browser, contents, path) = try await begin()
        let fields = [
            ("body", "Welcome"), ("title", "Dairy"), ("trigger", "exit"), ("platform", "ios"),
            ("topics", "Dairy, \"Milk, raw\""), ("starts_at", "2198-01-31T08:30"), ("expires_at", "2199-01-31T08:30"),
        ]
        let nowhere = try await browser.post("\(path)/geofences", fields)
        #expect(nowhere.status == .unprocessableContent && nowhere.contains("Choose a location or a group"))
        let box = ("at-group-\(contents.group.key)", "yes")
        #expect(try await browser.post("\(path)/geofences", fields + [box]).location.hasSuffix("done=saved"))
        let fence = try #require(
            try await dashboard.store.geofences(of: contents.application.key, GeoListQuery()).elements.last)
        #expect(
            fence.plan.trigger == .exit && fence.plan.groups == [contents.group.key]
                && fence.plan.tags == ["dairy", "milk, raw"])
        #expect(
            fence.plan.data.parts["ios"] == .object(["alertBody": .string("Welcome"), "alertTitle": .string("Dairy")]))
        let event = AnalyticsEvent(
            kind: .geofenceTriggered, time: dashboard.clock.now, device: contents.device.uuid, geofence: fence.key,
            location: contents.location.key)
        _ = try await dashboard.store.record([event], on: contents.platform, lateMax: .seconds(9))
        let page = try await browser.get("\(path)/geofences/\(fence.key)")
        #expect(page.contains("\(path)/places\" aria-current=\"page\""), "in the menu")
        #expect(page.contains("value=\"dairy, &quot;milk, raw&quot;\""), "a name with a comma stays one")
        #expect(page.contains("Welcome") && page.contains("<dt>Triggers</dt><dd><span dir=\"auto\">1</span>"))
        #expect(page.contains("name=\"\(box.0)\" value=\"yes\" checked") && page.contains("2198-01-31T08:30"))
        let json = #"{"ios": {"alertBody": "Hi", "hasAction": true}}"#
        _ = try await browser.post("\(path)/geofences/\(fence.key)", fields + [box, ("data", json)])
        let changed = try #require(try await dashboard.store.geofence(fence.key, of: contents.application.key))
        #expect(changed.plan.data.parts == ["ios": .object(["alertBody": .string("Hi"), "hasAction": .bool(true)])])
        #expect(try await browser.get("\(path)/geofences/\(fence.key)").contains("&quot;hasAction&quot;: true"))
        for (name, value) in [("data", "{"), ("expires_at", "soon")] {
            let kept = fields.filter { $0.0 != name } + [box, (name, value)]
            let wrong = try await browser.post("\(path)/geofences/\(fence.key)", kept)
            #expect(wrong.status == .unprocessableContent && wrong.contains("value=\"ios\" selected"), "\(name)")
        }
    }

    @Test func `a read-only person sees the map without forms`() async throws {
        let (dashboard, _, contents, path) = try await begin()
        let reader = try await dashboard.browser(
            "reader@a.example", .readOnly, .application(contents.application.key, of: Tenant.first))
        for page in [
            "places", "places/\(contents.location.key)", "groups/\(contents.group.key)",
            "geofences/\(contents.geofence.key)",
        ] {
            let shown = try await reader.get("\(path)/\(page)")
            #expect(shown.status == .ok && shown.contains("<circle"), "\(page)")
            // The log-out is another kind of form.
            #expect(!shown.contains("\" method=\"post\""), "\(page)")
        }
        #expect(try await reader.get("\(path)/geofences/new").status == .forbidden)
    }
}

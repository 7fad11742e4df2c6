import BelfryService

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

    init(of application: Key<Application>, in store: any LocationStore & GeofenceStore & AnalyticsStore) async throws {
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
        return locations.map { location in
            MapView.Spot(
                name: location.place.name, latitude: location.place.latitude, longitude: location.place.longitude,
                radius: location.place.radius, href: location.address(in: application),
                isActive: active.contains(location.key))
        }
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

import Foundation

/// A place at which a device shows a notification by itself.
public struct Geofence: Sendable, Hashable, Codable, Identifiable {
    public let id: Int64
    public let trigger: Trigger
    /// Milliseconds since 1970.
    public let expiresAt: Int64
    /// Only devices with one of them are concerned; all where there are none.
    public let topics: Set<String>
    public let locations: [Location]
    public let alertTitle: String?
    public let alertBody: String?

    public enum Trigger: String, Sendable, Hashable, Codable {
        case enter, exit
    }

    public struct Location: Sendable, Hashable, Codable, Identifiable {
        public let id: Int64
        public let name: String
        public let latitude: Double
        public let longitude: Double
        /// Metres.
        public let radius: Double
    }

    /// nil when a device cannot use it.
    init?(_ json: JSON) {
        guard let id = json["id"]?.integer, let expiresAt = json["expiry_time"]?.integer,
            let trigger = json["trigger_type"]?.text.flatMap({ Trigger(rawValue: $0.lowercased()) })
        else { return nil }
        self.id = id
        self.trigger = trigger
        self.expiresAt = expiresAt
        topics = Set((json["tags"]?.elements ?? []).compactMap(\.text).map { $0.lowercased() })
        locations = (json["locations"]?.elements ?? []).compactMap(Location.init)
        let alert = json["data"]?["ios"]
        alertTitle = alert?["alertTitle"]?.text
        alertBody = alert?["alertBody"]?.text
        if locations.isEmpty { return nil }
    }

    /// Whether a device with these topics is concerned.
    func concerns(_ topics: Set<String>, at now: Int64) -> Bool {
        expiresAt > now && (self.topics.isEmpty || !self.topics.isDisjoint(with: topics))
    }
}

extension Geofence.Location {
    init?(_ json: JSON) {
        guard let id = json["id"]?.integer, let latitude = json["lat"]?.double, abs(latitude) <= 90,
            let longitude = json["long"]?.double, abs(longitude) <= 180, let radius = json["rad"]?.double
        else { return nil }
        self.init(
            id: id, name: json["name"]?.text ?? "", latitude: latitude, longitude: longitude, radius: radius)
    }

    /// Metres on a sphere, by the haversine formula.
    func distance(toLatitude otherLatitude: Double, longitude otherLongitude: Double) -> Double {
        let (from, to) = (latitude * .pi / 180, otherLatitude * .pi / 180)
        let half = ((otherLongitude - longitude) * .pi / 180) / 2
        let chord = pow(sin((to - from) / 2), 2) + cos(from) * cos(to) * pow(sin(half), 2)
        return 2 * 6_371_000 * asin(min(1, sqrt(chord)))
    }
}

/// The geofences that this device knows, and the stamp up to which it has seen all changes.
struct GeofenceList: Codable, Sendable, Equatable {
    private(set) var stamp: Int64 = 0
    private(set) var known: [Int64: Geofence] = [:]
    /// Locations at which a geofence has been shown: once each.
    private(set) var used: Set<Region> = []

    struct Region: Codable, Sendable, Hashable {
        let geofence: Int64
        let location: Int64
    }

    /// Takes over an answer of the server; after the stamp 0 it is the whole list.
    mutating func take(_ answer: [String: JSON]) {
        if stamp == 0 { known = [:] }
        for gone in answer["deleted_geofence_ids"]?.elements ?? [] { gone.integer.map { known[$0] = nil } }
        for geofence in (answer["geofences"]?.elements ?? []).compactMap(Geofence.init) {
            known[geofence.id] = geofence
        }
        stamp = answer["last_modified"]?.integer ?? stamp
        used = used.filter { known[$0.geofence] != nil }
    }

    /// Has the next answer be the whole list.
    mutating func askForAll() { stamp = 0 }

    /// Whether it is the first time.
    mutating func use(_ geofence: Int64, at location: Int64) -> Bool {
        used.insert(Region(geofence: geofence, location: location)).inserted
    }

    /// The places to watch: of those that concern the device now, the nearest.
    func nearest(
        _ count: Int, toLatitude latitude: Double, longitude: Double, topics: Set<String>, now: Int64
    ) -> [(geofence: Geofence, location: Geofence.Location)] {
        let concerned = known.values.filter { $0.concerns(topics, at: now) }
        let places = concerned.flatMap { geofence in geofence.locations.map { (geofence: geofence, location: $0) } }
        return
            places
            .filter { !used.contains(Region(geofence: $0.geofence.id, location: $0.location.id)) }
            .map { ($0, $0.location.distance(toLatitude: latitude, longitude: longitude)) }
            .sorted { ($0.1, $0.0.geofence.id, $0.0.location.id) < ($1.1, $1.0.geofence.id, $1.0.location.id) }
            .prefix(count).map(\.0)
    }
}

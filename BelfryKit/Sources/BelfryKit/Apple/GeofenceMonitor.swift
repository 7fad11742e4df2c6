#if canImport(CoreLocation)
public import CoreLocation
import Foundation

/// Watches the places of geofences with `CLMonitor`, and says what to show when the device enters or leaves one.
public actor GeofenceMonitor {
    private let belfry: Belfry
    private let show: @Sendable (Geofence) async -> Void
    private var monitor: CLMonitor?

    public init(_ belfry: Belfry, show: @escaping @Sendable (Geofence) async -> Void) {
        self.belfry = belfry
        self.show = show
    }

    /// Watches the places that are nearest now: call it after ``Belfry/updateGeofences()``, when the topics have changed or the registration has
    /// ended, and when the device has moved far.
    public func watch(near location: CLLocation) async {
        let monitor = await ready()
        let places = await belfry.nearestPlaces(
            latitude: location.coordinate.latitude, longitude: location.coordinate.longitude)
        let wanted = Dictionary(
            places.map { (Self.name($0.geofence.id, $0.location.id), $0.location) },
            uniquingKeysWith: { first, _ in first })
        for name in await monitor.identifiers where wanted[name] == nil { await monitor.remove(name) }
        for (name, place) in wanted {
            let centre = CLLocationCoordinate2D(latitude: place.latitude, longitude: place.longitude)
            let condition = CLMonitor.CircularGeographicCondition(center: centre, radius: place.radius)
            // Otherwise the system's first look at a place far away would be an exit.
            await monitor.add(condition, identifier: name, assuming: .unsatisfied)
        }
    }

    /// Follows what the system says, until it is cancelled.
    public func run() async throws {
        let monitor = await ready()
        for try await event in await monitor.events {
            guard let (geofence, location) = Self.ids(in: event.identifier) else { continue }
            let trigger: Geofence.Trigger
            switch event.state {
            case .satisfied: trigger = .enter
            case .unsatisfied: trigger = .exit
            default: continue
            }
            guard let shown = try? await belfry.triggered(geofence: geofence, location: location, by: trigger) else {
                continue
            }
            await show(shown)
        }
    }

    private func ready() async -> CLMonitor {
        if let monitor { return monitor }
        let made = await CLMonitor("belfry")
        monitor = made
        return made
    }

    private static func name(_ geofence: Int64, _ location: Int64) -> String { "\(geofence).\(location)" }

    private static func ids(in name: String) -> (Int64, Int64)? {
        let parts = name.split(separator: ".").compactMap { Int64($0) }
        return parts.count == 2 ? (parts[0], parts[1]) : nil
    }
}
#endif

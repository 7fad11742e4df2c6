package import BelfryCore
package import BelfryDashboard

/// The dashboard.
package struct DashboardConfiguration: Sendable {
    /// `dashboard.enabled`, default true.
    package var isEnabled: Bool
    /// `dashboard.port`, 0...65535, and `dashboard.host`: a listener of its own, with the certificate of the main one; nil serves it
    /// on the main port.
    package var listener: ListenerConfiguration?
    /// `dashboard.session.idle.minutes`, 5...10,080, default 480, and `dashboard.session.hours`, 1...8,760, default 168.
    package var lifetime: SessionLifetime
    /// `dashboard.map.tiles`, the address of a server of map tiles, and `dashboard.map.attribution`, whose map it is; nil, the default,
    /// draws maps on an outline of the world.
    package var mapTiles: MapTiles?

    init(_ settings: Settings) {
        isEnabled = settings.bool("dashboard.enabled", default: true)
        let hasPort = settings.optionalString("dashboard.port") != nil
        let listener = ListenerConfiguration(settings, prefix: "dashboard", port: 0)
        self.listener = isEnabled && hasPort ? listener : nil
        lifetime = SessionLifetime(
            idle: settings.seconds("dashboard.session.idle.minutes", default: 480, in: 5...10_080) * 60,
            absolute: settings.seconds("dashboard.session.hours", default: 168, in: 1...8_760) * 3_600)
        mapTiles = Self.tiles(settings)
    }

    private static func tiles(_ settings: Settings) -> MapTiles? {
        let attribution = settings.string("dashboard.map.attribution", default: "")
        guard let template = settings.optionalString("dashboard.map.tiles"), !template.isEmpty else { return nil }
        guard let tiles = MapTiles(template: template, attribution: attribution) else {
            return settings.fault(
                "dashboard.map.tiles",
                "is `\(template)`, it has to be an https URL with {z}, {x} and {y}, such as https://tile.example.org/{z}/{x}/{y}.png",
                nil)
        }
        return tiles
    }
}

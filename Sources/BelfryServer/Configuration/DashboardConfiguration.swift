package import BelfryAPI
package import BelfryDashboard
package import BelfryService

/// The dashboard.
package struct DashboardConfiguration: Sendable {
    /// `dashboard.enabled`, default true.
    package var isEnabled: Bool
    /// `dashboard.port`, 0...65535, and `dashboard.host`: a listener of its own, with the certificate of the main one; nil serves it
    /// on the main port.
    package var listener: ListenerConfiguration?
    /// `dashboard.session.idle.minutes`, 5...10,080, default 480, and `dashboard.session.hours`, 1...8,760, default 168.
    package var lifetime: SessionLifetime
    /// `dashboard.sso.issuers`: names, and for each the settings `dashboard.sso.<name>.…`.
    package var issuers: [Issuer]
    /// `dashboard.password.login`, default true.
    package var takesPasswords: Bool
    /// `public.url`, default the host that the browser names, if it can be believed; see `ServerAddress`.
    package var publicURL: String? { address.publicURL }
    package private(set) var address: ServerAddress
    /// `dashboard.passwords.leaked.file`, default none: passwords that are refused.
    package var leakedPasswords: LeakedPasswords?
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
        issuers = settings.issuers()
        takesPasswords = settings.bool("dashboard.password.login", default: true)
        if !takesPasswords && issuers.isEmpty {
            settings.note(
                "dashboard.password.login is false, and dashboard.sso.issuers names nobody: no person could log in")
        }
        address = ServerAddress(settings)
        mapTiles = Self.tiles(settings)
        let key = "dashboard.passwords.leaked.file"
        guard let path = settings.optionalString(key), !path.isEmpty else { return }
        do { leakedPasswords = try LeakedPasswords(path: path.absolutePath) } catch {
            leakedPasswords = settings.fault(key, error.problem, nil)
        }
    }

    /// - Parameter isSecure: whether the dashboard's listener speaks TLS.
    func serverAddress(isSecure: Bool) -> ServerAddress {
        var address = address
        address.isSecure = isSecure
        return address
    }

    private static func tiles(_ settings: Settings) -> MapTiles? {
        let attribution = settings.string("dashboard.map.attribution", default: "")
        guard let template = settings.optionalString("dashboard.map.tiles"), !template.isEmpty else { return nil }
        guard let tiles = MapTiles(template: template, attribution: attribution) else {
            return settings.fault(
                "dashboard.map.tiles",
                "is `\(template.quotable)`, it has to be an https URL with {z}, {x} and {y}, such as https://tile.example.org/{z}/{x}/{y}.png",
                nil)
        }
        return tiles
    }
}
